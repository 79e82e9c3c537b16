"""What passes between an editor and the agent, without a connection: prompts, calls, options and the outbox."""

import asyncio
import base64

import pytest

pytest.importorskip("acp", reason="the extra `acp` is not installed")

from acp.helpers import (
    audio_block,
    image_block,
    start_tool_call,
    update_agent_message_text,
    update_agent_thought_text,
)
from acp.schema import HttpHeader, HttpMcpServer, SseMcpServer
from msgspec.structs import replace

from holdfast.agents.acp.event_updates import CallIds
from holdfast.agents.acp.outbox import Outbox
from holdfast.agents.acp.prompts import EditorPrompt, mention, read_prompt
from holdfast.agents.acp.questions import approval_options
from holdfast.agents.acp.server import mcp_table
from holdfast.agents.acp.session_options import command_line
from holdfast.agents.acp.tool_calls import (
    LARGEST_DIFF,
    LONGEST_OUTPUT,
    call_locations,
    call_title,
    edit_diff,
    has_failed,
    output_content,
)
from holdfast.agents.coding.own_commands import OwnCommands
from holdfast.agents.prompt_files import prompt_folders
from holdfast.errors import InputError
from holdfast.messages import ToolCall
from holdfast.tools.permissions.gate import ApprovalQuestion, RulePlace
from holdfast.tools.workspace import Workspace


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("file:///project/src/a.py", '@"src/a.py"'),
        ("file:///project/my%20notes.md", '@"my notes.md"'),
        ("file:///project/a.py#L3", '@"a.py":3-3'),
        ("file:///project/a.py#L3:9", '@"a.py":3-9'),
        ("file:///project/a.py#L3-L9", '@"a.py":3-9'),
        ("file:///project/a.py#symbol", '@"a.py"'),
        ("file:///elsewhere/b.py", '@"/elsewhere/b.py"'),
        ("file:///projects/b.py", '@"/projects/b.py"'),
        ("https://example.org/page", "https://example.org/page"),
        ("file://[half", "file://[half"),
        ("file:///project/%22odd%22.py", "file:///project/%22odd%22.py"),
    ],
)
def test_a_link_to_a_file_is_a_mention(uri, said):
    assert mention(uri, "/project") == said


def test_sound_is_refused():
    with pytest.raises(InputError, match="sound"):
        read_prompt([audio_block("AAAA", "audio/wav")], "/project")


def png(width):
    """The head of a picture, which says its size, and its end."""
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + width.to_bytes(4, "big") + (1).to_bytes(4, "big")
    return image_block(base64.b64encode(head + b"\x08\x06\0\0\0\0\0\0\0IEND").decode(), "image/png")


def test_pictures_that_a_provider_would_refuse_are_refused_before_they_are_in_the_session():
    given = read_prompt([png(8_000)] * 8, "/project", takes_images=True)
    assert [one.media_type for one in given.images] == ["image/png"] * 8
    with pytest.raises(InputError, match="9 pictures"):
        read_prompt([png(1)] * 9, "/project", takes_images=True)
    with pytest.raises(InputError, match="8001 × 1 pixels"):
        read_prompt([png(8_001)], "/project", takes_images=True)
    with pytest.raises(InputError, match="takes no pictures"):
        read_prompt([png(1)], "/project")
    cut = image_block(png(1).data[:-8], "image/png")
    with pytest.raises(InputError, match="damaged"):
        read_prompt([cut], "/project", takes_images=True)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("/context", "/context"),
        (" /mode plan \n", "/mode plan"),
        ("/MODE plan", "/MODE plan"),
        ("/resume", "/resume"),
        ("/etc/hosts is wrong", ""),
        ("/ctx", ""),
        ("say /context", ""),
        ("context", ""),
    ],
)
def test_only_a_known_command_is_one(text, line):
    assert command_line(EditorPrompt(text), OwnCommands(())) == line


def test_an_own_command_is_one_also_with_attachments(tmp_path):
    (tmp_path / "look.md").write_text("Look at $1.")
    own = OwnCommands(prompt_folders(tmp_path, (), "commands"))
    assert command_line(EditorPrompt("/look a.py"), own) == ""
    (tmp_path / ".holdfast" / "commands").mkdir(parents=True)
    (tmp_path / "look.md").rename(tmp_path / ".holdfast" / "commands" / "look.md")
    assert command_line(EditorPrompt(" /look a.py", ("data",)), own) == "/look a.py"
    assert command_line(EditorPrompt("/context", ("data",)), own) == ""


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "a.py").write_text("one\ntwo\ntwo\n")
    return Workspace([tmp_path])


def diffs(workspace, name, **arguments):
    found = edit_diff(ToolCall("c", name, arguments), workspace)
    root = workspace.roots[0]
    return [(one.path.removeprefix(f"{root}/"), one.old_text, one.new_text) for one in found]


def test_a_diff_has_the_whole_file_where_it_can_be_read(workspace, tmp_path):
    was = "one\ntwo\ntwo\n"
    assert diffs(workspace, "Edit", path="a.py", old_string="one", new_string="1") == [
        ("a.py", was, "1\ntwo\ntwo\n")
    ]
    edits = [{"old_string": "one", "new_string": "1"}, {"old_string": "1", "new_string": "I"}]
    assert diffs(workspace, "MultiEdit", path="a.py", edits=edits) == [("a.py", was, "I\ntwo\ntwo\n")]
    assert diffs(workspace, "Write", path="a.py", content="new") == [("a.py", was, "new")]
    assert diffs(workspace, "Write", path="b/c.py", content="new") == [("b/c.py", None, "new")]
    # One that fits in two places will fail; what it wanted is shown.
    assert diffs(workspace, "Edit", path="a.py", old_string="two", new_string="2") == [("a.py", "two", "2")]
    (tmp_path / "a.py").write_text("one\n" + "x" * LARGEST_DIFF)
    assert diffs(workspace, "Edit", path="a.py", old_string="one", new_string="1") == [("a.py", "one", "1")]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Edit", {"path": "../out.py", "old_string": "a", "new_string": "b"}),
        ("Edit", {"path": "a.py", "old_string": "a"}),
        ("Edit", {"path": 3, "old_string": "a", "new_string": "b"}),
        ("MultiEdit", {"path": "a.py", "edits": "all"}),
        ("Write", {"path": "a.py"}),
        ("Read", {"path": "a.py"}),
    ],
)
def test_a_call_that_cannot_be_right_has_no_diff(workspace, name, arguments):
    assert diffs(workspace, name, **arguments) == []


def test_titles_places_and_results_of_calls(workspace, tmp_path):
    assert call_title("Bash", {"command": "make\n  test", "access": "read"}) == "Bash make test"
    assert len(call_title("Bash", {"command": "x" * 10_000})) == 200
    assert call_title("Odd", {"a": 1}) == "Odd"
    [place] = call_locations({"path": "a.py", "offset": 7}, workspace)
    assert (place.path, place.line) == (str(tmp_path / "a.py"), 7)
    [place] = call_locations({"path": "a.py", "offset": -3}, workspace)
    assert place.line is None
    assert call_locations({"path": "../b.py"}, workspace) == []
    assert call_locations({"path": ["a.py"]}, workspace) == []
    assert has_failed("Bash", "Exit code: 2\nno", is_error=False)
    assert not has_failed("Bash", "Exit code: 0\nyes", is_error=False)
    assert not has_failed("Read", "Exit code: 2", is_error=False)
    stopped = "I began.\n[The sub-agent was stopped: it was interrupted. The text above is its last message.]"
    assert has_failed("Task", stopped, is_error=False)
    assert not has_failed("Task", "All done.", is_error=False)
    [shown] = output_content("Bash", "```\nin a fence\n```", "")
    assert shown.content.text == "````\n```\nin a fence\n```\n````"
    [shown] = output_content("Grep", "x" * LONGEST_OUTPUT + "y", "")
    assert "[1 characters before this are in the log]" in shown.content.text
    assert output_content("Bash", "\n", "") == []


def test_ids_of_calls_are_used_once():
    ids = CallIds()
    assert [ids.new(one) for one in ("a", "a", "", "a", "")] == ["a", "a#2", "call#1", "a#3", "call#2"]


def test_a_rule_is_offered_only_if_there_is_one():
    places = (RulePlace("folder", "a"), RulePlace("project", "b"))
    question = ApprovalQuestion(
        ToolCall("c", "Bash", {}), "why", ("Bash(make:*)",), "Bash(make)", places=places
    )
    ids = [one.option_id for one in approval_options(question)]
    assert ids == ["once", "log", "always-folder", "always-project", "deny"]
    nowhere = replace(question, places=())
    assert [one.option_id for one in approval_options(nowhere)] == ["once", "log", "always-", "deny"]
    without = replace(question, offered_rules=())
    assert [one.option_id for one in approval_options(without)] == ["once", "log", "deny"]


def test_servers_of_a_client_are_written_as_ours():
    server = HttpMcpServer(
        type="http", name="web", url="http://x/mcp", headers=[HttpHeader(name="A", value="b")]
    )
    assert mcp_table([server]) == {"web": {"url": "http://x/mcp", "headers": {"A": "b"}}}
    with pytest.raises(InputError, match="`old` cannot be reached over `sse`"):
        mcp_table([SseMcpServer(type="sse", name="old", url="http://x", headers=[])])


def test_texts_that_follow_each_other_are_sent_as_one_and_in_order():
    sent = []

    async def work():
        async def send(update):
            sent.append(update)

        outbox = Outbox(send)
        for piece in ("a", "b"):
            outbox.put(update_agent_thought_text(piece))
        for piece in ("c", "d"):
            outbox.put(update_agent_message_text(piece))
        outbox.put(start_tool_call("1", "Read"))
        outbox.put(update_agent_message_text("e"))
        await outbox.flush()
        outbox.put(update_agent_message_text("f"))
        await outbox.flush()

    asyncio.run(work())
    told = [one.content.text if one.session_update != "tool_call" else one.title for one in sent]
    assert told == ["ab", "cd", "Read", "e", "f"]


def test_what_cannot_be_sent_stops_nothing_after_it():
    sent = []

    async def work():
        tried, arrived = asyncio.Event(), asyncio.Event()

        async def send(update):
            tried.set()
            if update.title == "bad":
                raise ValueError("bad")
            sent.append(update.title)
            arrived.set()

        outbox = Outbox(send)
        outbox.put(start_tool_call("1", "bad"))
        await tried.wait()
        outbox.put(start_tool_call("2", "good"))
        await arrived.wait()
        await outbox.close()

    asyncio.run(work())
    assert sent == ["good"]
