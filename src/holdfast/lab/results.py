"""What a replay yields: scores of one recording, and the report over all of them.

Rule: plain values that JSON can hold; a report says by itself how it was made and what is missing from it.
"""

from operator import add

from msgspec import Struct, field
from msgspec.structs import astuple

BASELINE = "everything"
"""The policy that dollars are relative to."""
SEES_FUTURE = "sees the future"
"""What is said of a ceiling wherever it is listed."""
KINDS = ("line", "name", "state")
AGES = ("1", "2-5", "6-10", "11-20", "21-50", "51+")
"""Steps since a need was last seen."""
OLDER = AGES[2:]
"""Of needs that were last seen more than five steps before."""


class Share(Struct, frozen=True, gc=False):
    """How many of how many needs are held: for pictures by kind and by age."""

    held: int = 0
    of: int = 0

    def plus(self, held: int, of: int = 1) -> "Share":
        return Share(self.held + held, self.of + of)


class DollarParts(Struct, frozen=True, gc=False):
    """What dollars are paid for: tokens read from the cache, tokens written for the first time, tokens sent before
    that are written again, and model calls that the policy makes."""

    reads: float = 0.0
    first_writes: float = 0.0
    rewrites: float = 0.0
    summaries: float = 0.0

    def __add__(self, other: "DollarParts") -> "DollarParts":
        return DollarParts(*map(add, astuple(self), astuple(other)))


class NeedGroup(Struct, frozen=True, gc=False):
    """Needs that have the same origin and the same fate. `reason` says where they were lost, nothing if they were
    kept; `detail` says more about it."""

    agent: str
    """Whose recordings they are of."""
    tool: str
    """The tool whose result had the text last, or who said it."""
    kind: str
    age: str
    reason: str = ""
    detail: str = ""
    needs: int = 0
    hard: int = 0
    """How many of them are hard."""
    policy: str = ""
    budget: int = 0

    @property
    def older(self) -> int:
        """How many of them were last seen more than five steps before."""
        return self.needs if self.age in OLDER else 0


class PicturedRequest(Struct, frozen=True, gc=False):
    """One request in a picture. `index` is the reply's place in the recording; `hard` and `held` count needs."""

    index: int
    tokens: int
    cached: int
    layers: dict[str, int]
    """Tokens by layer, in the order sent; by role for policies that name no layers."""
    moved: int = 0
    """Tokens of the request before that were dropped or changed."""
    hard: int = 0
    held: int = 0
    fault: str = ""


class Score(Struct, gc=False):
    """One recording under one policy at one budget. Means are over actions that have such needs; None without."""

    recording: str
    project: str
    policy: str
    budget: int
    requests: int = 0
    needs: int = 0
    hard_needs: int = 0
    all_span: float | None = None
    hard_span: float | None = None
    hard_ref: float | None = None
    """Span or reference: what one more call would bring back. Never added to span."""
    hard_presence: float | None = None
    older_span: float | None = None
    """Span on the needs that were last seen more than five steps before, whatever the budget."""
    older_actions: int = 0
    """Actions that have such needs."""
    curve_span: float | None = None
    """Span on the needs that are hard at the smallest budget of the run: comparable across budgets."""
    kinds: dict[str, Share] = field(default_factory=dict)
    """Hard needs by kind."""
    ages: dict[str, Share] = field(default_factory=dict)
    """All needs by age."""
    probes: dict[str, Share] = field(default_factory=dict)
    tokens: int = 0
    uncached: dict[str, int] = field(default_factory=dict)
    """By price table, since caches live differently long."""
    dollars: dict[str, float] = field(default_factory=dict)
    """By price table, in units of one uncached input token."""
    parts: dict[str, DollarParts] = field(default_factory=dict)
    """The same dollars by what they were paid for."""
    ref_dollars: dict[str, float] = field(default_factory=dict)
    model_calls: int = 0
    moved_bytes: int = 0
    over_budget: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    """What the policy raised or returned wrongly, and how often."""
    violations: dict[str, int] = field(default_factory=dict)
    """Rules of structure broken, in how many requests."""
    seconds: list[float] = field(default_factory=list)
    """Time of each request, in order."""
    peak_bytes: int = 0
    fingerprint: str = ""
    """A hash of every pack: equal packs, equal fingerprints."""
    moments: list[PicturedRequest] = field(default_factory=list)
    groups: list[NeedGroup] = field(default_factory=list)
    """The needs by origin and fate, where that was asked for."""
    note: str = ""
    """Why there is little to score, such as a recording without actions."""


class Interval(Struct, frozen=True, gc=False, omit_defaults=True):
    """A mean with the bounds of its 95% bootstrap interval."""

    mean: float
    low: float
    high: float
    is_single: bool = False
    """Whether it comes from one recording: then all draws are the same, and the bounds say nothing."""


class ProjectFigures(Struct, frozen=True, gc=False):
    """A row's figures on one project alone, without intervals."""

    recordings: int
    hard_needs: int
    hard: float | None
    all: float | None
    dollars: dict[str, float]


class PolicyRow(Struct, frozen=True, gc=False):
    """One policy at one budget, over all recordings. Dollars are relative to *everything* on the same ones."""

    policy: str
    budget: int
    about: str
    projects: int
    recordings: int
    requests: int
    hard: Interval | None
    all: Interval | None
    ref: Interval | None
    presence: float | None
    curve: Interval | None
    kinds: dict[str, float]
    ages: dict[str, float]
    probes: dict[str, float]
    dollars: dict[str, Interval]
    """By price table."""
    ref_dollars: dict[str, float]
    """With every reference followed once."""
    tokens: int
    uncached: dict[str, int]
    model_calls: int
    moved_bytes: float
    """Per request."""
    over_budget: int
    failures: dict[str, int]
    violations: dict[str, int]
    p50_ms: float
    p95_ms: float
    worst_ms: float
    growth: float | None
    """Median time of the last quarter of requests over that of the first, in recordings of 100 requests or more."""
    peak_mb: float
    older: float | None = None
    """Recall of the needs last seen more than five steps before. Every action that has any counts the same, of
    whatever recording: so it can be compared across budgets, and with other scorers."""
    parts: dict[str, DollarParts] = field(default_factory=dict)
    """Dollars by what they were paid for, by price table; they add up to the means of `dollars`."""
    by_project: dict[str, ProjectFigures] = field(default_factory=dict)
    sees_future: bool = False
    """Whether it is no policy but a ceiling: it is told what later actions use."""
    checks: dict[str, str] = field(default_factory=dict)
    """Determinism and suffix scramble: `ok`, or what differed."""


class PolicyComparison(Struct, frozen=True, gc=False):
    """A policy against the reference at the same budget, paired by recording."""

    policy: str
    reference: str
    budget: int
    hard: Interval | None
    dollars: Interval | None


class DollarsAtRecall(Struct, frozen=True, gc=False):
    """Dollars that a policy needs to reach a hard recall, read off its curve; None where it never does."""

    policy: str
    recall: float
    dollars: float | None


class Sensitivity(Struct, frozen=True, gc=False):
    """How alike the policies rank, by hard recall, when the definition of a need is varied: Kendall's tau."""

    variation: str
    budget: int
    tau: float | None
    order: list[str]
    """Best first."""


class Picture(Struct, frozen=True, gc=False):
    """One recording, step by step, under one policy."""

    recording: str
    policy: str
    budget: int
    moments: list[PicturedRequest]


class ReplayReport(Struct, frozen=True, gc=False):
    version: str
    measure: dict[str, float]
    """The numbers in the definition of a need, as used."""
    common_names: str
    """Which calibration, made from how many projects."""
    prices: str
    """The price table that ranks; rows hold all tables."""
    price_tables: dict[str, dict[str, float]]
    budgets: list[int]
    draws: int
    files: list[str]
    recordings: int
    """Those left out as too short do not count."""
    projects: dict[str, int]
    """Recordings by project."""
    needs: int
    hard_needs: dict[int, int]
    """By budget."""
    rows: list[PolicyRow]
    comparisons: list[PolicyComparison] = []
    at_recall: list[DollarsAtRecall] = []
    pictures: list[Picture] = []
    groups: list[NeedGroup] = []
    """With `--why`: the needs of each row, by origin and fate."""
    sensitivity: list[Sensitivity] = []
    at_least: int = 0
    """Tokens of messages from which on a recording was taken; 0 if all were."""
    notes: list[str] = []
    partial: str = ""
    """Why the run ended early, and after how many recordings; empty for a whole run."""
    seconds: float = 0.0
