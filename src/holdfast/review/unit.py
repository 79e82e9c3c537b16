"""A unit of review: the change to one function, or to one place outside functions; its risk, and how closely to
look at it.

Rule: everything here follows from the diff and the two versions of the file, so that the same change has the same
units, with the same ids, on every machine. A unit of high risk is never skipped, whatever rules or a model suggest;
when the rules are sure, their level can only be raised.
"""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

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

ReviewLevel = Literal["skip", "diff", "function", "file_context", "full_file"]
"""How much a reviewer reads: nothing, the changed lines, the function, its surroundings in the file, the file."""
LEVELS: tuple[ReviewLevel, ...] = ("skip", "diff", "function", "file_context", "full_file")

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

    level: ReviewLevel
    confidence: float
    reason: str


class LevelDecision(Struct, frozen=True, gc=False):
    """The level after the model had its say; `by` says whose level it is."""

    level: ReviewLevel
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
    suggestion: LevelSuggestion = LevelSuggestion("diff", UNSURE, "nothing stands out")
    risk: Risk = "low"
    note: str = ""

    @property
    def lines(self) -> int:
        """How many lines changed."""
        return self.metrics.added + self.metrics.removed

    def has(self, *tags: Tag) -> bool:
        return any(tag in self.tags for tag in tags)

    @property
    def is_in_function(self) -> bool:
        return self.symbol is not None and self.symbol.kind in ("function", "method", "section")

    @property
    def deletes_tests(self) -> bool:
        """A deleted test file, or a deleted test."""
        is_deleted_function = self.has("whole_function") and not self.metrics.added
        return self.has("tests") and (self.change == "deleted" or is_deleted_function)

    @property
    def is_complex(self) -> bool:
        is_new = self.change == "added" or self.has("whole_function")
        return self.metrics.complexity >= (HIGH_COMPLEXITY_IF_NEW if is_new else HIGH_COMPLEXITY)


def assess_risk(unit: Unit) -> Risk:
    if unit.has("comments_only", "whitespace_only", "generated", "docs"):
        return "low"
    if unit.deletes_tests or unit.has("migration"):
        return "high"
    if unit.has("tests"):
        return "medium" if unit.lines >= MANY_LINES or unit.has("security") else "low"
    if unit.has("imports_only", "logging_only"):
        return "medium" if unit.has("security") else "low"
    if unit.has("security", "routing") or unit.is_complex:
        return "high"
    is_large = unit.lines >= MANY_LINES or unit.metrics.fan_in >= MANY_USES
    is_setting = unit.has("config", "dependencies", "mode", "submodule", "binary")
    return "medium" if is_large or is_setting or unit.metrics.complexity >= SOME_COMPLEXITY else "low"


_Rule = tuple[Callable[[Unit], bool], ReviewLevel, float, str]
_RULES: tuple[_Rule, ...] = (
    (lambda u: u.has("dependencies") and u.has("generated"), "diff", 0.85, "a lock file"),
    (lambda u: u.has("generated"), "skip", 0.9, "generated"),
    (lambda u: u.has("binary"), "diff", 0.9, "a binary file"),
    (lambda u: u.has("submodule"), "diff", 0.9, "a submodule"),
    (lambda u: u.has("moved") and not u.lines, "skip", 0.85, "moved without a change"),
    (lambda u: not u.lines, "diff", 0.9, "no changed lines"),
    (lambda u: u.has("whitespace_only"), "skip", 0.85, "only whitespace"),
    (lambda u: u.has("comments_only"), "diff", 0.85, "only comments"),
    (lambda u: u.has("imports_only"), "diff", 0.8, "only imports"),
    (lambda u: u.has("logging_only"), "diff", 0.8, "only logging"),
    (lambda u: u.has("docs"), "diff", 0.85, "documentation"),
    (
        lambda u: u.change == "added" and u.lines <= SMALL_FILE,
        "diff",
        0.9,
        "a new file, complete in the diff",
    ),
    (lambda u: u.deletes_tests, "diff", 0.85, "deleted tests"),
    (lambda u: u.has("migration"), "full_file", 0.85, "changes a schema"),
    (lambda u: u.has("security") and u.is_in_function, "file_context", 0.85, "relevant to security"),
    (lambda u: u.has("security"), "full_file", 0.8, "relevant to security, outside functions"),
    (lambda u: u.has("routing"), "file_context", 0.8, "changes the outside interface"),
    (lambda u: u.has("dependencies"), "full_file", 0.8, "changes dependencies"),
    (lambda u: u.change == "deleted", "diff", 0.8, "a deleted file"),
    (lambda u: u.has("config"), "file_context", 0.6, "settings"),
    (lambda u: u.metrics.complexity >= SOME_COMPLEXITY, "file_context", 0.6, "more branches than before"),
    (lambda u: u.metrics.fan_in >= MANY_USES, "file_context", 0.6, "used in many places"),
    (lambda u: u.has("whole_function"), "diff", 0.6, "a function, complete in the diff"),
    (lambda u: u.lines >= MANY_LINES, "file_context", 0.5, "many lines"),
    (lambda u: u.has("tests"), "function", 0.5, "tests"),
    (lambda u: u.is_in_function, "function", 0.5, "a change in a function"),
)


def rate_unit(unit: Unit) -> Unit:
    """The unit with its risk, and the level of the first rule that applies."""
    risk = assess_risk(unit)
    for applies, level, confidence, reason in _RULES:
        if applies(unit):
            safe: ReviewLevel = "diff" if level == "skip" and risk == "high" else level
            return replace(unit, risk=risk, suggestion=LevelSuggestion(safe, confidence, reason))
    return replace(unit, risk=risk)


def decide_level(suggestion: LevelSuggestion, asked: ReviewLevel | None, risk: Risk) -> LevelDecision:
    """The level, given what a model asked for, if it asked for one."""
    level, reason = suggestion.level, suggestion.reason
    if asked is None:
        decision = LevelDecision(level, "rule", reason)
    elif suggestion.confidence <= UNSURE:
        decision = LevelDecision(asked, "model", "the rules are not sure")
    elif LEVELS.index(asked) > LEVELS.index(level):
        decision = LevelDecision(asked, "larger", "the model asks for more")
    else:
        decision = LevelDecision(level, "rule" if suggestion.confidence >= SURE else "larger", reason)
    if decision.level == "skip" and risk == "high":
        return LevelDecision("diff", "rule", "high risk is never skipped")
    return decision
