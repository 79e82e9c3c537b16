"""Any report at all: empty ones, odd numbers, names that nobody would choose."""

from hypothesis import strategies as st

from holdfast.lab.results import (
    AGES,
    KINDS,
    DollarParts,
    DollarsAtRecall,
    Interval,
    NeedGroup,
    Picture,
    PicturedRequest,
    PolicyComparison,
    PolicyRow,
    ReplayReport,
)

SPECIAL = [
    "<b>",
    "</script><script>",
    "a|b",
    "`c`",
    "&amp;",
    "' onload='x",
    "\u202egnp",
    "\x00",
    "\ud800",
    "everything",
]
names = st.sampled_from(SPECIAL) | st.text(st.characters(exclude_categories=()), max_size=12)
# Few, so that rows, comparisons and pictures meet.
policies = st.sampled_from([*SPECIAL, "newest"])
budgets = st.sampled_from([0, 1, 999, 16_000, 32_000, 1_000_000])
counts = st.integers(0, 10**7)
numbers = st.floats(0, 3) | st.floats()
shares = st.floats(0, 1) | st.floats()
intervals = st.builds(Interval, numbers, numbers, numbers)
maybe = st.none() | intervals
tables = st.sampled_from(["cheap", "dear"])


def by(keys: st.SearchStrategy, values: st.SearchStrategy, most: int = 4) -> st.SearchStrategy:
    return st.dictionaries(keys, values, max_size=most)


rows = st.builds(
    PolicyRow,
    policy=policies,
    budget=budgets,
    about=names,
    projects=counts,
    recordings=counts,
    requests=counts,
    hard=maybe,
    all=maybe,
    ref=maybe,
    presence=st.none() | shares,
    curve=maybe,
    kinds=by(st.sampled_from(KINDS) | names, shares),
    ages=by(st.sampled_from(AGES) | names, shares, 6),
    probes=by(names, shares),
    dollars=by(tables, intervals),
    ref_dollars=by(tables, numbers),
    tokens=counts,
    uncached=by(tables, counts),
    model_calls=counts,
    moved_bytes=numbers,
    over_budget=counts,
    failures=by(names, counts),
    violations=by(names, counts),
    p50_ms=numbers,
    p95_ms=numbers,
    worst_ms=numbers,
    growth=st.none() | numbers,
    peak_mb=numbers,
    older=st.none() | shares,
    parts=by(tables, st.builds(DollarParts, numbers, numbers, numbers, numbers)),
    sees_future=st.booleans(),
    checks=by(names, st.just("ok") | names),
)
groups = st.builds(
    NeedGroup,
    agent=names,
    tool=names,
    kind=st.sampled_from(KINDS) | names,
    age=st.sampled_from(AGES) | names,
    reason=st.just("") | names,
    detail=names,
    needs=counts,
    hard=counts,
    policy=policies,
    budget=budgets,
)
moments = st.builds(
    PicturedRequest,
    index=counts,
    tokens=counts,
    cached=counts,
    layers=by(st.sampled_from(["stable", "window", "user", "tool"]) | names, counts),
    moved=counts,
    hard=st.integers(0, 9),
    held=st.integers(0, 9),
    fault=names,
)
reports = st.builds(
    ReplayReport,
    version=names,
    measure=by(names, numbers),
    common_names=names,
    prices=tables,
    price_tables=by(tables, by(names, numbers)),
    budgets=st.lists(budgets, max_size=3),
    draws=counts,
    files=st.lists(names, max_size=3),
    recordings=counts,
    projects=by(names, counts),
    needs=counts,
    hard_needs=by(budgets, counts),
    rows=st.lists(rows, max_size=5),
    comparisons=st.lists(st.builds(PolicyComparison, policies, policies, budgets, maybe, maybe), max_size=3),
    at_recall=st.lists(st.builds(DollarsAtRecall, policies, shares, st.none() | numbers), max_size=6),
    pictures=st.lists(
        st.builds(Picture, names, policies, budgets, st.lists(moments, max_size=5)), max_size=3
    ),
    groups=st.lists(groups, max_size=6),
    notes=st.lists(names, max_size=2),
    partial=names,
    seconds=numbers,
)
