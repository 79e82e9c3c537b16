"""What the model reads of an output: all of it, or of a large one failures, beginning and end.

Rule: every excerpt says which lines it is, how many there are, and how to read the rest. The last lines come last,
where digests look for them.
"""

from collections.abc import Iterable

from holdfast.tools.shell.outputs import Line, Output, size_for_people
from holdfast.tools.shell.searching import FAILURES, HARMLESS, first_lines
from holdfast.tools.shell.showing import LONGEST_LINE, clean, clean_line

FAILURE_LINES, MOST_LOOKED_AT = 40, 80
HEAD_LINES, HEAD_BYTES = 60, 16_000
TAIL_LINES, TAIL_BYTES = 300, 48_000
STDERR_LINES = 200


def whole(output: Output) -> str:
    """All of an output as text, without its last end of line."""
    cleaned = clean(output.read())
    text = cleaned.text.removesuffix("\n")
    if cleaned.overwritten:
        text += (
            f"\n({cleaned.overwritten} pieces of lines were written over with a carriage return and are left out; "
            "`| tr '\\r' '\\n'` shows them)"
        )
    return text


async def excerpt(output: Output, name: str, *, head: int = HEAD_LINES, tail: int = TAIL_LINES) -> str:
    """A large output: counts, lines that tell of failures, the first lines and the last ones."""
    lines = output.lines
    counts = (
        f"(The output has {lines} lines, {size_for_people(output.size)}. Here are lines that tell of failures, the "
        f'first and the last ones; read more with BashOutput, `id` "{name}" and `lines`, `bytes` or `grep`.)'
    )
    parts = [counts, *await _failures(output)]
    last = _from_end(output, tail)
    first = [line for line in _some(output, 1, head, HEAD_BYTES) if not last or line.number < last[0].number]
    parts += [_heading(first, lines), *rows(first)] if first else []
    parts += [_heading(last, lines), *rows(last)] if last else []
    return "\n".join(parts)


async def _failures(output: Output) -> list[str]:
    found = await first_lines(output.path, FAILURES, MOST_LOOKED_AT)
    if not found:
        return []
    lines = [next(output.read_lines(number, LONGEST_LINE * 4)) for number in found.lines]
    told = [line for line in lines if not HARMLESS.search(clean(line.start).text)]
    if not told:
        return []
    is_all = len(told) <= FAILURE_LINES and found.total < MOST_LOOKED_AT and not found.cut
    shown = told[:FAILURE_LINES]
    of = f"{len(shown)}" if is_all else f"the first {len(shown)}"
    return [f"--- lines that tell of failures, {of}:", *rows(shown, numbered=True)]


def _heading(lines: list[Line], total: int) -> str:
    return f"--- lines {lines[0].number}-{lines[-1].number} of {total}:"


def _some(output: Output, first: int, count: int, most: int) -> list[Line]:
    """So many lines from one on, and not many more bytes than `most`."""
    taken: list[Line] = []
    for line in output.read_lines(first, LONGEST_LINE * 4):
        if len(taken) == count or (taken and most <= 0):
            break
        taken.append(line)
        most -= min(line.size, LONGEST_LINE) + 1
    return taken


def _from_end(output: Output, count: int) -> list[Line]:
    """The last lines, as many as have room."""
    lines = _some(output, max(1, output.lines - count + 1), count, 1 << 62)
    size, start = 0, len(lines)
    while start and (size < TAIL_BYTES or start == len(lines)):
        start -= 1
        size += min(lines[start].size, LONGEST_LINE) + 1
    return lines[start:]


def rows(lines: Iterable[Line], *, numbered: bool = False) -> list[str]:
    return [
        (f"{line.number}: " if numbered else "") + clean_line(line.start, line.size, LONGEST_LINE)
        for line in lines
    ]


def tail(output: Output, count: int) -> list[str]:
    """The last lines with their numbers."""
    return rows(_from_end(output, count), numbered=True)
