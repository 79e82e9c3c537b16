"""Write: what it refuses, what it keeps of an old file, and that nothing is written of which nobody knows."""

import asyncio
import stat
import threading

import pytest

from holdfast.tools.files.seen_files import SeenFiles
from holdfast.tools.files.snapshots import MemorySnapshots
from support.file_tools import FileTools, code, text


@pytest.fixture
def tools(tmp_path):
    return FileTools(tmp_path)


def opened(tools, name, raw, **arguments):
    path = tools.root / name
    path.write_bytes(raw)
    assert not tools.read(name, **arguments).is_error
    return path


def test_a_new_file_is_what_was_given_byte_for_byte(tools):
    content = "\ufeffone\r\ntwo\nthree\r漢🙂"
    assert not tools.write("deep/er/a.txt", content).is_error
    path = tools.root / "deep/er/a.txt"
    assert path.read_bytes() == content.encode()
    tools.edit("deep/er/a.txt", "two", "2")
    assert path.read_bytes() == content.replace("two", "2").encode()
    assert text(tools.write("empty", "")) == "Created `empty`: 0 lines, 0 bytes."
    assert (tools.root / "empty").read_bytes() == b""


@pytest.mark.parametrize(
    ("raw", "encoding", "content", "wanted"),
    [
        ("中文的文件，内容很长。\n".encode("gb18030"), "", "中文\n", "中文\n".encode("gb18030")),
        ("für\r\n".encode("latin-1"), "", "größer\n", "größer\r\n".encode("latin-1")),
        ("日本語\n".encode("shift-jis"), "shift-jis", "英語\n", "英語\n".encode("shift-jis")),
        ("one\r\ntwo\n".encode("utf-16"), "", "one\n2\n", "one\r\n2\n".encode("utf-16")),
        (b"a\r\nb\nc\r\n", "", "a\nnew\nb\nc\n", b"a\r\nnew\r\nb\nc\r\n"),
    ],
    ids=["chinese", "western", "named", "utf-16", "mixed"],
)
def test_an_old_file_keeps_its_kind(tools, raw, encoding, content, wanted):
    path = opened(tools, "a.txt", raw, encoding=encoding)
    path.chmod(0o754)
    assert not tools.write("a.txt", content).is_error
    assert path.read_bytes() == wanted
    assert stat.S_IMODE(path.stat().st_mode) == 0o754


def test_a_mark_is_neither_doubled_nor_brought_in(tools):
    marked, plain = opened(tools, "a.txt", b"\xef\xbb\xbfx\n"), opened(tools, "b.txt", b"x\n")
    for name in ("a.txt", "b.txt"):
        assert not tools.write(name, "\ufeffy\n").is_error
    assert (marked.read_bytes(), plain.read_bytes()) == (b"\xef\xbb\xbfy\n", b"y\n")


def test_what_cannot_be_written_leaves_the_file(tools):
    path = opened(tools, "a.txt", "für\n".encode("latin-1"))
    result = tools.write("a.txt", "漢\n")
    assert code(result) == "INVALID_PARAM"
    assert "which has no `漢` (U+6F22)" in text(result)
    assert code(tools.write("a.txt", "half \ud83d")) == "INVALID_PARAM"
    assert code(tools.write(".", "x")) == "IS_DIRECTORY"
    assert code(tools.write("a.txt/b.txt", "x")) == "NOT_FOUND"
    assert code(tools.write("../out.txt", "x")) == "ACCESS_DENIED"
    assert path.read_bytes() == "für\n".encode("latin-1")
    assert [p.name for p in tools.root.iterdir()] == ["a.txt"]


def test_a_part_that_was_read_is_enough_and_the_rest_is_named(tools):
    path = opened(tools, "a.txt", b"1\n2\n3\n4\n5\n6\n", offset=2, limit=2)
    dry = tools.write("a.txt", "x\n", dry_run=True)
    assert "of the old text, lines 1, 4-6 of 6 had never been shown to you" in text(dry)
    assert path.read_bytes() == b"1\n2\n3\n4\n5\n6\n"
    assert "lines 1, 4-6 of 6" in text(tools.write("a.txt", "x\ny\n"))
    # All of it is the agent's own now.
    assert "never been shown" not in text(tools.write("a.txt", "z\n"))


def test_only_a_break_that_goes_away_is_told(tools):
    opened(tools, "a.txt", b"x\n")
    assert "line break" in text(tools.write("a.txt", "y"))
    assert "line break" not in text(tools.write("a.txt", "z"))
    assert "line break" not in text(tools.write("a.txt", "z\n"))
    assert "line break" not in text(tools.write("a.txt", ""))


def test_a_secret_is_kept_unless_the_file_spells_it_so(tools):
    path = opened(tools, "a.md", b"It reads `<REDACTED>`.\n")
    assert not tools.write("a.md", "It is `<REDACTED>`.\n").is_error
    assert path.read_text() == "It is `<REDACTED>`.\n"
    secret = opened(tools, ".env", b"KEY=s3cr3t\n")
    for dry_run in (True, False):
        assert code(tools.write(".env", "KEY=<REDACTED>\n", dry_run=dry_run)) == "INVALID_PARAM"
    assert secret.read_text() == "KEY=s3cr3t\n"


def test_other_endings_alone_are_no_loss(tools):
    path = opened(tools, "a.txt", b"one\ntwo\n")
    path.write_bytes(b"one\r\ntwo\r\n")
    assert not tools.write("a.txt", "one\n2\n").is_error
    assert path.read_bytes() == b"one\r\n2\r\n"


class Waiting(MemorySnapshots):
    """Keeps a text only when it is told to go on."""

    def __init__(self):
        super().__init__()
        self.asked, self.go_on = threading.Event(), threading.Event()
        self.go_on.set()

    def keep(self, raw):
        self.asked.set()
        assert self.go_on.wait(20)
        return super().keep(raw)


CALLS = [
    ("Write", {"content": "mine\n"}),
    ("Edit", {"old_string": "old", "new_string": "mine"}),
    ("MultiEdit", {"edits": [{"old_string": "old", "new_string": "mine"}]}),
]


@pytest.mark.parametrize(("name", "arguments"), CALLS, ids=[name for name, _ in CALLS])
def test_a_call_that_is_cancelled_while_it_writes_is_still_noted(tmp_path, name, arguments):
    kept = Waiting()
    tools = FileTools(tmp_path, SeenFiles(kept))
    path = opened(tools, "a.txt", b"old\n")

    async def cancelled():
        kept.asked.clear()
        kept.go_on.clear()
        call = asyncio.create_task(tools.tools[name].run({"path": "a.txt", **arguments}, tools.workspace))
        await asyncio.to_thread(kept.asked.wait, 20)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        kept.go_on.set()

    # Ends when the threads have.
    asyncio.run(cancelled())
    assert path.read_text() == "mine\n"
    assert len(tools.files.edits) == 1
    tools.undo()
    assert path.read_text() == "old\n"


@pytest.mark.parametrize(("limit", "is_told"), [(2000, False), (30, True)], ids=["all", "part"])
def test_lines_between_many_edits_are_known_only_if_they_were_shown(tools, limit, is_told):
    opened(tools, "a.txt", "".join(f"{n} {'odd' * (n % 2)}\n" for n in range(1000)).encode(), limit=limit)
    assert not tools.edit("a.txt", "odd", "ODD", replace_all=True).is_error
    assert ("never been shown" in text(tools.restored().write("a.txt", "x\n"))) is is_told
