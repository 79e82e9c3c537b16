"""What commands and sub-agents do to files is seen, shown and undone, or named if it cannot be undone."""

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.agents.coding import command_effects
from holdfast.agents.coding.task import SUB_AGENT_PROMPT
from holdfast.events import Noted, ToolReturned
from holdfast.messages import SystemMessage, ToolMessage, joined_text
from holdfast.models.scripted import ScriptedModel
from support.agent_runs import waited
from support.coding_sessions import CodingSetup, call, run, say
from support.last_message import last_message

SED = "sed -i s/old/new/ main.py"


@pytest.fixture
def setup(tmp_path):
    found = CodingSetup(tmp_path, commits=True)
    yield found
    found.close()


def bash(command, id_="b"):
    return call("Bash", id_, command=command)


def read(path, id_="r"):
    return call("Read", id_, path=path)


def main_text(setup):
    return (setup.root / "main.py").read_text()


def test_what_a_command_did_to_a_known_file_is_shown_and_taken_back(setup):
    coding = setup.open([read("main.py")], [bash(SED)], "Done.")
    say(coding, "Go.")
    assert "'new'" in main_text(setup)
    shown = run(coding, "/diff").text
    assert "-    print('old')\n+    print('new')" in shown
    text = run(coding, "/undo").text
    assert "1 edit undone" in text
    assert "'old'" in main_text(setup)
    assert coding.tool_state.files.edits == []


def test_what_one_command_did_to_several_files_is_one_edit(setup):
    both = [read("main.py", "1"), read("notes.md", "2")]
    coding = setup.open(both, [bash("sed -i s/o/0/ main.py notes.md; echo x > made.txt")], "Done.")
    say(coding, "Go.")
    text = run(coding, "/undo").text
    assert "1 edit undone" in text
    assert "`made.txt` (created)" in text, "what stays is said"
    assert "0ld" not in main_text(setup)
    assert (setup.root / "notes.md").read_text() == "# Notes\n\nNothing yet.\n"
    assert (setup.root / "made.txt").exists()


def test_an_edit_before_a_command_is_taken_back_with_it(setup):
    edit = call("Edit", "e", path="main.py", old_string="old", new_string="mid")
    steps = [[read("main.py")], [edit], [bash("sed -i s/mid/new/ main.py")], "Done."]
    coding = setup.open("Hello.", *steps)
    say(coding, "Hi.", "Go.")
    assert "2 edits undone in `main.py`" in run(coding, "/rewind 2 both").text
    assert "'old'" in main_text(setup)


def test_what_cannot_be_taken_back_is_named(setup):
    command = "echo more >> notes.md; echo x > made.txt; rm main.py"
    coding = setup.open("Hello.", [bash(command)], "Done.")
    say(coding, "Hi.", "Go.")
    named = "`made.txt` (created), `main.py` (deleted), `notes.md` (changed)"
    for line in ("/diff", "/rewind 2", "/rewind 2 session"):
        text = run(coding, line).text
        assert all(part in text for part in named.split(", ")), line


def test_a_created_file_is_part_of_the_diff(setup):
    coding = setup.open([bash("printf 'one\\ntwo\\n' > made.txt")], "Done.")
    say(coding, "Go.")
    assert "--- /dev/null\n+++ made.txt" in run(coding, "/diff").text
    assert "+two" in run(coding, "/diff").text


def test_a_session_that_is_opened_again_knows_what_its_commands_did(setup):
    coding = setup.open([read("main.py")], [bash(f"{SED}; rm notes.md")], "Done.")
    say(coding, "Go.")
    again = setup.open()
    assert again.tool_state.files.edits == coding.tool_state.files.edits != []
    assert again.tool_state.irreversible == coding.tool_state.irreversible != []
    run(again, "/undo")
    assert "'old'" in main_text(setup)


def test_touching_and_looking_change_nothing(setup):
    coding = setup.open([read("main.py")], [bash("touch main.py; cat notes.md; git status")], "Done.")
    say(coding, "Go.")
    assert (coding.tool_state.files.edits, coding.tool_state.irreversible, coding.tool_state.unseen) == (
        [],
        [],
        [],
    )


def test_a_folder_that_is_too_large_is_said_not_to_be_looked_at(setup, monkeypatch):
    monkeypatch.setattr(command_effects, "MOST_FILES", 1)
    coding = setup.open("Hello.", [bash(SED)], "Done.")
    say(coding, "Hi.", "Go.")
    assert "1 command may have changed files that are not known" in run(coding, "/rewind 2").text


def test_a_command_that_is_broken_off_is_said_to_be_unseen(setup):
    coding = setup.open("Hello.", [bash("echo x > begun; sleep 30")], "Never.")
    say(coding, "Hi.")

    async def broken_off():
        running = asyncio.create_task(coding.say("Go."))
        await asyncio.to_thread(waited, (setup.root / "begun").exists)
        coding.agent.interrupt()
        await running

    coding.runner.run(broken_off())
    assert coding.tool_state.unseen == setup.open().tool_state.unseen == [2]
    assert "1 command may have changed files that are not known" in run(coding, "/rewind 2").text


def test_an_interruption_while_effects_are_looked_at_does_not_cost_the_result(setup, monkeypatch):
    coding = setup.open([bash("echo done")], "Never.")
    scan, scans = command_effects.ChangeDetector.scan, []

    async def interrupted(detector, root):
        scans.append(root)
        if len(scans) == 2:
            coding.agent.interrupt()
            await asyncio.Event().wait()
        return await scan(detector, root)

    monkeypatch.setattr(command_effects.ChangeDetector, "scan", interrupted)
    say(coding, "Go.")
    (result,) = (e.event for e in coding.session.log.entries() if isinstance(e.event, ToolReturned))
    assert joined_text(result.parts) == "Exit code: 0\ndone"
    assert coding.tool_state.unseen == [1]


def test_a_file_that_became_a_link_is_named_and_not_taken_back(setup):
    coding = setup.open([read("main.py")], [bash("mv main.py other.py; ln -s other.py main.py")], "Done.")
    say(coding, "Go.")
    assert coding.tool_state.files.edits == []
    assert {(one.path, one.how) for one in coding.tool_state.irreversible} == {
        ("main.py", "changed"),
        ("other.py", "created"),
    }


def employed(*subs):
    """A model whose session gives one task; `subs` are the replies of the sub-agent."""
    left = list(subs)

    def reply(request):
        first = request.messages[0]
        if isinstance(first, SystemMessage) and first.text.startswith(SUB_AGENT_PROMPT):
            return left.pop(0)
        is_over = isinstance(last_message(request), ToolMessage)
        return "Done." if is_over else [call("Task", "t", description="do", prompt="Do.", writes=True)]

    return ScriptedModel(reply, repeat_last=True)


def test_what_a_sub_agent_did_is_the_sessions_to_show_and_to_take_back(setup):
    edit = call("Edit", "e", path="main.py", old_string="old", new_string="mid")
    model = employed([read("main.py")], [edit], [bash("sed -i s/mid/new/ main.py; rm notes.md")], "Did it.")
    coding = setup.open(model=model)
    say(coding, "Go.")
    assert "'new'" in main_text(setup)
    assert "+    print('new')" in run(coding, "/diff").text
    noted = [e.event for e in coding.session.log.entries() if isinstance(e.event, Noted)]
    assert [event.kind for event in noted] == ["task", "task"]
    again = setup.open()
    assert again.tool_state.files.edits == coding.tool_state.files.edits
    assert "`notes.md` (deleted)" in run(again, "/diff").text
    assert "2 edits undone" in run(again, "/undo 2").text
    assert "'old'" in main_text(setup)


COMMANDS = {
    "sed": "sed -i s/e/E/ {}",
    "append": "echo more >> {}",
    "remove": "rm -f {}",
    "create": "echo new > {}.new",
    "touch": "touch {}",
    "move": "mv {0} {0}.moved 2>/dev/null",
}
NAMES = ("main.py", "notes.md")


@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.sampled_from(NAMES), unique=True),
    st.lists(st.tuples(st.sampled_from(sorted(COMMANDS)), st.sampled_from(NAMES)), min_size=1, max_size=3),
)
def test_after_files_are_rewound_each_is_as_it_was_or_named(known, commands):
    with tempfile.TemporaryDirectory() as folder:
        setup = CodingSetup(Path(folder))
        try:
            reads = [[read(name, f"r{n}") for n, name in enumerate(known)]] if known else []
            runs = [[bash(COMMANDS[how].format(name), f"b{n}")] for n, (how, name) in enumerate(commands)]
            coding = setup.open(*reads, "Read.", *runs, "Done.")
            say(coding, "Read.")
            before = {path.name: path.read_bytes() for path in setup.root.iterdir() if path.is_file()}
            say(coding, "Go.")
            text = run(coding, "/rewind 2").text
            if "/rewind 2 files" in text:
                text = run(coding, "/rewind 2 files").text
            now = {path.name: path.read_bytes() for path in setup.root.iterdir() if path.is_file()}
            others = [n for n in before.keys() | now.keys() if before.get(n) != now.get(n)]
            assert [name for name in others if f"`{name}`" not in text] == []
        finally:
            setup.close()
