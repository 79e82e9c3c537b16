"""What the design documents say of tool results: what a digest keeps, and what a reader must know of a file.

Each test names the rows of docs/seeds.md that it stands for.
"""

import asyncio
import os

import pytest

from holdfast.events import AssistantReplied, Folded, FoldedRun, ToolReturned, UserSaid
from holdfast.messages import Text, ToolCall
from holdfast.packing.profile import BUILT_IN, CODE
from holdfast.packing.rendering.digests import choose
from holdfast.session import Session
from holdfast.tool_use import recognize_tool
from holdfast.tools.search.glob import glob_tool
from holdfast.tools.search.ls import ls_tool
from holdfast.tools.shell.bash import bash_tool
from holdfast.tools.shell.shell import Shell, ShellLimits
from holdfast.tools.workspace import Workspace
from support.file_tools import FileTools
from support.stream_writer import prepare_writes


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


def packed_digest(path, call, result, profile):
    """A result as it is packed at level *digest*, by a session that reads it from the log."""
    with Session(profile=profile, budget="32k", store=path, log="seed") as session:
        session.record(UserSaid((Text("run it"),)), AssistantReplied((call,)))
        session.record(ToolReturned(call.id, call.name, result.parts, data=result.envelope.data))
    with Session(profile=profile, budget="32k", store=path, log="seed") as session:
        step = session.window.transcript.steps[0].entry
        session.record(Folded("manual", runs=(FoldedRun(step, step, "digest"),)))
        return session.pack().messages[-1]["content"]


@pytest.mark.parametrize("profile", ["draft16k", "code"])
@pytest.mark.parametrize("text_bytes", [20_000, 1_000_000], ids=["an excerpt", "all of it"])
@pytest.mark.parametrize("count", [15, 30])
def test_bash_keeps_the_last_lines_of_stderr_wherever_they_are(root, tmp_path, count, text_bytes, profile):
    """000-16, 000-17, 001-25: in the order of writing, with the exit code, also when read from the log."""
    writes = [(1, "".join(f"building {n}\n" for n in range(200)))]
    writes += [(2, f"note {n}\n") for n in range(count)]
    writes += [(1, "".join(f"built {n}\n" for n in range(4_000)))]
    command = prepare_writes(root, writes) + "; exit 3"
    with Shell(limits=ShellLimits(text_bytes=text_bytes)) as shell:
        result = asyncio.run(bash_tool(shell).run({"command": command}, Workspace([root])))
    call = ToolCall("c1", "Bash", {"command": command})
    shown = packed_digest(tmp_path / "log.db", call, result, profile).split("\n")
    notes = [line.rpartition(": ")[2] for line in shown if "note " in line]
    assert notes == [f"note {n}" for n in range(max(count - 20, 0), count)]
    assert shown[1] == "Exit code: 3"
    assert shown[-1] == "built 3999"
    assert sum("built " in line for line in shown) == 20
    assert len(shown) <= 60


def test_without_stderr_the_digest_of_bash_is_that_of_its_lines(root):
    """Whether nothing was written there, or nothing tells what was."""
    with Shell() as shell:
        result = asyncio.run(bash_tool(shell).run({"command": "seq 1 300"}, Workspace([root])))
    use = recognize_tool(ToolCall("c", "Bash", {"command": "seq 1 300"}))
    text = result.envelope.text
    assert result.envelope.data["stderr"] == []
    assert choose(use, text, CODE, ()) == choose(use, text, CODE)
