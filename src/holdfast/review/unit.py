"""A unit of review: what one function, or one place outside of functions, changed to, and how closely to look
at it.

Rule: everything here follows from the diff and the two versions of the file, so that the same change has
the same units, with the same ids, on every machine.
"""

from typing import Literal

from msgspec import Struct

from holdfast.review.diff import Change, Hunk

Tag = Literal[
    "security",
    "config",
    "routing",
    "migration",
    "tests",
    "docs",
    "dependencies",
    "imports_only",
    "comments_only",
    "logging_only",
    "whitespace_only",
    "whole_function",
    "generated",
    "binary",
    "mode",
    "moved",
    "submodule",
]
"""`security` is given by path and by content; those that end in `_only` say that the change is nothing else."""

Level = Literal["skip", "diff", "function", "file_context", "full_file"]
"""How much a reviewer reads: nothing, the lines that changed, the function, its surroundings in the file, all
of it."""
LEVELS: tuple[Level, ...] = ("skip", "diff", "function", "file_context", "full_file")

Risk = Literal["low", "medium", "high"]


class Span(Struct, frozen=True, gc=False):
    """Lines of one side, first and last, from 1; both 0 where there are none."""

    first: int
    last: int


class Symbol(Struct, frozen=True, gc=False):
    """What the unit lies in: `Class.method`, and which lines of the newer side it takes (of the older, where
    it was deleted)."""

    name: str
    kind: Literal["function", "method", "class", "module", "section"]
    span: Span


class Metrics(Struct, frozen=True, gc=False):
    """`complexity` is how many branches the unit's lines bring, less those they take away; `fan_in` how many
    places in the project use the symbol's name, -1 where that was not counted."""

    added: int
    removed: int
    hunks: int
    complexity: int = 0
    fan_in: int = -1


class Suggestion(Struct, frozen=True, gc=False):
    """What the rules say: a level, how sure they are from 0 to 1, and why in a few words."""

    level: Level
    confidence: float
    reason: str


class Decision(Struct, frozen=True, gc=False):
    """The level after the model was heard; `by` says whose word it is."""

    level: Level
    by: Literal["rule", "model", "larger"]
    reason: str = ""


class Unit(Struct, frozen=True, kw_only=True):
    """`id` is `u-` and twelve hexadecimal digits of a hash over path, change and changed lines, not over where
    they stand: it stays when lines above are added. `old` and `new` go from the first to the last line of the
    hunks, lines that stayed included."""

    id: str
    path: str
    old_path: str
    language: str
    change: Change
    old: Span
    new: Span
    symbol: Symbol | None
    hunks: tuple[Hunk, ...]
    tags: tuple[Tag, ...]
    metrics: Metrics
    suggestion: Suggestion
    risk: Risk
    note: str = ""
    """What is not in lines: moved from where, which mode became which, a binary file."""
