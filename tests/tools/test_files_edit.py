"""Edit, MultiEdit and Write on real files: what they refuse, what they keep, and what they tell."""

import stat

import pytest

from holdfast.messages import ToolCall
from holdfast.packing.profile import CODE
from holdfast.packing.rendering.digests import choose_lines
from holdfast.tool_use import recognize_tool
from holdfast.tools.files.file_text import LARGEST
from holdfast.tools.files.seen_files import SeenFiles
from holdfast.tools.files.snapshots import MemorySnapshots
from support.file_tools import FileTools, code, text

LINES = [f"row {n}" for n in range(1, 31)]


@pytest.fixture
def tools(tmp_path):
    return FileTools(tmp_path)


def put(tools, name, content):
    path = tools.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def rows(**changed):
    """Thirty lines of which some are others: `r5="x"` makes the fifth `x`."""
    lines = list(LINES)
    for name, line in changed.items():
        lines[int(name[1:]) - 1] = line
    return "\n".join(lines) + "\n"


def opened(tools, name, content):
    path = put(tools, name, content)
    assert not tools.read(name).is_error
    return path


def test_fault_06_read_edit_edit_is_no_conflict_and_ones_own_edit_is_not_external(tools):
    path = opened(tools, "a.txt", rows())
    for number in (3, 9, 3):
        result = tools.edit("a.txt", f"row {number}\n", f"row {number} edited\nrow {number}\n")
        assert not result.is_error
        assert "modified_externally" not in text(result)
    assert path.read_text().count("row 3 edited") == 2
    result = tools.read("a.txt")
    assert "modified_externally" not in text(result)
    assert result.envelope.data["modified_externally"] is False
    assert not tools.write("a.txt", "new\n").is_error
    assert not tools.multi_edit("a.txt", ("new", "newer"), ("newer", "newest")).is_error
    assert path.read_text() == "newest\n"


def test_fault_06_a_file_that_nobody_read_is_not_changed(tools):
    path = put(tools, "a.txt", rows())
    for result in (
        tools.write("a.txt", "gone"),
        tools.edit("a.txt", "row 1\n", "x\n"),
        tools.multi_edit("a.txt", ("row 1\n", "x\n")),
    ):
        assert code(result) == "ACCESS_DENIED"
        assert "you have not read it" in text(result)
    assert path.read_text() == rows()


def test_an_edit_tells_what_it_did(tools):
    opened(tools, "src/a.txt", rows())
    result = tools.edit("src/a.txt", "row 5\nrow 6", "five\nsix\nand more")
    assert text(result) == (
        "Edited `src/a.txt`: 1 replacement, lines 5-7 of 31.\n"
        "@@ -4,4 +4,5 @@\n row 4\n-row 5\n-row 6\n+five\n+six\n+and more\n row 7"
    )
    assert result.shown.startswith("--- src/a.txt\n+++ src/a.txt\n@@ -2,8 +2,9 @@\n row 2\n")
    data = result.envelope.data
    assert (data["replacements"], data["ranges"], data["total_lines"]) == (1, [[5, 7]], 31)
    assert (data["lines_added"], data["lines_removed"], data["applied"], data["created"]) == (
        3,
        2,
        True,
        False,
    )
    assert tools.files.snapshots.get(data["before"]) == rows().encode()
    assert tools.files.snapshots.get(data["after"]) == (tools.root / "src/a.txt").read_bytes()


def test_a_digest_keeps_the_headline_and_the_first_rows_of_the_diff(tools):
    opened(tools, "a.txt", rows())
    result = tools.edit("a.txt", "row ", "line ", replace_all=True)
    assert text(result).startswith("Edited `a.txt`: 30 replacements, lines 1-30 of 30.")
    lines = text(result).split("\n")
    assert len(lines) == 53, "headline, heading, 50 rows and how many are left out"
    assert lines[-1] == "(10 more rows of the diff)"
    use = recognize_tool(ToolCall("c", "Edit", {"path": "a.txt", "old_string": "row", "new_string": "line"}))
    assert choose_lines(use, lines, CODE)[:2] == [0, 1]


def test_what_stands_twice_is_not_replaced_unless_all_is(tools):
    path = opened(tools, "a.txt", "x = 1\ny = 1\nx = 1\n")
    result = tools.edit("a.txt", "x = 1", "x = 2")
    assert code(result) == "INVALID_PARAM"
    assert "occurs 2 times in `a.txt`, in lines 1, 3" in text(result)
    assert not tools.edit("a.txt", "x = 1", "x = 2", replace_all=True).is_error
    assert path.read_text() == "x = 2\ny = 1\nx = 2\n"


@pytest.mark.parametrize(
    ("content", "old", "said"),
    [
        (
            "\tif x:\n\t\treturn 1\n",
            "    if x:\n        return 1\n",
            "Only tabs, spaces or indentation differ from lines 1-2",
        ),
        ("a\nb  \nc\n", "a\nb\nc", "Only spaces at line ends differ from lines 1-3"),
        (
            "one\ntwo\n",
            "     1\tone\n     2\ttwo\n",
            "has the line numbers of Read in it: without that it is in line 1",
        ),
        ("say(“hi”)\n", 'say("hi")', "Only quotes, dashes or other look-alike characters differ from line 1"),
        ("Hello World\n", "hello world", "Only capitals differ from line 1"),
        (
            "a\nb\nlast",
            "last\n",
            "ends with a line break and the file does not: without that it is in line 3",
        ),
        ('x = "a"\ny\n', 'x = \\"a\\"\\ny', "spells line breaks or quotes with backslashes"),
        (
            "def f():\n    a\n    b\n",
            "def f():\n    a\n    c\n",
            "It begins as line 1, but then line 3 is `    b` and not `    c`",
        ),
        ("done = True\n", "done = None", "`new_string` is already in line 1"),
        ("x\n", "nothing like it", "copy them exactly"),
    ],
    ids=["tabs", "trailing", "numbers", "quotes", "capitals", "last", "escapes", "begins", "done", "nothing"],
)
def test_what_is_not_found_is_explained(tools, content, old, said):
    opened(tools, "a.txt", content)
    result = tools.edit("a.txt", old, "done = True")
    assert code(result) == "NOT_FOUND"
    assert said in text(result)
    assert (tools.root / "a.txt").read_text() == content


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "x", "`old_string` is empty"),
        ("row 1", "row 1", "are the same"),
        ("row 1\n", "row 1\r\n", "differ in line endings only"),
        ("row 1\n", "\udcff", "half a character"),
    ],
    ids=["empty", "same", "endings", "surrogate"],
)
def test_senseless_edits_are_refused(tools, old, new, said):
    path = opened(tools, "a.txt", rows())
    result = tools.edit("a.txt", old, new)
    assert code(result) == "INVALID_PARAM"
    assert said in text(result)
    assert path.read_text() == rows()


def test_several_edits_are_made_in_order_or_not_at_all(tools):
    path = opened(tools, "a.txt", "one\ntwo\n")
    assert not tools.multi_edit("a.txt", ("one", "1\nmore"), ("more\ntwo", "2")).is_error
    assert path.read_text() == "1\n2\n"
    result = tools.multi_edit("a.txt", ("1", "one"), ("absent", "x"), ("2", "two"))
    assert code(result) == "NOT_FOUND"
    assert "edit 2 of 3: `old_string` is not in `a.txt` after the edits before it" in text(result)
    assert path.read_text() == "1\n2\n"
    assert code(tools.multi_edit("a.txt")) == "INVALID_PARAM"
    assert "edit 2 of 2: `old_string` is empty" in text(tools.multi_edit("a.txt", ("1", "x"), ("", "y")))


@pytest.mark.parametrize(
    ("raw", "old", "new", "wanted"),
    [
        (b"one\r\ntwo\r\n", "one\ntwo", "1\n2\n3", b"1\r\n2\r\n3\r\n"),
        (b"one\r\ntwo\nthree\r\n", "two\n", "2\n2\n", b"one\r\n2\n2\nthree\r\n"),
        (
            b"one\r\ntwo\nthree\r\n",
            "one\ntwo\nthree",
            "one\nnew\ntwo\nthree",
            b"one\r\nnew\r\ntwo\nthree\r\n",
        ),
        (b"\xef\xbb\xbfone\n", "one", "1", b"\xef\xbb\xbf1\n"),
        ("one\r\n".encode("utf-16"), "one\n", "漢\n", "漢\r\n".encode("utf-16")),
        ("für\n".encode("latin-1"), "für", "größer", "größer\n".encode("latin-1")),
        (
            b"good \xc3\xbc\xc3\xb6\xc3\xa4 bad \xff\nx\n",
            "x",
            "y",
            b"good \xc3\xbc\xc3\xb6\xc3\xa4 bad \xff\ny\n",
        ),
        (b"no last break", "last", "final", b"no final break"),
        (b"a\x0cb\rc\n", "b\rc", "d", b"a\x0cd\n"),
    ],
    ids=["crlf", "mixed", "mixed-insert", "bom", "utf-16", "latin", "bad-byte", "no-newline", "controls"],
)
def test_whatever_is_not_named_stays_byte_for_byte(tools, raw, old, new, wanted):
    path = opened(tools, "a.txt", raw)
    assert not tools.edit("a.txt", old, new).is_error
    assert path.read_bytes() == wanted


def test_a_character_that_the_files_encoding_has_not_is_refused(tools):
    path = opened(tools, "a.txt", "für\n".encode("latin-1"))
    result = tools.edit("a.txt", "für", "→")
    assert code(result) == "INVALID_PARAM"
    assert "which has no `→` (U+2192)" in text(result)
    assert path.read_bytes() == "für\n".encode("latin-1")


def test_mode_stays_and_other_names_keep_the_old_text(tools):
    path = opened(tools, "run.sh", "echo\n")
    path.chmod(0o751)
    (tools.root / "other").hardlink_to(path)
    result = tools.edit("run.sh", "echo", "exit")
    assert stat.S_IMODE(path.stat().st_mode) == 0o751
    assert (tools.root / "other").read_text() == "echo\n"
    assert "the file had 2 names" in text(result)


def test_a_change_elsewhere_is_told_and_the_edit_is_made(tools):
    path = opened(tools, "a.txt", rows())
    path.write_text(rows(r25="theirs"))
    result = tools.edit("a.txt", "row 3\n", "mine\n")
    assert path.read_text() == rows(r3="mine", r25="theirs")
    assert (
        "(modified_externally: `a.txt` was changed since you saw it, not by your edits, in other lines (line 25"
        in text(result)
    )
    assert "\n-row 25\n+theirs\n" in text(result)
    assert "theirs" not in result.shown
    assert "modified_externally" not in text(tools.edit("a.txt", "row 4\n", "mine too\n"))


@pytest.mark.parametrize(
    ("theirs", "old"),
    [
        (rows(r9="row 9 theirs"), "row 9\nrow 10"),
        (rows(r9="row 9 theirs"), "row 9"),
        (rows().replace("row 9\n", ""), "row 9\n"),
        (rows().replace("row 9\n", ""), "row 8\nrow 9\nrow 10"),
        (rows().replace("row 9\n", "row 9\nrow 9\n"), "row 9\n"),
    ],
    ids=["line", "within", "deleted", "spanning", "doubled"],
)
@pytest.mark.parametrize("name", ["Edit", "MultiEdit"])
def test_a_change_of_the_same_lines_is_a_conflict(tools, theirs, old, name):
    path = opened(tools, "a.txt", rows())
    path.write_text(theirs)
    edit = {"old_string": old, "new_string": "mine"}
    result = tools.call(name, path="a.txt", **(edit if name == "Edit" else {"edits": [edit]}))
    assert code(result) == "CONFLICT"
    assert "row 9" in text(result)
    assert "Read these lines again" in text(result)
    assert path.read_text() == theirs
    tools.read("a.txt")
    assert code(tools.edit("a.txt", old, "mine")) != "CONFLICT"


def test_lines_taken_away_inside_what_is_replaced_are_a_conflict(tools):
    path = opened(tools, "a.txt", "a\nx\nb\n")
    path.write_text("a\nb\n")
    assert code(tools.edit("a.txt", "a\nb\n", "c\n")) == "CONFLICT"
    assert not tools.edit("a.txt", "b\n", "c\n").is_error


def test_other_line_endings_are_no_conflict(tools):
    path = opened(tools, "a.txt", rows())
    path.write_bytes(rows().replace("\n", "\r\n").encode())
    result = tools.edit("a.txt", "row 3\n", "mine\n")
    assert "but no line differs" in text(result)
    assert path.read_bytes() == rows(r3="mine").replace("\n", "\r\n").encode()


def test_where_the_earlier_text_is_gone_any_change_is_a_conflict(tmp_path):
    tools = FileTools(tmp_path, SeenFiles(MemorySnapshots(most=10)))
    path = opened(tools, "a.txt", rows())
    assert not tools.edit("a.txt", "row 3\n", "mine\n").is_error
    path.write_text(rows(r3="mine", r25="theirs"))
    result = tools.edit("a.txt", "row 4\n", "x\n")
    assert code(result) == "CONFLICT"
    assert "no longer kept" in text(result)


def test_write_makes_files_and_folders(tools):
    result = tools.write("new/er/a.txt", "one\ntwo\n")
    assert (tools.root / "new/er/a.txt").read_text() == "one\ntwo\n"
    assert text(result) == "Created `new/er/a.txt`: 2 lines, 8 bytes.\n@@ -0,0 +1,2 @@\n+one\n+two"
    assert result.envelope.data["created"] is True
    assert result.shown.startswith("--- /dev/null\n+++ new/er/a.txt\n")
    assert not tools.edit("new/er/a.txt", "one", "1").is_error


def test_write_replaces_what_was_read_and_keeps_its_kind(tools):
    path = opened(tools, "a.txt", b"\xef\xbb\xbfone\r\ntwo\r\n")
    path.chmod(0o640)
    result = tools.write("a.txt", "one\nzwei\n")
    assert path.read_bytes() == b"\xef\xbb\xbfone\r\nzwei\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert text(result).startswith("Updated `a.txt`: line 2 of 2.\n@@ -1,2 +1,2 @@\n one\n-two\n+zwei")
    again = tools.write("a.txt", "one\nzwei\n")
    assert text(again) == "`a.txt` already has this text: 2 lines, unchanged."
    assert len(tools.files.edits) == 1


def test_write_refuses_what_changed_since_and_tells_what_was_never_shown(tools):
    path = opened(tools, "a.txt", rows())
    path.write_text(rows(r9="theirs"))
    result = tools.write("a.txt", "mine\n")
    assert code(result) == "CONFLICT"
    assert "+theirs" in text(result)
    assert path.read_text() == rows(r9="theirs")
    long = put(tools, "long.txt", "".join(f"{n}\n" for n in range(1, 1001)))
    tools.read("long.txt", offset=11, limit=90)
    tools.edit("long.txt", "\n50\n", "\nfifty\nmore\n")
    result = tools.write("long.txt", "short")
    assert "of the old text, lines 1-10, 102-1001 of 1001 had never been shown to you" in text(result)
    assert "the old text ended with a line break, the new one does not" in text(result)
    assert long.read_text() == "short"


def test_a_deleted_file_is_created_again_and_the_result_says_so(tools):
    path = opened(tools, "a.txt", "x\n")
    path.unlink()
    assert code(tools.edit("a.txt", "x", "y")) == "NOT_FOUND"
    assert "somebody took it away since" in text(tools.write("a.txt", "x\n"))


def test_a_dry_run_shows_and_writes_nothing(tools):
    path = opened(tools, "a.txt", rows())
    for result in (
        tools.edit("a.txt", "row 3\n", "x\n", dry_run=True),
        tools.multi_edit("a.txt", ("row 3\n", "x\n"), dry_run=True),
        tools.write("a.txt", rows(r3="x"), dry_run=True),
    ):
        assert text(result).startswith("Dry run, not written: `a.txt` would change, ")
        assert "\n-row 3\n+x\n" in text(result)
        assert result.envelope.data["applied"] is False
    assert path.read_text() == rows()
    tools.write("new.txt", "x\n", dry_run=True)
    assert not (tools.root / "new.txt").exists()
    assert tools.files.edits == []
    assert not tools.edit("a.txt", "row 3\n", "x\n").is_error


def test_a_secret_that_was_redacted_cannot_be_matched_or_overwritten(tools):
    path = opened(tools, ".env", "KEY=s3cr3t\nPORT=1\n")
    result = tools.edit(".env", "KEY=<REDACTED>\nPORT=1", "KEY=<REDACTED>\nPORT=2")
    assert code(result) == "INVALID_PARAM"
    assert "stands for a secret that was kept out of the log" in text(result)
    result = tools.write(".env", "KEY=<REDACTED>\nPORT=2\n")
    assert code(result) == "INVALID_PARAM"
    assert "would replace the real value" in text(result)
    assert path.read_text() == "KEY=s3cr3t\nPORT=1\n"
    opened(tools, "docs.md", "Secrets read `<REDACTED>`.\n")
    assert not tools.edit("docs.md", "read `<REDACTED>`", "are `<REDACTED>`").is_error


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        ".git/hooks/pre-commit",
        "sub/.git/HEAD",
        ".GIT/config",
        ".git",
        "link/config",
        ".hg/hgrc",
    ],
)
def test_version_controls_own_files_are_not_written(tools, path):
    put(tools, ".git/config", "[core]\n")
    put(tools, "sub/.git/HEAD", "ref\n")
    (tools.root / "link").symlink_to(".git")
    if "HEAD" in path or path.endswith("config"):
        tools.read(path)
    before = sorted(p for p in tools.root.rglob("*"))
    for result in (
        tools.write(path, "x"),
        tools.edit(path, "core", "x"),
        tools.multi_edit(path, ("core", "x")),
    ):
        assert code(result) == "ACCESS_DENIED", path
    assert sorted(p for p in tools.root.rglob("*")) == before
    assert (tools.root / ".git/config").read_text() == "[core]\n"


def test_files_that_only_look_like_version_controls_are_written(tools):
    assert not tools.write(".gitignore", "build/\n").is_error
    assert not tools.write("docs/.github/x.git.md", "x\n").is_error


def test_the_agents_own_records_are_not_written(tmp_path):
    (tmp_path / "records").mkdir()
    tools = FileTools(tmp_path, SeenFiles(protected=[tmp_path / "records"]))
    assert code(tools.write("records/x", "x")) == "ACCESS_DENIED"
    assert not tools.write("records-not/x", "x").is_error


def test_what_is_no_text_or_too_large_is_not_edited(tools):
    opened(tools, "a.txt", "x\n")
    put(tools, "a.txt", b"\0\1\2x\n")
    assert code(tools.edit("a.txt", "x", "y")) == "BINARY_FILE"
    big = opened(tools, "big.txt", "x\n")
    with big.open("r+b") as file:
        file.truncate(LARGEST + 1)
    result = tools.edit("big.txt", "x", "y")
    assert code(result) == "EXECUTION_ERROR"
    assert "can be edited" in text(result)


class Meddling(MemorySnapshots):
    """Keeps texts, and does something else first: it is asked between the look at a file and its replacement."""

    def __init__(self, meddle):
        super().__init__()
        self.meddle, self.left = meddle, 0

    def keep(self, raw):
        if self.left:
            self.left -= 1
            self.meddle()
        return super().keep(raw)


def meddled(tmp_path, meddle, times=1):
    snapshots = Meddling(meddle)
    tools = FileTools(tmp_path, SeenFiles(snapshots))
    path = opened(tools, "a.txt", rows())
    snapshots.left = times
    return tools, path


def test_a_write_in_between_is_merged_if_it_is_elsewhere(tmp_path):
    target = tmp_path / "a.txt"
    tools, path = meddled(tmp_path, lambda: target.write_text(rows(r25="theirs")))
    result = tools.edit("a.txt", "row 3\n", "mine\n")
    assert path.read_text() == rows(r3="mine", r25="theirs")
    assert "modified_externally" in text(result)


def test_a_write_in_between_is_a_conflict_if_it_is_in_the_same_lines(tmp_path):
    target = tmp_path / "a.txt"
    tools, path = meddled(tmp_path, lambda: target.write_text(rows(r9="theirs")))
    assert code(tools.edit("a.txt", "row 9\n", "mine\n")) == "CONFLICT"
    assert path.read_text() == rows(r9="theirs")
    tools, path = meddled(tmp_path, lambda: target.write_text(rows(r9="theirs")))
    assert code(tools.write("a.txt", "mine\n")) == "CONFLICT"
    assert path.read_text() == rows(r9="theirs")


def test_who_writes_all_the_time_is_not_overwritten(tmp_path):
    target, count = tmp_path / "a.txt", iter(range(1000))
    tools, path = meddled(tmp_path, lambda: target.write_text(rows(r25=f"theirs {next(count)}")), times=1000)
    result = tools.edit("a.txt", "row 3\n", "mine\n")
    assert code(result) == "CONFLICT"
    assert "at this very moment" in text(result)
    assert "theirs" in path.read_text()
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_a_file_that_appears_while_it_is_made_is_not_overwritten(tmp_path):
    tools, _ = meddled(tmp_path, lambda: (tmp_path / "new.txt").write_text("theirs"))
    assert code(tools.write("new.txt", "mine")) == "ACCESS_DENIED"
    assert (tmp_path / "new.txt").read_text() == "theirs"
