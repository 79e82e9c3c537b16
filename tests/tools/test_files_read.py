"""Read on real files: every line can be reached, and packing knows the lines for what they are."""

import os
import random

import pytest

from holdfast.messages import ToolCall
from holdfast.packing.presence import has_written, lines_read
from holdfast.tool_use import recognize_tool
from holdfast.tools.files.file_text import MOST_BYTES
from holdfast.tools.files.read import WIDEST
from holdfast.tools.files.seen_files import SeenFiles
from support.file_tools import FileTools, code, text


@pytest.fixture
def tools(tmp_path):
    return FileTools(tmp_path)


def put(tools, name, content):
    raw = content if isinstance(content, bytes) else content.encode()
    (tools.root / name).write_bytes(raw)
    return raw


def numbered(first, *lines):
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, first))


def packed_lines(result, **arguments):
    """What packing takes for lines of the file."""
    use = recognize_tool(ToolCall("c", "Read", arguments))
    return lines_read(use, text(result))


def test_lines_stand_behind_their_numbers(tools):
    put(tools, "a.py", "import os\n\n\tx = 1  \n漢字🙂\n")
    result = tools.read("a.py")
    assert text(result) == numbered(1, "import os", "", "\tx = 1  ", "漢字🙂")
    data = result.envelope.data
    assert (data["first"], data["last"], data["total_lines"], data["truncated"]) == (1, 4, 4, False)
    assert data["size"] == (tools.root / "a.py").stat().st_size
    assert data["mtime_ns"] == (tools.root / "a.py").stat().st_mtime_ns
    assert len(data["hash"]) == 64
    assert result.shown == "4 of 4 lines"


def test_a_heading_names_the_file_its_lines_and_when_it_was_changed(tools):
    put(tools, "a.txt", "one\ntwo\n")
    os.utime(tools.root / "a.txt", (1_700_000_000, 1_700_000_000))
    assert (
        tools.read("a.txt").envelope.text.split("\n")[0] == "(a.txt: 2 lines, modified 2023-11-14T22:13:20Z)"
    )
    put(tools, "a.txt", "one\nother\n")
    os.utime(tools.root / "a.txt", (1_700_000_060, 1_700_000_060))
    again = tools.read("a.txt").envelope.text
    assert again.split("\n")[0] == "(a.txt: 2 lines, modified 2023-11-14T22:14:20Z, modified_externally)"


def test_packing_recognises_the_lines(tools):
    lines = [f"row {n} {'x' * (n % 7)}" for n in range(1, 1201)]
    put(tools, "a.txt", "\n".join(lines) + "\n")
    for arguments in ({}, {"offset": 300, "limit": 7}, {"offset": 1150, "limit": 300}, {"offset": -3}):
        found = packed_lines(tools.read("a.txt", **arguments), path="a.txt", **arguments)
        assert found.known_by == "number"
        first = {None: 1, -3: 1198}.get(arguments.get("offset"), arguments.get("offset"))
        count = arguments.get("limit", 3 if first == 1198 else 500)
        wanted = dict(enumerate(lines[first - 1 : first - 1 + count], first))
        assert found.words() == {number: line.strip() for number, line in wanted.items()}
    put(tools, "one.txt", "just one")
    assert packed_lines(tools.read("one.txt"), path="one.txt").words() == {1: "just one"}


def test_500_lines_unless_asked_and_2000_at_most(tools):
    put(tools, "a.txt", "".join(f"{n}\n" for n in range(1, 5001)))
    result = tools.read("a.txt")
    assert result.envelope.data["last"] == 500
    assert result.envelope.status == "partial"
    assert text(result).endswith("(lines 1-500 of 5000 in `a.txt`; 4500 more lines: Read with offset 501)")
    assert tools.read("a.txt", offset=0).envelope.status == "partial"
    result = tools.read("a.txt", limit=9999)
    assert result.envelope.data["last"] == 2000
    assert tools.read("a.txt", offset=10, limit=5).envelope.status == "success"


def test_a_negative_offset_counts_from_the_end(tools):
    put(tools, "a.txt", "".join(f"{n}\n" for n in range(1, 101)))
    assert text(tools.read("a.txt", offset=-2)) == (
        numbered(99, "99", "100") + "\n(lines 99-100 of 100: the end of `a.txt`)"
    )
    assert tools.read("a.txt", offset=-10, limit=3).envelope.data["last"] == 93
    assert tools.read("a.txt", offset=-500).envelope.data["first"] == 1


def test_past_the_end_the_true_total_is_said(tools):
    put(tools, "a.txt", "x\n" * 7)
    result = tools.read("a.txt", offset=8)
    assert code(result) == "INVALID_PARAM"
    assert "which has 7 lines" in text(result)
    assert tools.read("a.txt", offset=7).envelope.data["last"] == 7


def test_what_has_no_lines_is_said(tools):
    put(tools, "empty", "")
    assert text(tools.read("empty")) == "(`empty` is empty)"
    assert tools.read("empty").envelope.data["total_lines"] == 0
    (tools.root / "folder").mkdir()
    assert code(tools.read("folder")) == "IS_DIRECTORY"
    assert code(tools.read("missing")) == "NOT_FOUND"
    put(tools, "program", b"\x7fELF\x02\x01\0\0rest")
    assert code(tools.read("program")) == "BINARY_FILE"
    assert "7f 45 4c 46" in text(tools.read("program"))
    put(tools, "noise", bytes(range(1, 32)) * 3 + b"\xff\xfe\xfd")
    assert code(tools.read("noise")) == "BINARY_FILE"


def test_a_file_without_a_last_line_break_says_so(tools):
    put(tools, "a.txt", "x\ny")
    assert text(tools.read("a.txt")).endswith("     2\ty\n(the file does not end with a line break)")
    assert "line break" not in text(tools.read("a.txt", limit=1))


def test_lines_end_at_line_feeds_and_nowhere_else(tools):
    put(tools, "a.txt", "one\x0cstill one\u2028and still\x85one\rone\ntwo\n")
    result = tools.read("a.txt")
    assert result.envelope.data["total_lines"] == 2
    assert text(result) == numbered(1, "one\x0cstill one\u2028and still\x85one\rone", "two")


def test_fault_08_one_giant_line_can_be_paged_to_its_end(tools):
    rng = random.Random(8)
    giant = "".join(rng.choices("abcdefgh漢字🙂", k=28_907))
    put(tools, "spill.json", f"first\n{giant}\nlast\n")
    result = tools.read("spill.json")
    row = text(result).split("\n")[1]
    assert row.startswith(f"     2\t{giant[:WIDEST]}… [26907 of 28907 characters are left out: ")
    assert row.endswith("Read with offset 2, limit 1, column 2001]")
    assert result.envelope.status == "partial"
    # A line that was cut is none that packing may call shown.
    assert set(packed_lines(result, path="spill.json").lines) == {1, 3}
    found, column = "", 1
    while column <= len(giant):
        page = tools.read("spill.json", offset=2, limit=1, column=column)
        assert packed_lines(page, path="spill.json", offset=2, limit=1).lines == {}
        piece = text(page).split("\n")[1 if column > 1 else 0].split("\t", 1)[1].split("… [")[0]
        found += piece
        column += len(piece)
    assert found == giant


def test_fault_08_every_line_of_a_long_file_is_reached_by_following_the_remarks(tools):
    rng = random.Random(9)
    lines = ["y" * rng.choice((0, 10, 80, 1500, 1990)) + str(n) for n in range(3000)]
    put(tools, "long.txt", "\n".join(lines))
    seen, offset = [], 1
    while offset:
        result = tools.read("long.txt", offset=offset, limit=2000)
        assert len(text(result).encode()) < MOST_BYTES + 1000
        rows = text(result).split("\n")
        seen += [row.split("\t", 1)[1] for row in rows if row[:6].strip().isdigit()]
        offset = int(rows[-1].rsplit(" ", 1)[1].rstrip(")")) if "more line" in rows[-1] else 0
    assert seen == lines


def test_line_endings_are_told_and_not_shown(tools):
    put(tools, "dos.txt", b"one\r\ntwo\r\n")
    assert text(tools.read("dos.txt")) == (
        numbered(1, "one", "two") + "\n(lines end in CRLF, which edits keep: write plain line breaks)"
    )
    put(tools, "mixed.txt", b"one\r\ntwo\nthree\n")
    assert "(1 of the 3 lines above end in CRLF" in text(tools.read("mixed.txt"))


@pytest.mark.parametrize(
    ("raw", "shown", "said"),
    [
        (b"\xef\xbb\xbfna\xc3\xafve\n", "naïve", "UTF-8 with a byte order mark"),
        ("naïve 漢\r\n".encode("utf-16"), "naïve 漢", "UTF-16 LE with a byte order mark"),
        (b"\xfe\xff" + "naïve\n".encode("utf-16-be"), "naïve", "UTF-16 BE with a byte order mark"),
        ("für Elise – “x”\n".encode("cp1252"), "für Elise – “x”", "Windows-1252, which is a guess"),
        ("für\x81\n".encode("latin-1"), "für\x81", "ISO-8859-1, which is a guess"),
        ("中文的文件，内容很长。\n".encode("gb18030"), "中文的文件，内容很长。", "GB18030, which is a guess"),
    ],
    ids=["bom", "utf-16-le", "utf-16-be", "western", "latin", "chinese"],
)
def test_other_encodings_are_read_and_named(tools, raw, shown, said):
    put(tools, "a.txt", raw)
    rows = text(tools.read("a.txt")).split("\n")
    assert rows[0] == f"     1\t{shown}"
    assert rows[-1].startswith((f"(encoding: {said})", f"(encoding: {said};"))


def test_an_encoding_can_be_named(tools):
    raw = put(tools, "a.txt", "日本語のテキスト\n".encode("shift-jis"))
    assert "日本" not in text(tools.read("a.txt"))
    assert "日本語のテキスト" in text(tools.read("a.txt", encoding="shift-jis"))
    assert not tools.edit("a.txt", "日本語", "英語").is_error
    assert (tools.root / "a.txt").read_bytes() == raw.replace(
        "日本語".encode("shift-jis"), "英語".encode("shift-jis")
    )
    assert code(tools.read("a.txt", encoding="klingon")) == "INVALID_PARAM"
    assert code(tools.read("a.txt", encoding="rot13")) == "INVALID_PARAM"
    assert code(tools.read("a.txt", encoding="ascii\0")) == "INVALID_PARAM"


def test_bytes_that_are_no_text_are_spelled_out(tools):
    put(tools, "a.txt", "good ü ö ä ß é\n".encode() + b"bad \xff byte\n")
    result = tools.read("a.txt")
    assert "     2\tbad \\xff byte" in text(result)
    assert "(1 bytes or characters that are no text are spelled `\\xNN`)" in text(result)


def test_reading_again_shows_the_lines_again_where_nobody_knows_of_a_window(tools):
    put(tools, "a.txt", "x\n")
    assert text(tools.read("a.txt")) == text(tools.read("a.txt"))


def test_unchanged_is_said_only_of_lines_that_are_on_view(tmp_path):
    put_lines = "".join(f"{n}\n" for n in range(1, 101))
    on_view, step = {("a.txt", 1, 50)}, [3]
    files = SeenFiles(is_visible=lambda *asked: asked[:3] in on_view, step=lambda: step[0])
    tools = FileTools(tmp_path, files)
    put(tools, "a.txt", put_lines)
    # On view, but not shown by a Read that is remembered.
    assert "     1\t1" in text(tools.read("a.txt", limit=50))
    step[0] = 9
    again = tools.read("./a.txt", limit=50)
    assert text(again) == "(unchanged since step 3: lines 1-50 of `a.txt` are on view there)"
    assert again.envelope.data["unchanged"] is True
    assert packed_lines(again, path="a.txt", limit=50).lines == {}
    assert "    51\t51" in text(tools.read("a.txt", limit=51))
    on_view.add(("a.txt", 51, 51))
    assert "    51\t51" not in text(tools.read("a.txt", offset=51, limit=1))
    on_view.clear()
    assert "     1\t1" in text(tools.read("a.txt", limit=50))


def test_unchanged_is_never_said_of_a_changed_file(tmp_path):
    tools = FileTools(tmp_path, SeenFiles(is_visible=lambda *_: True, step=lambda: 1))
    put(tools, "a.txt", "x\ny\n")
    tools.read("a.txt")
    assert "unchanged" in text(tools.read("a.txt"))
    before = (tmp_path / "a.txt").stat()
    (tmp_path / "a.txt").write_text("x\nz\n")
    os.utime(tmp_path / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "     2\tz" in text(tools.read("a.txt"))
    tools.edit("a.txt", "z", "w")
    assert "     2\tw" in text(tools.read("a.txt"))
    tools.write("a.txt", "all new\n")
    # The window shows what was written, as the argument of the call.
    assert "unchanged since step 1" in text(tools.read("a.txt"))


def test_somebody_elses_change_is_told_once_with_its_diff(tools):
    lines = [f"row {n}" for n in range(1, 31)]
    put(tools, "a.txt", "\n".join(lines) + "\n")
    tools.read("a.txt")
    lines[4] = "ROW 5"
    put(tools, "a.txt", "\n".join(lines) + "\n")
    result = tools.read("a.txt")
    assert result.envelope.data["modified_externally"] is True
    assert "(modified_externally: `a.txt` was changed since you saw it, not by your edits;" in text(result)
    assert "\n| -row 5\n| +ROW 5\n" in text(result)
    assert packed_lines(result, path="a.txt").spans == ((1, 30),)
    assert "modified_externally" not in text(tools.read("a.txt"))
    assert tools.read("a.txt").envelope.data["modified_externally"] is False


def test_a_diff_never_outweighs_the_lines_that_were_asked_for(tools):
    put(tools, "a.txt", "".join(f"{n}\n" for n in range(1, 31)))
    tools.read("a.txt")
    put(tools, "a.txt", "".join(f"{n}!\n" for n in range(1, 31)))
    result = tools.read("a.txt", limit=3)
    assert "changed: lines 1-30" in text(result)
    assert packed_lines(result, path="a.txt", limit=3).spans == ((1, 3),)


def test_touching_a_file_is_no_change(tools):
    put(tools, "a.txt", "x\n")
    tools.read("a.txt")
    os.utime(tools.root / "a.txt", (1, 1))
    assert "modified_externally" not in text(tools.read("a.txt"))


def test_nothing_outside_the_workspace_is_read(tools, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "secret"
    outside.write_text("secret\n")
    (tools.root / "link").symlink_to(outside)
    for path in ("link", str(outside), "../" + outside.parent.name + "/secret"):
        assert code(tools.read(path)) == "ACCESS_DENIED"


def test_a_file_with_a_hostile_name_is_read_and_remembered(tools):
    name = os.fsdecode(b"caf\xe9\n.txt")
    put(tools, name, "x\n")
    assert text(tools.read(name)) == "     1\tx"
    assert not tools.restored().edit(name, "x", "y").is_error
    # A file whose name only reads the same was not read.
    (tools.root / "caf\\xe9\\n.txt").write_text("x\n")
    assert code(tools.edit("caf\\xe9\\n.txt", "x", "y")) == "ACCESS_DENIED"


def test_packing_takes_a_write_for_one(tools):
    use = recognize_tool(ToolCall("c", "Write", {"path": "src/errors.py", "content": "x\n"}))
    assert has_written(use, text(tools.write("src/errors.py", "x\n")))
    assert has_written(use, text(tools.write("src/errors.py", "y\n")))
    assert not has_written(use, text(tools.write("src/errors.py", "z\n", dry_run=True)))
