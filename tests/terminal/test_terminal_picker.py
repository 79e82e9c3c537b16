"""The picker: menus of commands, narrowed by typing, on screens of any size."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.agents.outcomes import Menu, MenuItem
from holdfast.terminal.interface import NotePiece, UserPiece
from holdfast.terminal.picker import Picker, match_items
from support.terminal_session import Terminal, call, driven

READ = call("Read", "1", path="main.py")
EDIT = call("Edit", "2", path="main.py", old_string="old", new_string="new")


def pieces(terminal, kind):
    return [piece.text for piece in terminal.app.transcript.pieces if isinstance(piece, kind)]


async def picking(terminal, pilot, line=""):
    if line:
        await terminal.say(pilot, line)
    await terminal.until(pilot, lambda: bool(terminal.app.query("#typed:focus")))


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (200, 60)])
def test_a_mode_is_picked_on_any_screen(tmp_path, size):
    terminal = Terminal(tmp_path)

    async def work():
        async with terminal.app.run_test(size=size) as pilot:
            await terminal.ready(pilot)
            await picking(terminal, pilot, "/mode")
            lines = terminal.text().splitlines()
            assert all(any(f" {mode} " in line for line in lines) for mode in ("plan", "ask", "edit", "auto"))
            assert any("› ask" in line and "now" in line for line in lines)
            await pilot.press("down", "down", "down", "down", "down", "enter")
            await terminal.idle(pilot)
            assert terminal.coding.gate.mode == "edit"
            assert not terminal.app.query(Picker)
            assert terminal.app.prompt.has_focus
            assert "› Say what to do" in terminal.text()

    driven(work())


def test_names_that_differ_at_their_end_are_whole_on_a_narrow_screen(tmp_path):
    names = ("anthropic/claude-opus-5", "anthropic/claude-opus-5-5", "anthropic/claude-sonnet-5-5")
    items = tuple(MenuItem(name, "1,000,000 tokens · $4 / $20", f"/model {name}") for name in names)
    terminal = Terminal(tmp_path)

    async def work():
        async with terminal.app.run_test(size=(40, 16)) as pilot:
            await terminal.ready(pilot)
            picking = asyncio.create_task(terminal.app.pick(Menu("model", items)))
            await terminal.until(pilot, lambda: f" {names[-1]} " in terminal.text())
            assert all(f" {name} " in terminal.text() for name in names)
            await pilot.resize_terminal(60, 16)
            await terminal.until(pilot, lambda: "1,000,000 tokens" in terminal.text())
            await pilot.press("down", "enter")
            assert await picking == f"/model {names[1]}"

    driven(work())


def test_typing_narrows_and_escape_changes_nothing(tmp_path):
    terminal = Terminal(tmp_path)

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await picking(terminal, pilot, "/mode")
            await pilot.press(*"reads")
            await terminal.until(pilot, lambda: "edits files" not in terminal.text())
            assert "› plan" in terminal.text()
            await pilot.press(*"xyz", "enter")
            await terminal.until(pilot, lambda: "nothing matches" in terminal.text())
            for leave in ("escape", "ctrl+c"):
                await pilot.press(leave)
                await terminal.idle(pilot)
                assert not terminal.app.query(Picker)
                assert terminal.coding.gate.mode == "ask"
                await picking(terminal, pilot, "/mode")
            await pilot.press("ctrl+c")
            await terminal.idle(pilot)
            assert pieces(terminal, NotePiece) == []

    driven(work())


@pytest.mark.slow
def test_a_question_closes_the_picker_and_gets_the_keys(tmp_path):
    waits = call("Bash", "1", command="until [ -e go ]; do sleep 0.02; done")
    asked = call(
        "AskUser", "2", questions=[{"question": "Which?", "options": [{"label": "a"}, {"label": "b"}]}]
    )
    terminal = Terminal(tmp_path, [waits], [asked], "Good.", mode="auto")

    async def work():
        async with terminal.app.run_test(size=(80, 24)) as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Go")
            await terminal.until(pilot, lambda: "▸ Bash" in terminal.text())
            await pilot.press("ctrl+r")
            await picking(terminal, pilot)
            (terminal.root / "go").touch()
            await terminal.until(pilot, lambda: "s no answer" in terminal.text())
            await terminal.until(pilot, lambda: not terminal.app.query(Picker))
            await terminal.until(pilot, lambda: terminal.app.panels.panel.has_focus)
            await pilot.press("2")
            await terminal.idle(pilot)
            assert terminal.app.prompt.has_focus
            assert "› Say what to do" in terminal.text()
            assert "│ b" in terminal.text()

    driven(work())


@pytest.mark.slow
def test_a_round_and_what_of_it_are_picked_for_a_rewind(tmp_path):
    terminal = Terminal(tmp_path, "One.", [READ], [EDIT], "Two.", mode="auto")

    async def work():
        async with terminal.app.run_test(size=(70, 20)) as pilot:
            await terminal.ready(pilot)
            for text in ("First", "Second"):
                await terminal.say(pilot, text)
                await terminal.idle(pilot)
            assert "new" in (terminal.root / "main.py").read_text()
            await pilot.press("escape", "escape")
            await picking(terminal, pilot)
            assert "› Second" in terminal.text(), "the newest round comes first"
            await pilot.press("enter")
            await terminal.until(pilot, lambda: "1 edit undone in main.py" in terminal.text())
            await picking(terminal, pilot)
            await pilot.press(*"both")
            await pilot.press("enter")
            await terminal.idle(pilot)
            assert pieces(terminal, UserPiece) == ["First"]
            assert terminal.app.prompt.text == "Second"
            assert "old" in (terminal.root / "main.py").read_text()

    driven(work())


@pytest.mark.slow
def test_a_session_is_found_by_what_was_said_in_it(tmp_path):
    terminal = Terminal(tmp_path, "The answer is forty-two.", "Other.")

    async def work():
        async with terminal.app.run_test(size=(40, 12)) as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "First")
            await terminal.idle(pilot)
            first = terminal.app.conversation.log
            await terminal.say(pilot, "/clear")
            await terminal.until(pilot, lambda: terminal.app.conversation.log != first)
            await terminal.idle(pilot)
            await picking(terminal, pilot, "/resume")
            assert "› First" in terminal.text()
            await pilot.press(*"forty")
            await terminal.until(pilot, lambda: "Enter: search all that was said" in terminal.text())
            await pilot.press("enter")
            await terminal.until(pilot, lambda: "› The answer is" in terminal.text())
            await picking(terminal, pilot)
            await pilot.press("enter")
            await terminal.until(pilot, lambda: terminal.app.conversation.log == first)
            await terminal.idle(pilot)
            assert pieces(terminal, UserPiece) == ["First"]

    driven(work())


def test_with_an_argument_a_command_needs_no_picker(tmp_path):
    terminal = Terminal(tmp_path, "One.")

    async def work():
        async with terminal.app.run_test(size=(80, 40)) as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "First")
            await terminal.idle(pilot)
            await terminal.say(pilot, "/rewind 1")
            await terminal.idle(pilot)
            assert not terminal.app.query(Picker)
            assert "/rewind 1 session: 1 round left behind" in terminal.text()

    driven(work())


ITEMS = [MenuItem(name, about, f"/x {name}") for name, about in (("claude-opus", "new"), ("opus", "old"))]


@given(st.text(max_size=12))
def test_whatever_is_typed_only_narrows(typed):
    found = match_items(typed, ITEMS)
    assert all(one in ITEMS for one in found)
    assert bool(typed.split()) or found == ITEMS


def test_labels_that_begin_with_the_words_come_first():
    assert [one.label for one in match_items("opus", ITEMS)] == ["opus", "claude-opus"]
    assert [one.label for one in match_items("OPUS new", ITEMS)] == ["claude-opus"]
