"""What the design documents say of tool results: what a digest keeps, and what a reader must know of a file.

Each test names the rows of docs/seeds.md that it stands for.
"""

import asyncio
import os

import pytest

from holdfast.messages import ToolCall
from holdfast.packing.profile import BUILT_IN, CODE
from holdfast.packing.rendering.digests import choose
from holdfast.tool_use import recognize_tool
from holdfast.tools.search.glob import glob_tool
from holdfast.tools.search.ls import ls_tool
from holdfast.tools.workspace import Workspace
from support.file_tools import FileTools


def digest(name, arguments, text, profile=CODE):
    """The lines of a result that its digest keeps."""
    found = choose(recognize_tool(ToolCall("c", name, arguments)), text, profile)
    return [found.lines[number] for number in sorted(found.numbers)]


def said(tool, root, **arguments):
    return asyncio.run(tool.run(arguments, Workspace([root]))).envelope.text


@pytest.fixture
def root(tmp_path):
    for number in range(30):
        (tmp_path / f"f{number:02}.txt").write_text("".join(f"row {n}\n" for n in range(60)))
    return tmp_path


@pytest.mark.parametrize("profile", ["draft16k", "code"])
def test_ls_keeps_its_heading_and_ten_entries(root, profile):
    """000-06, 001-16."""
    kept = digest("LS", {"path": "."}, said(ls_tool(), root, path="."), BUILT_IN[profile])
    assert kept[0] == "`.` has 30 entries:"
    assert len(kept) == 11
    assert kept[1].startswith("f00.txt")


def test_glob_keeps_its_heading_and_ten_paths(root):
    kept = digest("Glob", {"pattern": "*.txt"}, said(glob_tool(), root, pattern="*.txt"))
    assert kept[0] == "Found 30 files for `*.txt` in `.`."
    assert len(kept) == 11


def test_edit_keeps_its_heading_and_ten_rows_of_the_diff(root):
    """001-22."""
    tools = FileTools(root)
    tools.read("f00.txt")
    text = tools.edit("f00.txt", "row ", "line ", replace_all=True).envelope.text
    kept = digest("Edit", {"path": "f00.txt"}, text)
    assert kept[0].startswith("Edited `f00.txt`: 60 replacements")
    assert sum(row[0] in "+-" for row in kept) == 10


def test_write_keeps_its_heading_and_ten_rows_of_the_diff(root):
    """001-24."""
    text = FileTools(root).write("new.txt", "".join(f"row {n}\n" for n in range(60))).envelope.text
    kept = digest("Write", {"path": "new.txt"}, text)
    assert kept[0].startswith("Created `new.txt`: 60 lines")
    assert [row for row in kept if row[0] == "+"] == [f"+row {n}" for n in range(10)]


def test_a_digest_of_read_has_the_time_of_the_last_change_and_whose_it_was(root):
    """001-19, 001-20: however long the read was."""
    path = root / "f00.txt"
    path.write_text("".join(f"row {n}\n" for n in range(2_000)))
    tools = FileTools(root)
    tools.read("f00.txt")
    path.write_text("".join(f"line {n}\n" for n in range(2_000)))
    os.utime(path, (1_700_000_000, 1_700_000_000))
    text = tools.read("f00.txt", limit=2_000).envelope.text
    kept = digest("Read", {"path": "f00.txt"}, text)
    assert kept[0] == "(f00.txt: 2000 lines, modified 2023-11-14T22:13:20Z, modified_externally)"
    assert len(kept) == 1 + CODE.read_lines
