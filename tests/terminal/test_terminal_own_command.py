"""`!command`: the person runs it, the model reads what it printed, and it is there again on resume."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.agents.coding.own_command import clip_middle
from holdfast.events import ApprovalGiven, UserSaid
from holdfast.messages import UserMessage, joined_text
from holdfast.terminal.interface import CallCard
from support.terminal_session import Terminal, call, driven

READ = call("Read", "1", path="main.py")


def cards(terminal):
    return [piece for piece in terminal.app.transcript.pieces if isinstance(piece, CallCard)]


def test_a_command_runs_unasked_and_the_model_reads_it(tmp_path):
    terminal = Terminal(tmp_path, "I see.")

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await pilot.press("!")
            await terminal.until(pilot, lambda: "│! !" in terminal.text())
            await terminal.say(pilot, "echo changed > main.py; cd src; seq 3; false")
            await terminal.idle(pilot)
            assert "✗ ! echo changed > main.py; cd src; seq 3; false" in terminal.text()
            assert [card.state for card in cards(terminal)] == ["failed"]
            assert "› Say what to do" in terminal.text()
            await terminal.say(pilot, "! pwd")
            await terminal.idle(pilot)
            assert cards(terminal)[-1].shown == f"{terminal.root}/src"
            assert terminal.model.requests == [], "a command of the person asks no model"
            await terminal.say(pilot, "What was that?")
            await terminal.idle(pilot)

    driven(work())
    sent = [message for message in terminal.model.requests[0].messages if isinstance(message, UserMessage)]
    told = "\n".join(joined_text(message.parts) for message in sent)
    assert "$ echo changed > main.py" in told
    assert "Exit code: 1\nWorking directory: " in told
    assert "1\n2\n3" in told
    assert terminal.events(ApprovalGiven) == []
    assert [e.origin for e in terminal.events(UserSaid)][:3] == ["reminder", "reminder", "person"]


@pytest.mark.slow
def test_a_command_is_there_on_resume_and_its_folder_too(tmp_path):
    first = Terminal(tmp_path, "Yes.")

    async def before():
        async with first.app.run_test() as pilot:
            await first.ready(pilot)
            for line in ("Hello", "!cd src", "!ls"):
                await first.say(pilot, line)
                await first.idle(pilot)

    driven(before())
    again = Terminal(tmp_path, "Yes.", root=first.root)

    async def after():
        async with again.app.run_test() as pilot:
            await again.ready(pilot)
            assert "✓ ! ls" in again.text()
            assert "加载.py" in again.text()
            assert again.coding.tool_state.shell.cwd == "src"

    driven(after())


def test_what_the_mode_denies_is_not_run(tmp_path):
    terminal = Terminal(tmp_path, mode="plan")

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "!rm main.py")
            await terminal.idle(pilot)
            assert "plan mode" in terminal.text()

    driven(work())
    assert (terminal.root / "main.py").exists()
    assert terminal.events(UserSaid) == []


def test_escape_ends_a_command_and_a_later_one_goes_back_into_the_prompt(tmp_path):
    terminal = Terminal(tmp_path)

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "!echo begun; sleep 600")
            await terminal.until(pilot, lambda: "▸ ! echo begun; sleep 600" in terminal.text())
            await terminal.until(pilot, lambda: "│ begun" in terminal.text())
            await terminal.say(pilot, "!echo after > after.txt")
            await terminal.until(pilot, lambda: "waits until this is done" in terminal.text())
            await pilot.press("escape")
            await terminal.idle(pilot)
            assert terminal.app.prompt.text == "!echo after > after.txt"
            assert "waits until this is done" not in terminal.text()
            await pilot.press("enter")
            await terminal.until(pilot, lambda: len(cards(terminal)) == 2)
            await terminal.idle(pilot)

    driven(work())
    assert (terminal.root / "after.txt").read_text() == "after\n"
    assert "sleep 600" in joined_text(terminal.events(UserSaid)[0].parts)


def test_words_that_escape_takes_back_come_before_a_command_so_that_none_is_run(tmp_path):
    terminal = Terminal(tmp_path, [call("Bash", "1", command="echo begun; sleep 600")], mode="auto")

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Go")
            await terminal.until(pilot, lambda: "│ begun" in terminal.text())
            await terminal.say(pilot, "!echo after > after.txt")
            await terminal.say(pilot, "touch the file")
            await terminal.type(pilot, "half a thought")
            await pilot.press("escape")
            await terminal.idle(pilot)
            assert terminal.app.prompt.text == "touch the file\nhalf a thought\n!echo after > after.txt"

    driven(work())


def test_several_commands_that_escape_takes_back_are_one_of_several_lines(tmp_path):
    terminal = Terminal(tmp_path)

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "!echo begun; sleep 600")
            await terminal.until(pilot, lambda: "│ begun" in terminal.text())
            await terminal.say(pilot, "!echo one > one.txt")
            await terminal.say(pilot, "!echo two > two.txt")
            await pilot.press("escape")
            await terminal.idle(pilot)
            await pilot.press("enter")
            await terminal.until(pilot, lambda: len(cards(terminal)) == 2)
            await terminal.idle(pilot)

    driven(work())
    assert (terminal.root / "one.txt").read_text() == "one\n"
    assert (terminal.root / "two.txt").read_text() == "two\n"


def test_a_command_that_waits_runs_after_the_one_before_it(tmp_path):
    terminal = Terminal(tmp_path)

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "!echo begun; until test -e go; do sleep 0.1; done")
            await terminal.until(pilot, lambda: "│ begun" in terminal.text())
            await terminal.say(pilot, "!echo after > after.txt")
            await terminal.until(pilot, lambda: "waits until this is done" in terminal.text())
            (terminal.root / "go").touch()
            await terminal.until(pilot, lambda: len(cards(terminal)) == 2)
            await terminal.idle(pilot)
            assert "waits until this is done" not in terminal.text()

    driven(work())
    assert (terminal.root / "after.txt").read_text() == "after\n"


@given(st.text(max_size=200), st.integers(3, 50))
def test_a_long_output_keeps_its_ends(text, most):
    clipped = clip_middle(text, most)
    if len(text) <= most:
        assert clipped == text
    else:
        head, _, tail = clipped.partition("\n[… ")
        assert text.startswith(head)
        assert text.endswith(tail.partition(" left out …]\n")[2])
        assert len(head) + len(tail.partition(" left out …]\n")[2]) == most
