"""A command on the screen while it runs: its newest lines, and the whole of it."""

import pytest
from rich.cells import cell_len

from holdfast.events import ToolReturned
from holdfast.terminal.cards import LIVE_LINES, render_card
from holdfast.terminal.interface import CallCard
from support.terminal_session import Terminal, call, driven

WAITS = "; until [ -e go ]; do sleep 0.02; done"


def cards(terminal):
    return [piece for piece in terminal.app.transcript.pieces if isinstance(piece, CallCard)]


def live(text, lines=0):
    return CallCard("Bash", "make", state="running", live=text, live_lines=lines or text.count("\n"))


@pytest.mark.slow
def test_the_newest_lines_are_shown_and_a_key_shows_all_while_it_runs(tmp_path):
    command = "seq -f 'row %g' 30; printf ' 10%%\\r 20%%\\r'"
    terminal = Terminal(tmp_path, [call("Bash", command=command + WAITS)], "Done.", mode="auto")

    async def work():
        async with terminal.app.run_test(size=(80, 60)) as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Go")
            await terminal.until(pilot, lambda: "│  20%" in terminal.text())
            shown = terminal.text()
            assert "… 26 earlier lines" in shown
            assert "row 26" not in shown
            assert "row 27" in shown
            assert "10%" not in shown.split("earlier lines")[1], "a bar shows its last state"
            await pilot.press("ctrl+o")
            await terminal.until(pilot, lambda: "│ row 1\n" in terminal.text())
            assert "▸ Bash" in terminal.text(), "it still runs"
            await pilot.press("ctrl+o")
            await terminal.until(pilot, lambda: "… 26 earlier lines" in terminal.text())
            assert terminal.events(ToolReturned) == [], "nothing of it is in the log yet"
            (terminal.root / "go").touch()
            await terminal.idle(pilot)
            assert "✓ Bash" in terminal.text()
            assert "earlier lines" not in terminal.text()

    driven(work())


@pytest.mark.slow
def test_an_open_card_follows_its_command_and_stays_open(tmp_path):
    command = "echo one; until [ -e first ]; do sleep 0.02; done; echo two" + WAITS
    terminal = Terminal(tmp_path, [call("Bash", command=command)], "Done.", mode="auto")

    async def work():
        async with terminal.app.run_test(size=(80, 30)) as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Go")
            await terminal.until(pilot, lambda: "│ one" in terminal.text())
            await pilot.press("ctrl+o")
            (terminal.root / "first").touch()
            await terminal.until(pilot, lambda: "│ two" in terminal.text())
            (terminal.root / "go").touch()
            await terminal.idle(pilot)
            assert "│ Exit code: 0" in terminal.text()

    driven(work())


def test_each_line_takes_one_row_whatever_is_in_it():
    card = live("".join(f"{n} {'宽' * 100}\x1b[2J\x07\n" for n in range(9)), 9)
    head, left, *rows = render_card(card, 40, is_open=False).plain.split("\n")
    assert (len(rows), left) == (LIVE_LINES, "  │ … 4 earlier lines")
    assert all(cell_len(row) <= 40 for row in (head, *rows))
    assert "\x1b" not in "".join(rows)
    assert len(render_card(card, 40, is_open=True).plain.split("\n")) == 10


def test_a_card_without_output_is_one_row():
    assert "\n" not in render_card(live(""), 40, is_open=False).plain
