"""A command on the screen while it runs: its newest lines, the whole of it, and jobs in the background."""

import pytest
from rich.cells import cell_len

from holdfast.events import ToolReturned
from holdfast.terminal.cards import LIVE_LINES, render_card
from holdfast.terminal.interface import CallCard, NotePiece, StatusFigures
from holdfast.terminal.status_line import status_parts
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


@pytest.mark.slow
def test_jobs_are_counted_listed_while_the_agent_works_and_their_end_is_shown(tmp_path):
    start = call("Bash", "1", command="true" + WAITS, run_in_background=True)
    wait = call("Bash", "2", command="until [ -e on ]; do sleep 0.02; done")
    terminal = Terminal(tmp_path, [start], [wait], "Done.", mode="auto")

    async def work():
        async with terminal.app.run_test(size=(110, 40)) as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Go")
            await terminal.until(pilot, lambda: "▸ Bash until" in terminal.text())
            assert terminal.app.status.figures.jobs == 1
            assert " · 1 job · " in terminal.text()
            await terminal.say(pilot, "/jobs")
            await terminal.until(pilot, lambda: "1 job runs in the background." in terminal.text())
            assert "runs; the agent waits" in terminal.text(), "the other command is no job of the background"
            assert terminal.app.conversation.is_busy, "the command ran at once"
            await terminal.say(pilot, "/jobs b9")
            await terminal.until(pilot, lambda: "there is no job `b9`" in terminal.text())
            (terminal.root / "on").touch()
            await terminal.idle(pilot)
            assert terminal.app.status.figures.jobs == 1
            (terminal.root / "go").touch()
            await terminal.until(pilot, lambda: terminal.app.status.figures.jobs == 0)
            notes = [piece.text for piece in terminal.app.transcript.pieces if isinstance(piece, NotePiece)]
            assert notes[-1].startswith("b1 has ended: true; until")
            assert notes[-1].endswith("\nExit code: 0, 0 lines, 0 bytes")

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


def test_jobs_give_way_on_a_narrow_status_line():
    figures = StatusFigures(model="m", mode="ask", jobs=2, dollars=0.5)
    assert ("jobs", "2 jobs") in status_parts(figures, 40)
    assert "jobs" not in dict(status_parts(figures, 14))


def test_what_is_left_out_of_the_status_line_makes_room_for_longer_words():
    figures = StatusFigures(
        model="anthropic/claude-opus-5-5", branch="master", mode="auto", effort="medium", jobs=1, cached=0.8,
        used=8_000, trigger=190_000, window=200_000, dollars=0.5,
    )  # fmt: skip
    assert dict(status_parts(figures, 76))["model"] == "claude-opus-5-5"
    for width in range(10, 150):
        shown = dict(status_parts(figures, width))
        assert len(" · ".join(shown.values())) <= max(width, len("auto · 4% · $0.50"))
        assert width < 30 or "jobs" in shown
