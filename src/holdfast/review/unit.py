"""A unit of review: the change to one function, or to one place outside functions; its risk, and how closely to
look at it.

Rule: everything here follows from the diff and the two versions of the file, so that the same change has the same
units, with the same ids, on every machine. A unit of high risk is never skipped, whatever rules or a model suggest;
when the rules are sure, their level can only be raised.
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
"""`security` is decided by path and by content; a tag that ends in `_only` says that nothing else changed."""

Level = Literal["skip", "diff", "function", "file_context", "full_file"]
"""How much a reviewer reads: nothing, the changed lines, the function, its surroundings in the file, the file."""
LEVELS: tuple[Level, ...] = ("skip", "diff", "function", "file_context", "full_file")

Risk = Literal["low", "medium", "high"]

SURE = 0.8
UNSURE = 0.3
HIGH_COMPLEXITY = 10
HIGH_COMPLEXITY_IF_NEW = 25
"""New code has all its branches at once, so it counts only when it is large."""
SOME_COMPLEXITY = 4
MANY_LINES = 80
MANY_USES = 20
SMALL_FILE = 120


class Span(Struct, frozen=True, gc=False):
    """Lines of one side, first and last, from 1; both 0 if there are none."""

    first: int
    last: int

    @property
    def length(self) -> int:
        return self.last - self.first + 1


class Symbol(Struct, frozen=True, gc=False):
    """What the unit is in: `Class.method`, and its lines on the new side (on the old side, if it was deleted)."""

    name: str
    kind: Literal["function", "method", "class", "module", "section"]
    span: Span


class Metrics(Struct, frozen=True, gc=False):
    """`complexity` is the number of branches added, less those removed; `fan_in` how many places in the project use
    the symbol's name, -1 if they were not counted."""

    added: int
    removed: int
    hunks: int
    complexity: int = 0
    fan_in: int = -1


class LevelSuggestion(Struct, frozen=True, gc=False):
    """The rules' level, how sure they are (0 to 1), and why, in a few words."""

    level: Level
    confidence: float
    reason: str


class LevelDecision(Struct, frozen=True, gc=False):
    """The level after the model had its say; `by` says whose level it is."""

    level: Level
    by: Literal["rule", "model", "larger"]
    reason: str = ""


class Unit(Struct, frozen=True, kw_only=True):
    """`id` is `u-` and twelve hexadecimal digits of a hash over path, kind of change and changed lines, not over
    line numbers: it stays when lines are added above. `old` and `new` go from the first to the last line of the
    hunks, unchanged lines included. `note` says what lines cannot show: moved from where, modes, a binary
    file."""

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
    def deletes_tests(self) -> bool:
        """A deleted test file, or a deleted test."""
        is_deleted_function = self.has("whole_function") and not self.metrics.added
        return self.has("tests") and (self.change == "deleted" or is_deleted_function)

    @property
    def is_complex(self) -> bool:
        is_new = self.change == "added" or self.has("whole_function")
        return self.metrics.complexity >= (HIGH_COMPLEXITY_IF_NEW if is_new else HIGH_COMPLEXITY)


def assess_risk(facts: UnitFacts) -> Risk:
    if facts.has("generated") and facts.has("dependencies"):
        return "medium"
    if facts.has("comments_only", "whitespace_only", "generated", "docs"):
        return "low"
    if facts.deletes_tests or facts.has("migration"):
        return "high"
    if facts.has("tests"):
        return "medium" if facts.lines >= MANY_LINES or facts.has("security") else "low"
    if facts.has("imports_only", "logging_only"):
        return "medium" if facts.has("security") else "low"
    if facts.has("security", "routing") or facts.is_complex:
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
    (lambda f: not f.lines, "diff", 0.9, "no changed lines"),
    (lambda f: f.has("whitespace_only"), "skip", 0.85, "only whitespace"),
    (lambda f: f.has("comments_only"), "diff", 0.85, "only comments"),
    (lambda f: f.has("imports_only"), "diff", 0.8, "only imports"),
    (lambda f: f.has("logging_only"), "diff", 0.8, "only logging"),
    (lambda f: f.has("docs"), "diff", 0.85, "documentation"),
    (
        lambda f: f.change == "added" and f.lines <= SMALL_FILE,
        "diff",
        0.9,
        "a new file, complete in the diff",
    ),
    (lambda f: f.deletes_tests, "diff", 0.85, "deleted tests"),
    (lambda f: f.has("migration"), "full_file", 0.85, "changes a schema"),
    (lambda f: f.has("security") and f.is_in_function, "file_context", 0.85, "relevant to security"),
    (lambda f: f.has("security"), "full_file", 0.8, "relevant to security, outside functions"),
    (lambda f: f.has("routing"), "file_context", 0.8, "changes the outside interface"),
    (lambda f: f.has("dependencies"), "full_file", 0.8, "changes dependencies"),
    (lambda f: f.change == "deleted", "diff", 0.8, "a deleted file"),
    (lambda f: f.has("config"), "file_context", 0.6, "settings"),
    (lambda f: f.metrics.complexity >= SOME_COMPLEXITY, "file_context", 0.6, "more branches than before"),
    (lambda f: f.metrics.fan_in >= MANY_USES, "file_context", 0.6, "used in many places"),
    (lambda f: f.has("whole_function"), "diff", 0.6, "a function, complete in the diff"),
    (lambda f: f.lines >= MANY_LINES, "file_context", 0.5, "many lines"),
    (lambda f: f.has("tests"), "function", 0.5, "tests"),
    (lambda f: f.is_in_function, "function", 0.5, "a change in a function"),
)


def suggest_level(facts: UnitFacts, risk: Risk) -> LevelSuggestion:
    """The level of the first rule that applies; if none does, `diff`, and unsure."""
    for applies, level, confidence, reason in _RULES:
        if applies(facts):
            return LevelSuggestion(
                "diff" if level == "skip" and risk == "high" else level, confidence, reason
            )
    return LevelSuggestion("diff", UNSURE, "nothing stands out")


def decide_level(suggestion: LevelSuggestion, asked: Level | None, risk: Risk) -> LevelDecision:
    """The level, given what a model asked for, if it asked for one."""
    decision = _combine(suggestion, asked)
    if decision.level == "skip" and risk == "high":
        return LevelDecision("diff", "rule", "high risk is never skipped")
    return decision


def _combine(suggestion: LevelSuggestion, asked: Level | None) -> LevelDecision:
    if asked is None:
        return LevelDecision(suggestion.level, "rule", suggestion.reason)
    if suggestion.confidence <= UNSURE:
        return LevelDecision(asked, "model", "the rules are not sure")
    larger = max(suggestion.level, asked, key=LEVELS.index)
    if larger != suggestion.level:
        return LevelDecision(larger, "larger", "the model asks for more")
    return LevelDecision(larger, "rule" if suggestion.confidence >= SURE else "larger", suggestion.reason)
