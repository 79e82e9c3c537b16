"""Tool calls and diffs on the screen.

Rule: a call takes one line while it runs and a few when it is done; the whole text is one key away. Signs carry the
state and tell added from removed; colour only repeats them.
"""

import re
import time
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from textual.content import Content

from holdfast.numbers import counted
from holdfast.terminal.interface import CallCard, CallState, TaskProgress
from holdfast.terminal.safe_text import one_line, sanitize, truncate
from holdfast.terminal.status_line import BETWEEN, format_dollars, format_tokens

OWN = "!"
"""The name on the card of a command that the person ran."""
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_STYLES = {"+": "$success", "-": "$error", "@": "dim", " ": ""}


class DiffRow(Struct, frozen=True):
    """A line of a diff. `number` is its place in the file (the old one for what is removed), 0 for none."""

    sign: str
    text: str
    number: int = 0


def is_diff(text: str) -> bool:
    return text.startswith("--- ") and "\n+++ " in text


def diff_rows(diff: str) -> Iterator[DiffRow]:
    """The lines of a unified diff, without the names of the file."""
    old = new = 0
    for line in diff.split("\n"):
        if hunk := _HUNK.match(line):
            old, new = int(hunk[1]), int(hunk[2])
            yield DiffRow("@", line)
        elif not (old or new):
            if not line.startswith(("--- ", "+++ ")) and line:
                yield DiffRow(" ", line)
        elif line.startswith("+"):
            yield DiffRow("+", line[1:], new)
            new += 1
        elif line.startswith("-"):
            yield DiffRow("-", line[1:], old)
            old += 1
        elif line.startswith(" ") or not line:
            yield DiffRow(" ", line[1:], new)
            old, new = old + 1, new + 1
        else:
            yield DiffRow("@", line)


def render_diff(diff: str, most: int = 0) -> Content:
    """A diff for the screen; with `most`, its first lines and how many follow."""
    found = list(diff_rows(diff.rstrip("\n")))
    if len([row for row in found if row.sign == "@"]) == 1:
        found = [row for row in found if row.sign != "@"]
    width = len(str(max((row.number for row in found), default=0)))
    shown = found[:most] if most else found
    lines = []
    for row in shown:
        number = f"{row.number or '':>{width}} "
        text = sanitize(row.text) if row.sign == "@" else f"{row.sign} {sanitize(row.text)}"
        lines.append(Content.assemble((number, "dim"), (text, _STYLES[row.sign])))
    if left := len(found) - len(shown):
        lines.append(Content.styled(f"{' ' * width} … {counted(left, 'more line')}", "dim"))
    return Content("\n").join(lines)


def diff_totals(diff: str) -> str:
    """How much a diff adds and removes."""
    signs = [row.sign for row in diff_rows(diff)]
    return f"+{signs.count('+')} -{signs.count('-')}"


MOST_SHORT = 6
"""Lines of a result that are shown at first."""
MOST_DIFF = 14
MOST_FULL = 2_000
LONGEST = 200_000
"""Lines and characters that an open card shows; the rest is in the log, and the screen stays fast."""
MOST_OWN, LAST_OWN = 30, 25
"""Lines of the output of a person's own command that are shown at first, and how many of them are its last: a test
run says at its end what failed."""
TAIL = 4
"""Lines of a command's output that are shown at first."""
LIVE_LINES = 5
"""Lines of a running command's output that are shown, the last ones."""
MOST_LIVE = 1_000
LONGEST_LIVE = 2_000
"""Lines of a running command that an open card shows, and characters of each."""

SIGNS: dict[CallState, tuple[str, str]] = {
    "writing": ("…", "dim"),
    "waiting": ("?", "$warning"),
    "running": ("▸", "bold $primary"),
    "done": ("✓", "$success"),
    "failed": ("✗", "bold $error"),
    "refused": ("✗", "$warning"),
    "uncertain": ("?", "bold $warning"),
    "interrupted": ("■", "$warning"),
}
_MAIN = ("command", "pattern", "path", "url", "query", "id", "name", "description", "prompt", "job")


def describe_call(arguments: Mapping[str, object]) -> str:
    """The argument that describes a call best, on one line."""
    if isinstance(listed := arguments.get("todos"), list):
        # How far the list is, and what is being done.
        todos = [todo for todo in listed if isinstance(todo, dict)]
        done = sum(todo.get("status") == "completed" for todo in todos)
        active = next((todo.get("content") for todo in todos if todo.get("status") == "in_progress"), "")
        return one_line(f"{done}/{len(todos)}: {active}" if active else f"{done}/{len(todos)}")
    if isinstance(questions := arguments.get("questions"), list):
        return counted(len(questions), "question")
    main = next((key for key in _MAIN if isinstance(arguments.get(key), str)), "")
    said = (
        arguments[main] if main else next((text for text in arguments.values() if isinstance(text, str)), "")
    )
    place = arguments.get("path")
    if main == "pattern" and isinstance(place, str) and place not in ("", "."):
        said = f"{said} in {place}"
    return one_line(str(said)[:400])


def render_card(card: CallCard, width: int, *, is_open: bool) -> Content:
    lines = [_head(card, width)]
    if card.live:
        # Painted often, so its lines are not styled one by one.
        lines += [Content.styled(_live(card, MOST_LIVE if is_open else LIVE_LINES, width - 4), "dim")]
        return Content("\n").join(lines)
    body = _opened(card) if is_open else _short(card, 3 * width)
    if body is not None and body.plain:
        rows = (row for line in body.split("\n") for row in _wrap(line, max(1, width - 4)))
        lines += [Content.assemble(("  │ ", "dim"), row) for row in rows]
    return Content("\n").join(lines)


def _wrap(line: Content, width: int) -> list[Content]:
    # Measuring is far cheaper than wrapping, and most lines fit.
    return line.wrap(width) if line.cell_length > width else [line]


def format_seconds(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 60 else f"{int(seconds // 60)} min {int(seconds % 60):02d} s"


def _head(card: CallCard, width: int) -> Content:
    sign, style = SIGNS[card.state]
    about = card.about
    if card.state == "writing" and card.written > 200:
        about = f"{about} ({card.written:,} characters)".strip()
    running = f"{time.monotonic() - card.started:.0f} s"
    states = {"running": running, "waiting": "waits for you", "uncertain": "uncertain"}
    # How long it ran is not in the log.
    states["interrupted"] = f"interrupted {format_seconds(card.seconds) if card.seconds else ''}".rstrip()
    took = states.get(card.state) or (format_seconds(card.seconds) if card.seconds >= 0.1 else "")
    room = width - len(card.name) - 4 - (len(took) + 2 if took else 0)
    tail = (f"  {took}" if took else "", "dim")
    return Content.assemble((sign, style), " ", (card.name, "bold"), " ", truncate(about, room), tail)


def _short(card: CallCard, widest: int) -> Content | None:
    """The first lines of a result, none longer than `widest` cells."""
    if not card.is_over and card.work:
        return Content.styled(format_progress(card.work, widest // 3 - 4), "dim")
    if not card.is_over or (card.name == "TodoWrite" and card.state == "done"):
        return None  # the panel shows the list
    if is_diff(card.shown):
        return render_diff(card.shown, MOST_DIFF)
    if card.name == "Task" and card.state == "done":
        return _report(card, widest)
    most, last = (MOST_OWN, LAST_OWN) if card.name == OWN else (MOST_SHORT, 0)
    content = _first_lines(sanitize(card.shown).strip("\n").split("\n"), widest, most, last)
    if card.name == "Bash" and card.full:
        printed = sanitize(card.full[-4_000:]).rstrip("\n").split("\n")
        first = 0 if len(card.full) > 4_000 else 1
        tail = [truncate(line, widest) for line in printed[first:][-TAIL:] if line.strip()]
        content += [Content.styled(line, "dim") for line in tail]
    return Content("\n").join(content)


def _live(card: CallCard, most: int, width: int) -> str:
    """The last lines of what a command has printed so far, each on a row of its own."""
    last = card.live.rstrip("\n").rsplit("\n", most)[-most:]
    lines = [truncate(sanitize(line[:LONGEST_LIVE]), width) for line in last]
    if left := max(0, card.live_lines - len(lines)):
        lines = [f"… {counted(left, 'earlier line')}", *lines]
    return "\n".join(f"  │ {line}" for line in lines)


def format_progress(work: TaskProgress, width: int) -> str:
    """The progress of a sub-agent, on one line; what it does is shortened first."""
    of = f" of {work.most}" if work.most else ""
    counts = [f"step {work.step}{of}"] if work.step else ["begins"]
    taken = [f"{format_tokens(work.tokens)} tokens"] if work.tokens else []
    taken += [format_dollars(work.dollars)] if work.dollars else []
    room = width - len(BETWEEN.join([*counts, *taken])) - len(BETWEEN)
    doing = [truncate(work.doing, room)] if work.doing and room > 8 else []
    return BETWEEN.join([*counts, *doing, *taken])


def _report(card: CallCard, widest: int) -> Content:
    """The first lines of a sub-agent's report, without its last line, which is for the model, and what it used."""
    lines = [line for line in sanitize(card.full).strip().split("\n")[:-1] if line.strip()]
    used = Content.styled(truncate(one_line(card.shown), widest), "dim")
    return Content("\n").join([*_first_lines(lines, widest), used])


def _first_lines(lines: Sequence[str], widest: int, most: int = MOST_SHORT, last: int = 0) -> list[Content]:
    """At most so many lines: the first ones, and the `last` ones if that leaves some out."""
    first = most - last if len(lines) > most else most
    shown = [Content(truncate(line, widest)) for line in lines[:first]]
    if len(lines) > most:
        shown.append(Content.styled(f"… {counted(len(lines) - most, 'more line')}", "dim"))
        shown += [Content(truncate(line, widest)) for line in lines[len(lines) - last :]]
    return shown


def _opened(card: CallCard) -> Content:
    if is_diff(card.shown):
        return Content("\n").join([Content.styled(diff_totals(card.shown), "dim"), render_diff(card.shown)])
    text = card.full or card.shown
    lines = sanitize(text[:LONGEST]).rstrip("\n").split("\n")
    content = [Content(line) for line in lines[:MOST_FULL]]
    if len(lines) > MOST_FULL or len(text) > LONGEST:
        content.append(Content.styled(f"… of {len(text):,} characters; the rest is in the log", "dim"))
    return Content("\n").join(content)
