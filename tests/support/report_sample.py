"""A report as a replay of some forty recordings would yield it, without the replay."""

from collections.abc import Iterator
from itertools import pairwise

from holdfast.lab.results import (
    AGES,
    KINDS,
    DollarParts,
    DollarsAtRecall,
    Interval,
    Picture,
    PicturedRequest,
    PolicyComparison,
    PolicyRow,
    ReplayReport,
)

TABLES = {
    "read 0.1, write 1.25": {"read": 0.1, "write": 1.25, "output": 5.0, "minimum": 1024, "life": 300},
    "read 0.05, write 1.25": {"read": 0.05, "write": 1.25, "output": 5.0, "minimum": 1024, "life": 300},
    "read 0.1, write 1.0": {"read": 0.1, "write": 1.0, "output": 8.0, "minimum": 1024, "life": 600},
}
PRICES = "read 0.1, write 1.25"
BUDGETS = (16_000, 32_000, 64_000)
HOSTILE = "<script>alert('x')</script>"
REFERENCE = "newest"

# Invented: hard recall and dollars at 16k, 32k and 64k.
CURVES: dict[str, tuple[tuple[float, float], ...]] = {
    "everything": ((1.0, 1.0), (1.0, 1.0), (1.0, 1.0)),
    "newest": ((0.45, 0.95), (0.62, 1.60), (0.79, 1.85)),
    "mask-10": ((0.43, 1.10), (0.58, 1.52), (0.66, 1.45)),
    "clear-in-batches": ((0.52, 0.85), (0.65, 1.15), (0.80, 1.10)),
    "cap-at-first-sight": ((0.41, 0.33), (0.57, 0.55), (0.71, 0.79)),
    "coding": ((0.64, 0.30), (0.76, 0.45), (0.86, 0.64)),
    "chat": ((0.55, 0.28), (0.69, 0.42), (0.80, 0.58)),
    "summary-of-older-rounds": ((0.50, 0.38), (0.61, 0.49), (0.74, 0.66)),
    "clear-old-results-by-size": ((0.22, 0.56), (0.49, 0.60), (0.67, 0.75)),
    "trim-from-the-first-one": ((0.47, 1.30), (0.66, 2.00), (0.76, 2.10)),
    "compress": ((0.10, 0.90), (0.24, 0.91), (0.38, 0.92)),
    "tiers-of-clearing": ((0.46, 0.51), (0.63, 0.46), (0.73, 0.61)),
    "collapse-groups": ((0.27, 0.40), (0.37, 0.53), (0.48, 0.66)),
    "window-of-some": ((0.36, 0.31), (0.50, 0.37), (0.60, 0.50)),
    "shorten-long": ((0.44, 0.22), (0.59, 0.28), (0.72, 0.43)),
    "rare-tokens": ((0.05, 0.24), (0.06, 0.33), (0.07, 0.44)),
    HOSTILE: ((0.33, 0.7), (0.4, 0.8), (0.45, 0.9)),
}
FAULTY = {"clear-old-results-by-size", "compress", "trim-from-the-first-one", "collapse-groups"}
LAYERED = {"coding", "chat"}


def sample_report(requests: int = 160, *, partial: str = "") -> ReplayReport:
    rows = [_row(name, at) for at in range(len(BUDGETS)) for name in CURVES]
    return ReplayReport(
        version="0.2.0",
        measure={"least line": 16, "least name": 6, "hard after steps": 5, "overlap": 0.5},
        common_names="made from 112 projects, names in more than 3 of them",
        prices=PRICES,
        price_tables=TABLES,
        budgets=list(BUDGETS),
        draws=2000,
        files=["recordings/one.jsonl.gz", "recordings/two & three.jsonl", "http://example.com/a.jsonl"],
        recordings=41,
        projects={"left-pad": 12, "pars<er>": 20, "web-shop": 9},
        needs=18_233,
        hard_needs={16_000: 6_120, 32_000: 4_011, 64_000: 2_208},
        rows=rows,
        comparisons=[_comparison(row) for row in rows if row.policy not in ("everything", REFERENCE)],
        at_recall=[
            DollarsAtRecall(n, level, _cost(n, level)) for n in CURVES for level in (0.5, 0.6, 0.7, 0.8)
        ],
        pictures=[_picture(name, budget, requests) for name in CURVES for budget in BUDGETS],
        notes=["2 recordings have no actions and are left out of the means"],
        partial=partial,
        seconds=211.4,
    )


def _around(value: float, by: float = 0.04) -> Interval:
    return Interval(value, max(value - by, 0.0), value + by * 0.9 if value < 1 else value)


def _row(name: str, at: int) -> PolicyRow:
    hard, cost = CURVES[name][at]
    size, faulty = len(name), name in FAULTY
    return PolicyRow(
        policy=name,
        budget=BUDGETS[at],
        about=f"{name} 1.{size}.0, its documented defaults scaled to the budget; keeps the newest {size} messages",
        projects=3,
        recordings=41,
        requests=1632,
        hard=_around(max(hard - 0.03 * at, 0)) if hard < 1 else Interval(1, 1, 1),
        all=_around(1 - (1 - hard) * 0.4, 0.02),
        ref=None if size % 2 else _around(min(hard + 0.05, 1)),
        presence=min(hard + 0.1, 1.0),
        curve=_around(hard) if hard < 1 else Interval(1, 1, 1),
        kinds={kind: max(0.0, min(1.0, hard + 0.08 * (1 - i) * (hard < 1))) for i, kind in enumerate(KINDS)},
        ages={age: 1 - (1 - hard) * (0.05 + 0.18 * i) for i, age in enumerate(AGES)},
        probes={"user directives": hard, "last test status": hard**2, "failed commands": hard * 0.8},
        dollars={table: _around(cost * (1 - 0.1 * i), 0.06) for i, table in enumerate(TABLES)},
        ref_dollars=dict.fromkeys(TABLES, cost + 0.02),
        tokens=int(cost * 40_000_000),
        uncached={table: int(cost * 4_000_000) for table in TABLES},
        model_calls=31 if "summar" in name else 0,
        moved_bytes=1280.0 * size,
        over_budget=420 - 90 * at if faulty and name != "collapse-groups" else 0,
        failures={"ValueError: <no room>": 3} if name == "trim-from-the-first-one" else {},
        violations={"result without its call": 141, "no user message": 12}
        if name == "collapse-groups"
        else {},
        p50_ms=87.0 if name == "compress" else 0.2 * size,
        p95_ms=0.9 * size,
        worst_ms=11.7 * size,
        growth=None if size % 3 == 0 else 1.0 + size / 20,
        peak_mb=60.0 + size,
        older=hard,
        parts={table: DollarParts(cost * 0.5, cost * 0.3, cost * 0.2) for table in TABLES},
        checks={"determinism": "ok", "suffix scramble": "pack 12 differs" if name == "rare-tokens" else "ok"},
    )


def _comparison(row: PolicyRow) -> PolicyComparison:
    hard, cost = CURVES[row.policy][BUDGETS.index(row.budget)]
    other, price = CURVES[REFERENCE][BUDGETS.index(row.budget)]
    return PolicyComparison(
        row.policy,
        REFERENCE,
        row.budget,
        Interval(hard - other, hard - other - 0.03, hard - other + 0.03),
        Interval(cost - price, cost - price - 0.1, cost - price + 0.1),
    )


def _cost(name: str, level: float) -> float | None:
    """Read off the curve between two budgets."""
    points = CURVES[name]
    for (low, cheap), (high, dear) in pairwise(points):
        if low <= level <= high and high > low:
            return cheap + (dear - cheap) * (level - low) / (high - low)
    return points[0][1] if points[0][0] >= level else None


def _picture(name: str, budget: int, requests: int) -> Picture:
    return Picture("pars<er>/session-07", name, budget, list(_moments(name, budget, requests)))


def _moments(name: str, budget: int, requests: int) -> Iterator[PicturedRequest]:
    """A window that fills and is folded; `newest` moves at every request once it is full."""
    size, before = 900, 0
    for at in range(requests):
        size += 180 + (at * 7919) % 900
        folded = moves = False
        if name != "everything" and size > budget * 0.92:
            folded = name != "newest"
            moves = not folded
            size = budget * 45 // 100 if folded else budget - (at * 131) % 700
        moved = before * 9 // 10 if moves or folded else 0
        over = name in FAULTY and at % 37 == 36
        tokens = budget + 2_000 if over else size
        hard = 3 if at > 12 and at % 4 == 0 else 0
        yield PicturedRequest(
            index=2 * at + 1,
            tokens=tokens,
            cached=0 if at == 0 else max(min(before - moved, tokens) - 60, 0),
            layers=_split(name, tokens, budget),
            moved=moved,
            hard=hard,
            held=max(0, hard - (at % 3)) if name != "everything" else hard,
            fault="over budget by 2000 tokens" if over else "",
        )
        before = tokens


def _split(name: str, tokens: int, budget: int) -> dict[str, int]:
    if name not in LAYERED:
        return {"user": tokens // 12, "assistant": tokens // 5, "tool": tokens - tokens // 12 - tokens // 5}
    stable, tail = min(700, tokens), 150
    note = min(budget // 4, max(tokens - 6_000, 0) // 2)
    window = max(tokens - stable - note - tail, 0) * 3 // 5
    return {
        "stable": stable,
        "summary": note,
        "window": window,
        "round": max(tokens - stable - note - window - tail, 0),
        "tail": tail,
    }
