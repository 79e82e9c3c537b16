"""What a line is worth: how likely a later action needs it, as far as its own looks tell.

Rule: a figure from readable features, written by hand; nothing here knows what comes later, and the same line in
the same place is worth the same everywhere.
"""

import re
from typing import Literal

from msgspec import Struct

Origin = Literal["call", "result", "argument", "said"]
"""Where a line stands: what a call was, what it returned, what was written with it, what the agent said."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./@~+\-]{4,}")
_SHAPE = re.compile(r"[0-9_./\-]|(?<=[A-Za-z])[A-Z]")
_TROUBLE = re.compile(
    r"(?i)\b(?:error|errors|fail|failed|failure|fatal|panic|exception|traceback|undefined|cannot|denied|not found"
    r"|expected|unexpected|warning)\b"
)
_DEFINITION = re.compile(
    r"\s*(?:\d+[→:\t|]\s*)?(?:[+\-]\s*)?"
    r"(?:export |default |public |private |protected |async |static |pub |abstract )*"
    r"(?:func|def|class|type|interface|struct|fn|impl|const|enum|trait|function|import|from|package)\b"
)
_NUMBERED = re.compile(r"\s*(?:[^\s:]*[^\s:\d][^\s:]*:)?\d+\s?[→:|\t\-]|[+\- ]\s?(?=\S)")
_EDGES = "./@~+-"

BASE = 0.15
ORIGINS: dict[Origin, float] = {"call": 1.0, "result": 0.0, "argument": 0.0, "said": -0.05}
TROUBLE, DEFINITION, NAME, RARE, GOAL = 0.3, 0.35, 0.25, 0.1, 0.25
MOST_NAMES = 3
OLDEST = 0.15
"""What age leaves of a line's worth at the far end of the log."""
LENGTH_POWER = 0.6
FIXED_TOKENS = 4


class Facts(Struct, frozen=True, gc=False):
    """What a line shows of itself. `key` is the line as it is known without a listing's numbers."""

    key: str
    names: frozenset[str]
    is_trouble: bool
    is_definition: bool


def facts_of(line: str) -> Facts:
    return Facts(
        line_key(line),
        names_in(line),
        _TROUBLE.search(line) is not None,
        _DEFINITION.match(line) is not None,
    )


def line_key(line: str) -> str:
    numbered = _NUMBERED.match(line)
    return (line[numbered.end() :] if numbered else line).strip()


def names_in(text: str) -> frozenset[str]:
    """Paths, identifiers, ids and numbers: what has a shape that prose has not."""
    tokens = (token.rstrip(_EDGES) for token in _NAME.findall(text))
    return frozenset(token for token in tokens if 5 <= len(token) <= 200 and _SHAPE.search(token))


def worth(
    facts: Facts, origin: Origin, age: float, tokens: int, goal: frozenset[str], rarity: float
) -> float:
    """Worth per token of a line. `age` is 0 for the newest and 1 for the oldest; `goal` are names that the user
    or the todo list mention; `rarity` sums up how seldom the line's names are."""
    value = BASE + ORIGINS[origin] + NAME * min(len(facts.names), MOST_NAMES) + RARE * min(rarity, 2.0)
    if facts.is_trouble:
        value += TROUBLE
    if facts.is_definition:
        value += DEFINITION
    if not goal.isdisjoint(facts.names):
        value += GOAL
    density: float = (tokens + FIXED_TOKENS) ** LENGTH_POWER
    return value * (1 + OLDEST - age) / density


EDGE_LINES = 12
HEAD, TAIL = 0.3, 0.4
"""What the first and the last lines of a text are worth beside their looks: how it begins, and how it ended."""


def worth_at_once(facts: Facts, number: int, count: int, tokens: int) -> float:
    """Worth per token of a line in a text of `count` lines that is to be shortened before it is ever shown."""
    edge = HEAD if number < EDGE_LINES else TAIL if number >= count - EDGE_LINES else 0.0
    value = BASE + edge + NAME * min(len(facts.names), MOST_NAMES)
    if facts.is_trouble:
        value += TROUBLE
    if facts.is_definition:
        value += DEFINITION
    density: float = (tokens + FIXED_TOKENS) ** LENGTH_POWER
    return value / density
