"""What is painted, as functions of values: status, todos, diffs, cards, plain text; and a long session."""

import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual._styles_cache import StylesCache

from holdfast.events import AssistantReplied, LogStarted, ToolReturned
from holdfast.messages import Text, ToolCall
from holdfast.terminal.candidates import Candidate
from holdfast.terminal.cards import describe_call, diff_rows, diff_totals, render_card, render_diff
from holdfast.terminal.event_view import earlier_pieces
from holdfast.terminal.interface import CallCard, ReplyPiece, StatusFigures, TodoLine, UserPiece
from holdfast.terminal.piece_widgets import render_markdown
from holdfast.terminal.safe_text import sanitize, truncate
from holdfast.terminal.status_line import current_branch, format_tokens
from holdfast.terminal.transcript_view import KEPT, MOST_WIDGETS
from holdfast.terminal.widgets import SuggestionList, render_status, render_todos
from support.logs import chained
from support.terminal_session import Terminal, driven

DIFF = """--- a.py
+++ a.py
@@ -8,3 +8,4 @@
 same
--- gone
+++ [added]
+more
 same"""

FIGURES = StatusFigures(
    model="anthropic/claude-opus-4-6",
    branch="feature/a-long-branch-name-of-somebody",
    mode="edit",
    used=123_456,
    trigger=160_000,
    window=200_000,
    cached=0.873,
    dollars=1.239,
)


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 160])
def test_the_status_line_fits_and_keeps_what_matters(width):
    line = render_status(FIGURES, width).plain
    assert cell_len(line) <= width
    assert "edit" in line
    assert "$1.24" in line
    if width >= 60:
        assert "123k of 200k" in line
    if width >= 160:
        assert "123k of 200k tokens (62%), folds at 160k" in line
    if width >= 80:
        assert "cache 87%" in line
        assert "opus" in line


@pytest.mark.parametrize(
    ("dollars", "said"), [(None, "$ ?"), (0.0, "$0.00"), (0.001, "<$0.01"), (12.5, "$12.50")]
)
def test_a_cost_is_said_as_far_as_it_is_known(dollars, said):
    assert render_status(StatusFigures(dollars=dollars), 80).plain.endswith(said)


def test_tokens_are_said_short():
    said = [format_tokens(n) for n in (0, 999, 1_500, 12_345, 999_400, 1_000_000)]
    assert said == ["0", "999", "1.5k", "12k", "999k", "1.0M"]


def test_a_diff_has_signs_and_numbers():
    numbered = [("@", 0), (" ", 8), ("-", 9), ("+", 9), ("+", 10), (" ", 11)]
    assert [(row.sign, row.number) for row in diff_rows(DIFF)] == numbered
    assert diff_totals(DIFF) == "+2 -1"
    assert render_diff(DIFF).plain.split("\n") == [
        " 8   same",
        " 9 - -- gone",
        " 9 + ++ [added]",
        "10 + more",
        "11   same",
    ]
    assert render_diff(DIFF, 2).plain.endswith("… 3 more lines")


@given(st.text())
def test_nothing_that_steers_a_terminal_is_left(text):
    plain = sanitize(text)
    assert not any(ord(c) < 32 and c != "\n" for c in plain)
    assert not any(0x7F <= ord(c) < 0xA0 for c in plain)
    assert sanitize(plain) == plain
    plain.encode()


@given(st.text(), st.integers(0, 40))
def test_a_line_is_cut_by_cells(text, cells):
    assert cell_len(truncate(sanitize(text), cells)) <= cells


@given(st.text(), st.integers(5, 60))
def test_markdown_of_anything_is_laid_out_and_steers_nothing(text, width):
    content = render_markdown(text, width)
    assert not any(ord(c) < 32 and c != "\n" for c in content.plain)


def test_markdown_wraps_chinese_and_keeps_brackets():
    lines = render_markdown("- 上下文引擎 [not markup] `x[0]`\n\n> 引用", 12).plain.split("\n")
    assert max(map(cell_len, lines)) <= 12
    assert "[not" in " ".join(lines)


def test_a_card_is_short_until_it_is_opened():
    printed = "Exit code: 0\n" + "\n".join(map(str, range(9)))
    card = CallCard("Bash", "make", "done", "Exit code: 0", printed, seconds=3.21)
    short = render_card(card, 60, is_open=False).plain
    assert short.split("\n") == [
        "✓ Bash make  3.2 s",
        "  │ Exit code: 0",
        "  │ 5",
        "  │ 6",
        "  │ 7",
        "  │ 8",
    ]
    assert "  │ 4\n" in render_card(card, 60, is_open=True).plain


def test_of_a_long_output_of_ones_own_command_the_end_is_shown():
    printed = "\n".join(["Exit code: 1", *map(str, range(2, 101))])
    shown = render_card(CallCard("!", "make", "failed", printed), 40, is_open=False).plain.split("\n")[1:]
    lines = ["Exit code: 1", "2", "3", "4", "5", "… 70 more lines", *map(str, range(76, 101))]
    assert shown == [f"  │ {line}" for line in lines]


def test_rows_of_an_open_card_begin_below_each_other():
    printed = f"Exit code: 0\n{'word ' * 20}\n{'x' * 90}\n{'宽' * 30}"
    _, *rows = render_card(CallCard("Bash", "make", "done", "", printed), 40, is_open=True).plain.split("\n")
    assert all(row.startswith("  │ ") and cell_len(row) <= 40 for row in rows)
    assert "".join(row[4:] for row in rows).replace(" ", "") == printed.replace(" ", "").replace("\n", "")


def test_a_change_between_a_layout_and_the_next_is_measured_too(tmp_path):
    terminal = Terminal(tmp_path, "Yes.")

    async def work():
        async with terminal.app.run_test(size=(60, 20)) as pilot:
            await terminal.ready(pilot)
            suggestions = terminal.app.query_one(SuggestionList)
            suggestions.offer([Candidate("/mode")])
            terminal.app.screen._refresh_layout()
            suggestions.offer([Candidate("/mode"), Candidate("/model"), Candidate("/more")])
            await pilot.pause()
            assert suggestions.size.height == 3

    driven(work())


@pytest.mark.parametrize(("size", "rows"), [((40, 12), 4), ((80, 24), 8)], ids=str)
def test_all_commands_can_be_reached_among_the_suggestions(tmp_path, size, rows):
    terminal = Terminal(tmp_path, "Yes.")

    async def work():
        async with terminal.app.run_test(size=size) as pilot:
            await terminal.ready(pilot)
            await terminal.type(pilot, "/")
            await terminal.until(pilot, lambda: "› /clear" in terminal.text())
            assert terminal.app.query_one(SuggestionList).size.height == rows
            assert " ask " in terminal.text().split("\n")[-1], "the status line is the last"
            await pilot.press("up")
            await terminal.until(pilot, lambda: "› /view" in terminal.text())
            await pilot.press("enter")
            assert terminal.app.prompt.text == "/view "

    driven(work())


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        ({"path": "a.py", "old_string": "x"}, "a.py"),
        ({"pattern": "x", "path": "src"}, "x in src"),
        ({"command": "make\ntest"}, "make test"),
        ({"todos": [{"content": "a b", "status": "in_progress"}, {}]}, "0/2: a b"),
        ({"anything": "else"}, "else"),
        ({}, ""),
    ],
)
def test_the_argument_that_says_most(arguments, about):
    assert describe_call(arguments) == about


def test_of_many_todos_the_one_in_progress_is_shown():
    todos = [TodoLine(f"todo {n}", "completed" if n < 20 else "pending") for n in range(30)]
    todos[20] = TodoLine("中文的待办事项" * 20, "in_progress")
    content = render_todos(todos, 40).plain
    assert "[>] 中文" in content
    assert "todos 20/30, 24 not shown" in content
    assert max(map(cell_len, content.split("\n"))) <= 40


def test_the_branch_is_read_from_git(tmp_path):
    assert current_branch(tmp_path / "none") == ""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/feature/x\n")
    (tmp_path / "inner").mkdir()
    assert current_branch(tmp_path / "inner") == "feature/x"
    (tmp_path / ".git" / "HEAD").write_text("0123456789abcdef\n")
    assert current_branch(tmp_path) == "01234567"


@pytest.mark.slow
def test_a_long_session_has_few_widgets_and_comes_back_on_scrolling_up(tmp_path):
    terminal = Terminal(tmp_path)

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            transcript = terminal.app.transcript
            transcript.load([UserPiece(f"old {n}") for n in range(1_000)])
            await pilot.pause()
            assert len(transcript.children) == KEPT
            assert "old 999" in terminal.text()
            for n in range(60):
                transcript.add(ReplyPiece(f"new {n}", is_whole=True))
            await terminal.until(pilot, lambda: "new 59" in terminal.text())
            assert len(transcript.children) <= MOST_WIDGETS
            transcript.scroll_home(animate=False, force=True)
            first = transcript.children[0].piece
            await terminal.until(pilot, lambda: transcript.children[0].piece is not first)
            await terminal.until(pilot, lambda: first.text in terminal.text())
            before = len(transcript.children)
            transcript.add(UserPiece("meanwhile"))
            await pilot.pause()
            assert len(transcript.children) == before + 1, "nothing goes while somebody looks back"

    driven(work())


def test_what_was_painted_of_removed_pieces_leaves_memory(tmp_path):
    terminal = Terminal(tmp_path)

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            for n in range(4 * MOST_WIDGETS):
                terminal.app.transcript.add(UserPiece(f"piece {n}"))
                await pilot.pause()
            await terminal.until(pilot, lambda: f"piece {4 * MOST_WIDGETS - 1}" in terminal.text())
            gc.collect()
            painted = [one for one in gc.get_objects() if isinstance(one, StylesCache)]
            assert len(painted) <= len([*terminal.app.screen.walk_children()]) + MOST_WIDGETS - KEPT

    driven(work())


def test_nothing_ticks_while_nothing_runs(tmp_path):
    terminal = Terminal(tmp_path, "Yes.")

    def timers():
        nodes = [terminal.app, terminal.app.screen, *terminal.app.screen.walk_children()]
        return [timer for node in nodes for timer in node._timers if timer._active.is_set()]

    async def work():
        async with terminal.app.run_test() as pilot:
            await terminal.ready(pilot)
            await terminal.say(pilot, "Hello")
            await terminal.idle(pilot)
            await terminal.until(pilot, lambda: timers() == [])

    driven(work())


def test_blank_lines_of_code_stay_and_others_are_drawn_together():
    text = "# Head\n\npara\n\n```diff\n a\n\n\n-b\n```\n\nend"
    assert render_markdown(text, 40).plain.split("\n") == [
        "Head",
        "",
        "para",
        "",
        "  a",
        "",
        "",
        " -b",
        "",
        "end",
    ]


@pytest.mark.parametrize(("text", "state"), [("Exit code: 0\nfine", "done"), ("Exit code: 2\nno", "failed")])
def test_a_command_that_failed_is_marked_as_failed(text, state):
    called = AssistantReplied((ToolCall("b", "Bash", {"command": "make"}),), "")
    entries = chained([LogStarted(), called, ToolReturned("b", "Bash", (Text(text),))])
    (card,) = earlier_pieces(entries)
    assert isinstance(card, CallCard)
    assert card.state == state


def test_a_long_name_in_a_table_is_broken_and_never_cut_off():
    name = "anthropic/claude-with-a-very-long-name"
    text = f"| model | about |\n| --- | --- |\n| `{name}` | {'words ' * 30}|\n"
    shown = render_markdown(text, 40).plain
    assert "…" not in shown
    assert name in "".join(line.split("  ")[0].strip() for line in shown.split("\n"))
