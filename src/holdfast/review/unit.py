"""A unit of review: what one function, or one place outside of functions, changed to, and how closely to look
at it.

Rule: everything here follows from the diff and the two versions of the file, so that the same change has
the same units, with the same ids, on every machine.
"""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from holdfast.review.diff import ChangeKind, Hunk

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


class LevelSuggestion(Struct, frozen=True, gc=False):
    """What the rules say: a level, how sure they are from 0 to 1, and why in a few words."""

    level: Level
    confidence: float
    reason: str


class LevelDecision(Struct, frozen=True, gc=False):
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
    change: ChangeKind
    old: Span
    new: Span
    symbol: Symbol | None
    hunks: tuple[Hunk, ...]
    tags: tuple[Tag, ...]
    metrics: Metrics
    suggestion: LevelSuggestion
    risk: Risk
    note: str = ""
    """What is not in lines: moved from where, which mode became which, a binary file."""


# How closely to look: what the rules suggest, how risky a unit is, and what is decided once a model was heard.
#
# Rule: a unit of high risk is never skipped, whatever the rules suggest and whatever a model wishes. Rules that are
# sure can only be raised.

SURE = 0.8
UNSURE = 0.3
MUCH_COMPLEXITY = 10
MUCH_IF_NEW = 25
"""What is new as a whole was not simple before; it only counts where it is large."""
SOME_COMPLEXITY = 4
MANY_LINES = 80
MANY_USES = 20
SMALL_FILE = 120


class UnitFacts(Struct, frozen=True):
    """What levels and risks follow from. `is_in_function` says that the unit lies in a function or method."""

    change: ChangeKind
    tags: frozenset[Tag]
    metrics: Metrics
    is_in_function: bool

    @property
    def lines(self) -> int:
        return self.metrics.added + self.metrics.removed

    def has(self, *tags: Tag) -> bool:
        return not self.tags.isdisjoint(tags)

    @property
    def loses_tests(self) -> bool:
        """A file of tests that is gone, or a test that is."""
        is_gone = self.has("whole_function") and not self.metrics.added
        return self.has("tests") and (self.change == "deleted" or is_gone)

    @property
    def is_tangled(self) -> bool:
        is_new = self.change == "added" or self.has("whole_function")
        return self.metrics.complexity >= (MUCH_IF_NEW if is_new else MUCH_COMPLEXITY)

    @property
    def says_nothing(self) -> bool:
        """Nothing that runs was changed, or nobody wrote it."""
        return self.has("comments_only", "whitespace_only", "generated", "docs")


def assess_risk(facts: UnitFacts) -> Risk:
    if facts.has("generated") and facts.has("dependencies"):
        return "medium"
    if facts.says_nothing:
        return "low"
    if facts.loses_tests or facts.has("migration"):
        return "high"
    if facts.has("tests"):
        return "medium" if facts.lines >= MANY_LINES or facts.has("security") else "low"
    if facts.has("imports_only", "logging_only"):
        return "medium" if facts.has("security") else "low"
    if facts.has("security", "routing") or facts.is_tangled:
        return "high"
    is_large = facts.lines >= MANY_LINES or facts.metrics.fan_in >= MANY_USES
    is_setting = facts.has("config", "dependencies", "mode", "submodule", "binary")
    return "medium" if is_large or is_setting or facts.metrics.complexity >= SOME_COMPLEXITY else "low"


_Rule = tuple[Callable[[UnitFacts], bool], Level, float, str]
_RULES: tuple[_Rule, ...] = (
    (lambda f: f.has("dependencies") and f.has("generated"), "diff", 0.85, "a lock file"),
    (lambda f: f.has("generated"), "skip", 0.9, "generated"),
    (lambda f: f.has("binary"), "diff", 0.9, "a binary file"),
    (lambda f: f.has("submodule"), "diff", 0.9, "a submodule"),
    (lambda f: f.has("moved") and not f.lines, "skip", 0.85, "moved without a change"),
    (lambda f: not f.lines, "diff", 0.9, "nothing in lines"),
    (lambda f: f.has("whitespace_only"), "skip", 0.85, "only space"),
    (lambda f: f.has("comments_only"), "diff", 0.85, "only comments"),
    (lambda f: f.has("imports_only"), "diff", 0.8, "only imports"),
    (lambda f: f.has("logging_only"), "diff", 0.8, "only logging"),
    (lambda f: f.has("docs"), "diff", 0.85, "text for people"),
    (lambda f: f.change == "added" and f.lines <= SMALL_FILE, "diff", 0.9, "a new file, whole in the diff"),
    (lambda f: f.loses_tests, "diff", 0.85, "tests that are gone"),
    (lambda f: f.has("migration"), "full_file", 0.85, "changes a schema"),
    (lambda f: f.has("security") and f.is_in_function, "file_context", 0.85, "bears on security"),
    (lambda f: f.has("security"), "full_file", 0.8, "bears on security, outside of a function"),
    (lambda f: f.has("routing"), "file_context", 0.8, "changes what can be called from outside"),
    (lambda f: f.has("dependencies"), "full_file", 0.8, "changes what the project depends on"),
    (lambda f: f.change == "deleted", "diff", 0.8, "a file that is gone"),
    (lambda f: f.has("config"), "file_context", 0.6, "settings"),
    (lambda f: f.metrics.complexity >= SOME_COMPLEXITY, "file_context", 0.6, "branches more than before"),
    (lambda f: f.metrics.fan_in >= MANY_USES, "file_context", 0.6, "used in many places"),
    (lambda f: f.has("whole_function"), "diff", 0.6, "a function, whole in the diff"),
    (lambda f: f.lines >= MANY_LINES, "file_context", 0.5, "many lines"),
    (lambda f: f.has("tests"), "function", 0.5, "tests"),
    (lambda f: f.is_in_function, "function", 0.5, "a change in a function"),
)


def suggest_level(facts: UnitFacts, risk: Risk) -> LevelSuggestion:
    """What the first rule that holds says; where none does, the diff, and hardly sure."""
    for holds, level, confidence, reason in _RULES:
        if holds(facts):
            return LevelSuggestion(
                "diff" if level == "skip" and risk == "high" else level, confidence, reason
            )
    return LevelSuggestion("diff", UNSURE, "nothing stands out")


def decide_level(suggestion: LevelSuggestion, wish: Level | None, risk: Risk) -> LevelDecision:
    """The level after a model was heard, or without one."""
    decision = _fused(suggestion, wish)
    if decision.level == "skip" and risk == "high":
        return LevelDecision("diff", "rule", "high risk is never skipped")
    return decision


def _fused(suggestion: LevelSuggestion, wish: Level | None) -> LevelDecision:
    if wish is None:
        return LevelDecision(suggestion.level, "rule", suggestion.reason)
    if suggestion.confidence <= UNSURE:
        return LevelDecision(wish, "model", "the rules are not sure")
    larger = max(suggestion.level, wish, key=LEVELS.index)
    if suggestion.confidence >= SURE and larger == suggestion.level:
        return LevelDecision(larger, "rule", suggestion.reason)
    return LevelDecision(
        larger, "larger", suggestion.reason if larger == suggestion.level else "the model asks for more"
    )
