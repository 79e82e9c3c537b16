"""Which lines differ between two texts, how that is shown, and where lines went.

Rule: the time is bounded. Texts that differ in too many lines count as one changed block, which is also true. A
range is a first and a last line, counted from 1; when in doubt, a line counts as not shown.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from holdfast.line_ranges import LineRange, merge_ranges
from holdfast.tools.files.text_encoding import escape_bytes

MOST_EDITS = 500
"""Added or removed lines up to which the shortest difference is searched for: the time grows with the square."""

WIDEST = 400
"""Characters of a line that a diff shows."""


class LineChange(Struct, frozen=True):
    """Lines `first:last` of the old text became lines `new_first:new_last` of the new one, counted from 0."""

    first: int
    last: int
    new_first: int
    new_last: int

    def moved(self, old: int, new: int) -> "LineChange":
        return LineChange(self.first + old, self.last + old, self.new_first + new, self.new_last + new)


def line_changes(old: Sequence[str], new: Sequence[str], most: int = MOST_EDITS) -> list[LineChange]:
    """The differences between two lists of lines, in order; what lies between them is equal."""
    shorter = min(len(old), len(new))
    head = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    left = shorter - head
    tail = next((i for i in range(left) if old[-1 - i] != new[-1 - i]), left)
    inner_old, inner_new = old[head : len(old) - tail], new[head : len(new) - tail]
    if not inner_old and not inner_new:
        return []
    found = None
    if abs(len(inner_old) - len(inner_new)) <= most and not set(inner_old).isdisjoint(inner_new):
        found = _shortest(inner_old, inner_new, most)
    if found is None:
        found = [LineChange(0, len(inner_old), 0, len(inner_new))]
    return [change.moved(head, head) for change in join_changes(found)]


def _shortest(old: Sequence[str], new: Sequence[str], most: int) -> list[LineChange] | None:
    """The single edits that lead from one text to the other on the shortest path (Myers' greedy algorithm), or None
    if it is too long."""
    furthest = {1: 0}
    rounds: list[dict[int, int]] = []
    for edits in range(min(most, len(old) + len(new)) + 1):
        rounds.append(dict(furthest))
        for k in range(-edits, edits + 1, 2):
            down = k == -edits or (k != edits and furthest[k - 1] < furthest[k + 1])
            x = furthest[k + 1] if down else furthest[k - 1] + 1
            y = x - k
            while x < len(old) and y < len(new) and old[x] == new[y]:
                x, y = x + 1, y + 1
            furthest[k] = x
            if x >= len(old) and y >= len(new):
                return _traced(rounds, len(old), len(new))
        furthest = {k: furthest[k] for k in range(-edits, edits + 1, 2)}
    return None


def _traced(rounds: list[dict[int, int]], x: int, y: int) -> list[LineChange]:
    """Back from the end: each single edit, first to last."""
    edits: list[LineChange] = []
    for number in range(len(rounds) - 1, 0, -1):
        furthest, k = rounds[number], x - y
        down = k == -number or (k != number and furthest[k - 1] < furthest[k + 1])
        before = k + 1 if down else k - 1
        x = furthest[before]
        y = x - before
        edits.append(LineChange(x, x + (not down), y, y + down))
    return edits[::-1]


def join_changes(changes: Iterable[LineChange]) -> list[LineChange]:
    """Changes without a common line between them are one."""
    out: list[LineChange] = []
    for change in changes:
        if out and (out[-1].last, out[-1].new_last) == (change.first, change.new_first):
            last = out.pop()
            out.append(LineChange(last.first, change.last, last.new_first, change.new_last))
        else:
            out.append(change)
    return out


def new_lines(changes: Iterable[LineChange]) -> list[tuple[int, int]]:
    """The new lines, counted from 1; for lines that were only removed, the one before them."""
    return [
        (c.new_first + 1, c.new_last) if c.new_last > c.new_first else (max(c.new_first, 1),) * 2
        for c in changes
    ]


def unified_diff(
    old: Sequence[str], new: Sequence[str], changes: Iterable[LineChange], context: int = 3
) -> list[str]:
    """The hunks of a unified diff."""
    rows: list[str] = []
    for group in _grouped(changes, context):
        first, last = max(group[0].first - context, 0), min(group[-1].last + context, len(old))
        new_first = group[0].new_first - (group[0].first - first)
        new_last = group[-1].new_last + (last - group[-1].last)
        rows.append(f"@@ -{_span(first, last)} +{_span(new_first, new_last)} @@")
        here = first
        for change in group:
            rows += _rows(" ", old[here : change.first])
            rows += _rows("-", old[change.first : change.last])
            rows += _rows("+", new[change.new_first : change.new_last])
            here = change.last
        rows += _rows(" ", old[here:last])
    return rows


def _grouped(changes: Iterable[LineChange], context: int) -> list[list[LineChange]]:
    groups: list[list[LineChange]] = []
    for change in changes:
        if groups and change.first - groups[-1][-1].last <= 2 * context:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _span(first: int, last: int) -> str:
    """Lines as the head of a hunk counts them: an empty span is named by the line before it."""
    if last - first == 1:
        return str(last)
    return f"{first + 1 if last > first else first},{last - first}"


def _rows(sign: str, lines: Iterable[str]) -> list[str]:
    rows: list[str] = []
    for line in lines:
        text = escape_bytes(line.removesuffix("\n"))[0]
        rows.append(sign + (text if len(text) <= WIDEST else f"{text[:WIDEST]}… [{len(text)} characters]"))
        if not line.endswith("\n"):
            rows.append("\\ No newline at end of file")
    return rows


def first_rows(rows: list[str], most: int) -> list[str]:
    """The beginning of a diff, and how many rows are left out; headings of its parts do not count."""
    changed = [at for at, row in enumerate(rows) if not row.startswith("@@")]
    if len(changed) <= most:
        return rows
    return [*rows[: changed[most - 1] + 1], f"({len(changed) - most} more rows of the diff)"]


MOST_SAID = 8
"""Ranges that are named; the others are counted."""


def shift_ranges(
    spans: Iterable[LineRange], changes: Sequence[LineChange], total: int
) -> tuple[LineRange, ...]:
    """The ranges after the agent's own changes: what was shown moves, and what was written is known."""
    known, kept = merge_ranges(spans), []
    here = new_here = 0
    for change in [*changes, LineChange(total, total, total, total)]:
        stays = here + 1, here + change.new_first - new_here
        move = new_here - here
        for first, last in known:
            kept.append((max(first, stays[0]) + move, min(last, stays[1]) + move))
        kept.append((change.new_first + 1, change.new_last))
        here, new_here = change.last, change.new_last
    return merge_ranges(kept)


def describe_ranges(spans: Sequence[LineRange]) -> str:
    """`line 3` or `lines 3-5, 9`."""
    shown = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans[:MOST_SAID])
    more = f" and {len(spans) - MOST_SAID} more" if len(spans) > MOST_SAID else ""
    one = len(spans) == 1 and spans[0][0] == spans[0][1]
    return f"{'line' if one else 'lines'} {shown}{more}"
