"""What the lines of a text are worth before anything is known of what comes of it.

Rule: by the text and its call alone, so that a text is judged the same whenever it is looked at.
"""

import re
from collections.abc import Sequence
from math import exp
from string import digits

from holdfast.packing.lines.facts import is_crowd, looks_of, looks_of_name
from holdfast.packing.lines.features import fixed_line, fixed_name
from holdfast.packing.lines.sightings import SHORTEST_NAME
from holdfast.packing.lines.weights import Vectors, dot
from holdfast.packing.lines.worth import SHORTEST_QUOTE, WEAK_SHARE
from holdfast.packing.structure import Structure
from holdfast.tool_use import ToolUse

SAID_ABOVE = 0.3
"""What is left of a name's worth in the lines after the first that holds it."""

FIRST_ROWS, LAST_ROWS = 2, 3
"""Rows that say what a text is, and how it ended."""

RARE = 0.02
"""The share of a search's matches up to which a word of trouble in them stands out; where it is searched for, or is
how the code is written, it does not."""
_TROUBLE = re.compile(
    r"(?<!\b0 )\b(?:FAIL|FAILED|FAILURE|FATAL|PANIC|ERROR)\b(?!\s*[:=]\s*0\b)|(?:Error|Exception)(?::| in | at |$)"
    r"|\b(?:[Ee]rror|[Ff]atal|[Pp]anic|[Ff]ailed|[Ff]ailure)(?:\[\w{1,9}\])?[:!]|Traceback \(most|[✗✕✘✖]"
    r"|\bnot ok\b|[Cc]ommand not found|No such file|[Pp]ermission denied|Segmentation fault"
)
_SIGNS = (
    *(
        "FAIL",
        "FATAL",
        "PANIC",
        "ERR",
        "rror",
        "Exception",
        "atal",
        "anic",
        "ailed",
        "ailure",
        "Traceback",
        "not ok",
    ),
    *("not found", "No such", "denied", "fault", "✗", "✕", "✘", "✖"),
)
"""One of these is in every word of trouble: most texts, and most lines of the others, have none."""
_WITHOUT_DIGITS = str.maketrans("", "", digits)
LOOKED_AT = 400
"""Characters of a line in which trouble is looked for."""


def worth_alone(lines: Sequence[str], use: ToolUse, structure: Structure, weights: Vectors) -> list[float]:
    """For each line of a result."""
    names: dict[str, float] = {}

    def name_worth(name: str) -> float:
        if len(name) < SHORTEST_NAME:
            return 0.0
        if name in names:
            return names[name] * SAID_ABOVE
        names[name] = exp(dot(weights.fixed_name, fixed_name(looks_of_name(name), own=False)))
        return names[name]

    def line_worth(row: int, line: str) -> float:
        looks = looks_of(line)
        fixed = fixed_line(looks, line, "result", use.kind, row, len(lines), structure.bonus[row])
        quote = exp(dot(weights.fixed_line, fixed)) if len(looks.key) >= SHORTEST_QUOTE else 0.0
        named = sum(map(name_worth, looks.names))
        is_weak = looks.is_lone or is_crowd(line, looks.names)
        return quote + (named * WEAK_SHARE if is_weak else named)

    return [line_worth(row, line) for row, line in enumerate(lines)]


def ends(lines: Sequence[str], use: ToolUse, structure: Structure) -> list[int]:
    """The first and the last rows, the outermost first, of a text that has a beginning and an end: what a search
    found just stops, code begins with what it imports, and JSON with a bracket."""
    if use.kind in ("grep", "glob", "ls") or structure.kind in ("code", "json"):
        return []
    filled = [row for row, line in enumerate(lines) if line.strip()]
    return [*dict.fromkeys((*filled[-1:], *filled[:FIRST_ROWS], *reversed(filled[-LAST_ROWS:])))]


def troubles(lines: Sequence[str], structure: Structure) -> list[int]:
    """The rows that say that something failed, of those that say the same but for a number the first. Weights that
    were learned know what is used again; that a run failed is seldom quoted, and still what a reader must know."""
    if structure.kind == "code":
        return []
    text = "\n".join(lines)
    signs = [sign for sign in _SIGNS if sign in text]
    found: dict[str, int] = {}
    for row, line in enumerate(lines) if signs else ():
        head = line[:LOOKED_AT]
        if any(sign in head for sign in signs) and _TROUBLE.search(head):
            found.setdefault(head.translate(_WITHOUT_DIGITS), row)
    is_usual = structure.kind == "matches" and len(found) > max(len(lines) * RARE, 1)
    return [] if is_usual else [*found.values()]
