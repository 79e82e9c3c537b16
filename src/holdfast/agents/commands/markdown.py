"""The Markdown of command answers.

Rule: text from files, tools and models stays text: it cannot close a table, a fence or inline code, nor control the
terminal.
"""

import re
from collections.abc import Iterable, Sequence

_OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Characters that a terminal would obey instead of showing, except tabs and line ends."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """A table, empty without rows. The columns with the numbers in `right`, counted from 0, are right-aligned."""
    lines = [f"| {' | '.join(map(cell, row))} |" for row in rows]
    if not lines:
        return ""
    marks = ["---:" if at in {*right} else "---" for at in range(len(head))]
    return "\n".join([f"| {' | '.join(head)} |", f"| {' | '.join(marks)} |", *lines])


def cell(text: str) -> str:
    return " ".join(strip_controls(text).split()).replace("\\", "\\\\").replace("|", "\\|")


def code(text: str) -> str:
    """A short text as inline code, on one line."""
    one = " ".join(strip_controls(text).split())
    if not one:
        return ""
    ticks = "`" * (max((len(run) for run in re.findall("`+", one)), default=0) + 1)
    room = " " if one.startswith("`") or one.endswith("`") else ""
    return f"{ticks}{room}{one}{room}{ticks}"


def fenced(text: str, language: str = "") -> str:
    """A text as a code block."""
    shown = strip_controls(text).removesuffix("\n")
    longest = max((len(run) for run in re.findall("`{3,}", shown)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


def strip_controls(text: str) -> str:
    return _OBEYED.sub("", text.replace("\r\n", "\n"))


def joined(*parts: str) -> str:
    """The non-empty paragraphs."""
    return "\n\n".join(part for part in parts if part)


def bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def percentage(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f}%" if whole else "–"


def dollars(amount: float) -> str:
    """With cents, or with more digits below ten cents."""
    return f"${amount:.2f}" if amount >= 0.1 or not amount else f"${amount:.4f}"
