"""One call of a tool on the screen: a line that says what and how long, and what came of it.

Rule: one line while it runs and a few when it is done; the whole text is one key away. Signs carry the state,
colour only repeats it.
"""

import time
from collections.abc import Mapping, Sequence

from textual.content import Content

from holdfast.terminal.diffs import diff_content, is_diff, totals
from holdfast.terminal.plain import counted, fitted, neutral, one_line
from holdfast.terminal.status_line import BETWEEN, dollars_said, tokens_said
from holdfast.terminal.values import Card, State, Work

MOST_SHORT = 6
"""Lines of a result that are shown at first."""
MOST_DIFF = 14
MOST_FULL = 2_000
LONGEST = 200_000
"""Lines and characters that an opened card shows: the rest is in the log, and the screen stays quick."""
TAIL = 4
"""Of what a command printed, the lines that are shown at first."""

SIGNS: dict[State, tuple[str, str]] = {
    "writing": ("…", "dim"),
    "waiting": ("?", "$warning"),
    "running": ("▸", "bold $primary"),
    "done": ("✓", "$success"),
    "failed": ("✗", "bold $error"),
    "refused": ("✗", "$warning"),
    "uncertain": ("?", "bold $warning"),
}
_MAIN = ("command", "pattern", "path", "url", "query", "id", "name", "description", "prompt", "job")


def about_call(arguments: Mapping[str, object]) -> str:
    """The argument of a call that says most, in one line."""
    if isinstance(todos := arguments.get("todos"), list):
        return _about_todos([todo for todo in todos if isinstance(todo, dict)])
    if isinstance(questions := arguments.get("questions"), list):
        return counted(len(questions), "question")
    main = next((key for key in _MAIN if isinstance(arguments.get(key), str)), "")
    said = str(arguments.get(main, "")) if main else _first_text(arguments)
    place = arguments.get("path")
    if main == "pattern" and isinstance(place, str) and place not in ("", "."):
        said = f"{said} in {place}"
    return one_line(said[:400])


def card_content(card: Card, width: int, *, is_open: bool) -> Content:
    lines = [_head(card, width)]
    body = _opened(card) if is_open else _short(card, 3 * width)
    if body is not None and body.plain:
        lines += [Content.assemble(("  │ ", "dim"), line) for line in body.split("\n")]
    return Content("\n").join(lines)


def seconds_said(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 60 else f"{int(seconds // 60)} min {int(seconds % 60):02d} s"


def _head(card: Card, width: int) -> Content:
    sign, style = SIGNS[card.state]
    about = card.about
    if card.state == "writing" and card.written > 200:
        about = f"{about} ({card.written:,} characters)".strip()
    took = _took(card)
    room = width - len(card.name) - 4 - (len(took) + 2 if took else 0)
    return Content.assemble(
        (sign, style),
        " ",
        (card.name, "bold"),
        " ",
        fitted(about, room),
        (f"  {took}" if took else "", "dim"),
    )


def _took(card: Card) -> str:
    if card.state == "running":
        return f"{time.monotonic() - card.started:.0f} s"
    if card.state == "waiting":
        return "waits for you"
    if card.state == "uncertain":
        return "uncertain"
    return seconds_said(card.seconds) if card.seconds >= 0.1 else ""


def _short(card: Card, widest: int) -> Content | None:
    """The first lines of a result, none of them longer than so many cells."""
    if not card.is_over and card.work:
        return Content.styled(work_said(card.work, widest // 3 - 4), "dim")
    if not card.is_over or (card.name == "TodoWrite" and card.state == "done"):
        return None  # the panel shows the list
    if is_diff(card.shown):
        return diff_content(card.shown, MOST_DIFF)
    if card.name == "Task" and card.state == "done":
        return _report(card, widest)
    lines = neutral(card.shown).strip("\n").split("\n")
    content = [Content(fitted(line, widest)) for line in lines[:MOST_SHORT]]
    if len(lines) > MOST_SHORT:
        content.append(Content.styled(f"… {counted(len(lines) - MOST_SHORT, 'more line')}", "dim"))
    if card.name == "Bash" and card.full:
        printed = neutral(card.full[-4_000:]).rstrip("\n").split("\n")
        first = 0 if len(card.full) > 4_000 else 1
        tail = [fitted(line, widest) for line in printed[first:][-TAIL:] if line.strip()]
        content += [Content.styled(line, "dim") for line in tail]
    return Content("\n").join(content)


def work_said(work: Work, width: int) -> str:
    """How far a sub-agent is, in one line: what it does gives way first."""
    of = f" of {work.most}" if work.most else ""
    counts = [f"step {work.step}{of}"] if work.step else ["begins"]
    taken = [f"{tokens_said(work.tokens)} tokens"] if work.tokens else []
    taken += [dollars_said(work.dollars)] if work.dollars else []
    room = width - len(BETWEEN.join([*counts, *taken])) - len(BETWEEN)
    doing = [fitted(work.doing, room)] if work.doing and room > 8 else []
    return BETWEEN.join([*counts, *doing, *taken])


def _report(card: Card, widest: int) -> Content:
    """The first lines of what a sub-agent reported, without the one for the model at its end, and what it took."""
    lines = [line for line in neutral(card.full).strip().split("\n")[:-1] if line.strip()]
    shown = [Content(fitted(line, widest)) for line in lines[:MOST_SHORT]]
    if len(lines) > MOST_SHORT:
        shown.append(Content.styled(f"… {counted(len(lines) - MOST_SHORT, 'more line')}", "dim"))
    return Content("\n").join([*shown, Content.styled(fitted(one_line(card.shown), widest), "dim")])


def _opened(card: Card) -> Content:
    if is_diff(card.shown):
        return Content("\n").join([Content.styled(totals(card.shown), "dim"), diff_content(card.shown)])
    text = card.full or card.shown
    lines = neutral(text[:LONGEST]).rstrip("\n").split("\n")
    content = [Content(line) for line in lines[:MOST_FULL]]
    if len(lines) > MOST_FULL or len(text) > LONGEST:
        content.append(Content.styled(f"… of {len(text):,} characters; the rest is in the log", "dim"))
    return Content("\n").join(content)


def _about_todos(todos: Sequence[Mapping[str, object]]) -> str:
    """How far the list is, and what is being done."""
    done = sum(todo.get("status") == "completed" for todo in todos)
    active = next((str(todo.get("content", "")) for todo in todos if todo.get("status") == "in_progress"), "")
    return one_line(f"{done}/{len(todos)}: {active}" if active else f"{done}/{len(todos)}")


def _first_text(arguments: Mapping[str, object]) -> str:
    return next((value for value in arguments.values() if isinstance(value, str)), "")
