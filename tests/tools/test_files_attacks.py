"""File tools under bad conditions: guessed encodings, full disks, other owners, files that change meanwhile."""

import os
import resource
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.tools.envelope import ToolError
from holdfast.tools.files import file_text
from holdfast.tools.files.file_text import LineIndexes, open_text
from holdfast.tools.files.seen_files import SeenFiles
from holdfast.tools.files.snapshots import MemorySnapshots
from holdfast.tools.workspace import Workspace
from support.file_tools import FileTools, code, text


@pytest.fixture
def tools(tmp_path):
    return FileTools(tmp_path)


def opened(tools, name, raw, **arguments):
    path = tools.root / name
    path.write_bytes(raw)
    assert not tools.read(name, **arguments).is_error
    return path


def test_a_guess_is_not_repeated_after_ones_own_edit(tools):
    # In Windows-1252 these four letters are two pairs of bytes, as Chinese has them.
    path = opened(tools, "a.txt", "für\n".encode("cp1252"))
    assert not tools.edit("a.txt", "für", "äöüß").is_error
    again = tools.restored()
    assert "     1\täöüß\n(encoding: Windows-1252, which is a guess)" in text(again.read("a.txt"))
    assert not again.edit("a.txt", "ß", "ßé").is_error
    assert path.read_bytes() == "äöüßé\n".encode("cp1252")


def test_a_file_that_was_western_stays_so_without_its_umlauts(tools):
    path = opened(tools, "a.txt", "für\n".encode("cp1252"))
    tools.edit("a.txt", "für", "pro")
    tools.edit("a.txt", "pro", "für")
    assert path.read_bytes() == "für\n".encode("cp1252")


def test_what_somebody_else_converts_is_taken_for_what_it_is(tools):
    path = opened(tools, "a.txt", "für alle\n".encode("cp1252"))
    path.write_bytes("für alle\n".encode())
    assert not tools.edit("a.txt", "alle", "größere").is_error
    assert not tools.restored().edit("a.txt", "größere", "große").is_error
    assert path.read_bytes() == "für große\n".encode()
    path.write_bytes("äöüß\n".encode("cp1252"))
    assert "GB18030" in text(tools.read("a.txt"))


def test_an_encoding_that_was_named_stays_through_somebody_elses_change(tools):
    path = opened(tools, "a.txt", "日本語のテキスト\n".encode("shift-jis"), encoding="shift-jis")
    path.write_bytes("日本語のテキスト\n二行目\n".encode("shift-jis"))
    assert "二行目" in text(tools.read("a.txt"))
    assert not tools.restored().edit("a.txt", "二行目", "三行目").is_error
    assert path.read_bytes() == "日本語のテキスト\n三行目\n".encode("shift-jis")


WORDS = st.sampled_from(["für", "äöüß", "plain", "é", "中文", "的文件", "\n", "\r\n", "\r", "“q”"])


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    st.lists(WORDS, min_size=1, max_size=6).map("".join),
    st.sampled_from(["cp1252", "gb18030", "utf-8", "utf-8-sig", "utf-16", "latin-1"]),
    st.lists(st.tuples(st.sampled_from(["für", "äöüß", "plain", "é", "mark"]), WORDS), max_size=4),
)
def test_no_chain_of_edits_changes_a_byte_that_it_does_not_name(tmp_path_factory, start, name, edits):
    tools = FileTools(tmp_path_factory.mktemp("chain"))
    raw = ("head mark\n" + start).encode(name, "ignore")
    path = tools.root / "a.txt"
    path.write_bytes(raw)
    seen = tools.read("a.txt")
    assert not seen.is_error
    codec = seen.envelope.data["encoding"]
    for old, new in edits:
        before = path.read_bytes()
        result = tools.edit("a.txt", old, new)
        if result.is_error:
            assert path.read_bytes() == before
            continue
        was, now = before.decode(codec), path.read_bytes().decode(codec)
        plain = [new.replace("\r\n", "\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")]
        assert now in [was.replace(old, one) for one in plain]


@pytest.mark.parametrize(
    ("raw", "content", "wanted"),
    [
        (b"x\n", "a\r\nb\r\n", b"a\nb\n"),
        (b"x\r\n", "a\nb", b"a\r\nb"),
        (b"a\rb\n", "a\rc\n", b"a\rc\n"),
        (b"x", "a\r\nb\r\n", b"a\r\nb\r\n"),
        (b"", "a\r\nb", b"a\r\nb"),
        (b"x", "a\nb\n", b"a\nb\n"),
        (b"x", "a\r\nb\n", b"a\r\nb\n"),
        ("x\r\n".encode("utf-16"), "漢\n", "漢\r\n".encode("utf-16")),
    ],
    ids=["lf", "crlf", "lone-cr", "one line", "empty", "one line, lf", "one line, mixed", "utf-16"],
)
def test_a_write_takes_the_endings_that_are_there(tools, raw, content, wanted):
    path = opened(tools, "a.txt", raw)
    assert not tools.write("a.txt", content).is_error
    assert path.read_bytes() == wanted


@pytest.mark.parametrize(
    ("raw", "new", "wanted"),
    [
        (b"one two", "1\r\n2\r\n", b"1\r\n2\r\n two"),
        (b"one two", "1\n2", b"1\n2 two"),
        (b"one two", "1\r\n2\n3", b"1\n2\n3 two"),
        (b"one two\n", "1\r\n2", b"1\n2 two\n"),
    ],
    ids=["crlf", "lf", "mixed", "as the neighbour"],
)
def test_an_edit_in_one_line_ends_its_lines_as_given(tools, raw, new, wanted):
    path = opened(tools, "a.txt", raw)
    assert not tools.edit("a.txt", "one", new).is_error
    assert path.read_bytes() == wanted


FULL = """
import resource, sys
from pathlib import Path
from holdfast.tools.files.seen_files import SeenFiles
from holdfast.tools.files.snapshots import FolderSnapshots, MemorySnapshots
from support.file_tools import FileTools, code, text

root, kind = Path(sys.argv[1]), sys.argv[2]
kept = FolderSnapshots(root / "kept") if kind == "folder" else MemorySnapshots()
tools = FileTools(root / "work", SeenFiles(kept))
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
for result in (
    tools.read("big.txt"),
    tools.edit("big.txt", "row 7\\n", "seven\\n"),
    tools.write("big.txt", "x" * 5000),
    tools.write("new/file.txt", "x" * 5000),
    tools.write("small.txt", "fits\\n"),
):
    sys.stdout.write(f"{code(result)}|{text(result).splitlines()[0]}\\n")
"""


@pytest.mark.parametrize("kind", ["memory", "folder"])
def test_on_a_full_disk_files_are_read_and_stay_as_they_are(tmp_path, kind):
    (tmp_path / "work").mkdir()
    old = "".join(f"row {n}\n" for n in range(1, 401))
    (tmp_path / "work" / "big.txt").write_text(old)
    tests = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path), kind],
        capture_output=True, text=True, timeout=60, check=False, env={**os.environ, "PYTHONPATH": tests},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = [line.split("|") for line in done.stdout.splitlines()]
    assert [row[0] for row in rows] == ["", *["EXECUTION_ERROR"] * 3, ""]
    assert all("File too large" in said for _, said in rows[1:4])
    assert (tmp_path / "work" / "big.txt").read_text() == old
    left = sorted(p.name for p in (tmp_path / "work").rglob("*") if p.is_file())
    assert left == ["big.txt", "small.txt"]
    assert not list(tmp_path.rglob("*.tmp"))


def test_the_bits_of_a_program_stay_with_its_owner(tools):
    path = opened(tools, "run", b"#!/bin/sh\necho\n")
    path.chmod(0o4755)
    assert not tools.edit("run", "echo", "exit").is_error
    assert stat.S_IMODE(path.stat().st_mode) == 0o4755


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file of somebody else")
def test_a_program_that_gets_another_owner_loses_the_owners_rights():
    work = (
        "import os, sys\n"
        "from holdfast.tools.workspace import Workspace\n"
        "guard = Workspace([sys.argv[1]])\n"
        "os.setgroups([]); os.setgid(1234); os.setuid(1234)\n"
        "guard.replace_file('run', b'exit\\n')\n"
    )
    # Not the folder of this test, which nobody else may enter.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run")
        path.write_text("echo\n")
        path.parent.chmod(0o777)
        os.chown(path, 4321, 4321)
        path.chmod(0o6777)
        subprocess.run([sys.executable, "-c", work, folder], check=True, timeout=60)
        status = path.stat()
    assert (status.st_uid, stat.S_IMODE(status.st_mode)) == (1234, 0o777)


def test_a_file_whose_time_was_set_back_is_not_overwritten(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("seen\n")
    workspace = Workspace([tmp_path])
    status = workspace.status("a.txt")
    path.write_text("else\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(ToolError, match="at this very moment"):
        workspace.replace_file("a.txt", b"mine\n", status)
    with pytest.raises(ToolError, match="at this very moment"):
        workspace.remove_file("a.txt", status)
    assert path.read_text() == "else\n"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


class Meddling(MemorySnapshots):
    """Does something between the look at a file and its replacement."""

    meddle = staticmethod(lambda: None)

    def keep(self, raw):
        self.meddle()
        return super().keep(raw)


def test_a_link_swapped_in_between_is_not_followed(tmp_path):
    (tmp_path / "work").mkdir()
    outside = tmp_path / "secret"
    outside.write_text("one\n")
    kept = Meddling()
    tools = FileTools(tmp_path / "work", SeenFiles(kept))
    path = opened(tools, "a.txt", b"one\n")

    def swap():
        path.unlink(missing_ok=True)
        path.symlink_to(outside)

    kept.meddle = swap
    for result in (tools.edit("a.txt", "one", "two"), tools.write("a.txt", "two\n")):
        assert code(result) == "ACCESS_DENIED"
    assert outside.read_text() == "one\n"
    assert path.is_symlink()


@pytest.mark.parametrize("is_new", [True, False], ids=["a new file", "one that was read"])
def test_a_folder_that_becomes_a_link_into_version_control_is_not_written_through(tmp_path, is_new):
    """Inside the root, so that the guard of the workspace lets it pass: which file it is decides at the last."""
    snapshots = Meddling()
    hooks, folder = tmp_path / "work" / ".git" / "hooks", tmp_path / "work" / "d"
    for made in (hooks, folder):
        made.mkdir(parents=True)
    tools = FileTools(tmp_path / "work", SeenFiles(snapshots))
    if not is_new:
        # One file of two names, so that nothing else tells them apart.
        (folder / "pre-commit").write_text("old\n")
        os.link(folder / "pre-commit", hooks / "pre-commit")
        tools.read("d/pre-commit")

    def swap():
        if not folder.is_symlink():
            folder.rename(tmp_path / "aside")
            folder.symlink_to(hooks)

    snapshots.meddle = swap
    result = tools.write("d/pre-commit", "evil\n")
    assert code(result) == "ACCESS_DENIED"
    assert "version control" in text(result)
    assert [path.read_text() for path in hooks.iterdir()] == ([] if is_new else ["old\n"])


def test_an_undo_that_meets_somebody_leaves_everything(tmp_path):
    """The file that a Write made is changed after the look of the undo and before it would be taken away."""
    tools = FileTools(tmp_path)
    for name in ("a.txt", "b.txt"):
        tools.write(name, "mine\n")
    kept = tools.files.snapshots
    tools.write("a.txt", "mine too\n")
    real, target = kept.get, tmp_path / "b.txt"

    class Late(MemorySnapshots):
        def get(self, id_):
            target.write_text("theirs\n")
            return real(id_)

    tools.files.snapshots = Late()
    # `b.txt` is looked at before the text of `a.txt` is fetched.
    with pytest.raises(ToolError, match="at this very moment"):
        tools.undo(2)
    assert target.read_text() == "theirs\n"
    assert (tmp_path / "a.txt").read_text() == "mine too\n"


def test_undo_puts_back_what_it_undid_before_it_failed(tmp_path):
    tools = FileTools(tmp_path)
    tools.write("a.txt", "old\n")
    tools.write("b.txt", "old\n")
    tools.edit("a.txt", "old", "new")
    tools.edit("b.txt", "old", "new")
    kept, target = tools.files.snapshots, tmp_path / "b.txt"
    calls = []

    class Late(MemorySnapshots):
        def get(self, id_):
            calls.append(id_)
            if len(calls) == 2:
                target.write_text("theirs\n")
            return kept.get(id_)

    tools.files.snapshots = Late()
    with pytest.raises(ToolError, match="at this very moment"):
        tools.undo(2)
    assert (tmp_path / "a.txt").read_text() == "new\n"
    assert target.read_text() == "theirs\n"
    assert len(tools.files.edits) == 4


def test_a_file_that_grows_past_what_is_held_is_read_by_its_index(tmp_path, monkeypatch):
    monkeypatch.setattr(file_text, "HELD", 1000)
    path = tmp_path / "log.txt"
    path.write_text("x\n" * 400)
    with Workspace([tmp_path]).open_file("log.txt") as file:
        with path.open("a") as more:
            more.write("y\n" * 1000)
        text = open_text(file, LineIndexes(), "")
    assert (text.raw, text.total_lines, text.size) == (b"", 1400, 2800)


def test_a_file_cut_while_it_is_read_is_said_to_be(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text("x\n" * 1000)
    with path.open("rb") as file:
        index, source = LineIndexes().index(file.fileno())
        path.write_text("none")
        with pytest.raises(ToolError, match="changed while it was read"):
            index.offset(source, 500)


def test_a_hole_and_one_giant_line_are_read_within_bounds(tmp_path):
    tools = FileTools(tmp_path)
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert code(tools.read("sparse")) == "BINARY_FILE"
    assert code(tools.edit("sparse", "a", "b")) == "EXECUTION_ERROR"
    (tmp_path / "line").write_bytes(b"x" * (20 << 20))
    result = tools.read("line")
    assert "characters are left out" in text(result)
    assert len(text(result)) < 3000
    assert not tools.read("line", column=(20 << 20) - 5).is_error
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


PROTECTED = """
import os, sys
from pathlib import Path
from support.file_tools import FileTools, code

tools = FileTools(Path(sys.argv[1]))
# All that is loaded late is loaded now: the other user may not reach the interpreter's own files.
tools.read("a.txt"), tools.edit("a.txt", "one", "two", dry_run=True), tools.edit("a.txt", "none", "two")
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(1234); os.setuid(1234)
results = [tools.read("a.txt"), tools.edit("a.txt", "one", "two"), tools.write("a.txt", "two\\n")]
sys.stdout.write(" ".join(code(result) or "ok" for result in results))
"""


def test_a_read_only_file_is_read_and_stays():
    tests = str(Path(__file__).parents[1])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.txt")
        path.write_text("one\n")
        path.chmod(0o444)
        path.parent.chmod(0o777)
        done = subprocess.run(
            [sys.executable, "-c", PROTECTED, folder],
            capture_output=True, text=True, timeout=60, check=True, env={**os.environ, "PYTHONPATH": tests},
        )  # fmt: skip
        assert done.stdout == "ok PERMISSION_DENIED PERMISSION_DENIED"
        assert path.read_text() == "one\n"
        assert [p.name for p in path.parent.iterdir()] == ["a.txt"]
