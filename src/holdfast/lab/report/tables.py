"""The figures of a row as cells, and the tables of the page: scores, ranking, the numbers behind the charts.

Rule: every cell that sorts carries the number it sorts by; a fault is said in words and marked, not only coloured.
Markdown and the terminal show the texts of the same cells.
"""

from collections.abc import Iterable, Mapping, Sequence

from holdfast.lab.report import figures, rankings
from holdfast.lab.report.charts import Data, clamped
from holdfast.lab.report.report_table import ReportTable
from holdfast.lab.results import Interval, PolicyRow, ReplayReport
from holdfast.numbers import grouped

HIGHER_IS_BETTER = {"hard", "all", "older", "ref", "Δ hard", "presence"}
"""Columns whose first click puts the largest on top; the others begin with the smallest."""
SCORES = (
    "hard", "all", "older", "ref", "dollars", "Δ hard", "Δ dollars", "over budget", "failed", "broken",
    "p50 ms", "p95 ms", "worst ms", "growth", "peak MB",
)  # fmt: skip
COSTS = (
    "with references followed", "tokens", "uncached", "model calls", "bytes moved per request", "presence",
    "requests", "recordings", "projects",
)  # fmt: skip
PARTS = {"reads": "reads", "first writes": "first_writes", "rewrites": "rewrites", "summaries": "summaries"}
"""What dollars were paid for: fields of `DollarParts` by column."""


def row_cells(report: ReplayReport, row: PolicyRow) -> dict[str, Data]:
    """All figures of a row, by column."""
    compared = rankings.comparison_of(report, row)
    uncached, parts = row.uncached.get(report.prices), row.parts.get(report.prices)
    times = {"p50 ms": row.p50_ms, "p95 ms": row.p95_ms, "worst ms": row.worst_ms}
    counts = {"requests": row.requests, "recordings": row.recordings, "projects": row.projects}
    return {
        "hard": _interval(row.hard, bold=True),
        "95%": {"text": figures.bounds(row.hard)},
        "all": _number(figures.mean(row.all)),
        "older": _number(row.older),
        "ref": _number(figures.mean(row.ref)),
        "dollars": _interval(rankings.dollars_of(report, row)),
        "Δ hard": _difference(compared.hard if compared else None),
        "Δ dollars": _difference(compared.dollars if compared else None),
        "over budget": _faults(row.over_budget, "over budget"),
        "failed": _faults(sum(row.failures.values()), "failed"),
        "broken": _faults(sum(row.violations.values()), "broken"),
        **{name: _number(value, figures.milliseconds(value)) for name, value in times.items()},
        "growth": _number(row.growth, figures.decimal(row.growth, 1)),
        "peak MB": _number(row.peak_mb, figures.amount(row.peak_mb)),
        "with references followed": _number(row.ref_dollars.get(report.prices)),
        "tokens": _number(row.tokens, grouped(row.tokens)),
        "uncached": _number(uncached, figures.amount(uncached)),
        "model calls": _number(row.model_calls, grouped(row.model_calls)),
        "bytes moved per request": _number(row.moved_bytes, figures.amount(row.moved_bytes)),
        "presence": _number(row.presence),
        **{name: _number(getattr(parts, part, None)) for name, part in PARTS.items()},
        **{name: _number(value, grouped(value)) for name, value in counts.items()},
    }


def score_table(report: ReplayReport, rows: Sequence[PolicyRow], looks: Mapping[str, Data]) -> Data:
    reference = rankings.reference_of(report)
    difference = f"difference to {reference or 'the reference'}, paired by recording"
    terms = {
        **rankings.TERMS,
        "Δ hard": difference,
        "Δ dollars": difference,
        "broken": rankings.TERMS["broken structure"],
    }
    body: list[Data] = []
    for row in rows:
        cells = row_cells(report, row)
        if row.policy == reference:
            cells["Δ hard"] = cells["Δ dollars"] = _number(0, "reference", kind="zero")
        found = _row(_policy(row, looks), [cells[name] for name in SCORES])
        body.append({"bad": bool(rankings.faults_of(row)), **found})
    title = f"Scores at {figures.budget(rows[0].budget)}" if rows else "Scores"
    return {"title": title, "heads": _heads(["policy", *SCORES], terms=terms), "rows": body}


def ranking_table(ranking: rankings.PolicyRanking, report: ReplayReport, looks: Mapping[str, Data]) -> Data:
    ceilings = {row.policy for row in report.rows if row.sees_future}
    own = [dollars for policy, dollars in ranking.dollars.items() if policy not in ceilings]
    places = range(len(ranking.levels))
    best = [min((d for by in own if (d := by[at]) is not None), default=None) for at in places]
    most = max((d for by in ranking.dollars.values() for d in by if d is not None), default=0.0)
    faulty = {row.policy for row in report.rows if rankings.faults_of(row)}
    body: list[Data] = []
    for place, (policy, dollars) in enumerate(ranking.dollars.items(), 1):
        reached = dollars[ranking.level] is not None
        rank = {"number": _number(place, str(place) if reached else figures.NONE)}
        name = _name(policy, looks, faulty=policy in faulty)
        found = _row(name, [_priced(d, most, best[at]) for at, d in enumerate(dollars)])
        body.append({"cells": [rank, *found["cells"]]})
    heads = ["rank", "policy", *(f"at {figures.decimal(level)}" for level in ranking.levels)]
    return {
        "title": "Dollars at equal hard recall",
        "kind": "ranking",
        "heads": _heads(heads),
        "rows": body,
    }


def share_table(title: str, rows: Sequence[PolicyRow], which: rankings.Shares) -> Data:
    names = rankings.names_of(rows, which)
    body = [
        _row(_name(row.policy), [_number(rankings.shares_of(row, which).get(name)) for name in names])
        for row in rows
    ]
    heads = _heads(["policy", *map(figures.plain, names)], falling=map(figures.plain, names))
    return {"title": title, "heads": heads, "rows": body}


def project_cells(
    report: ReplayReport, rows: Sequence[PolicyRow]
) -> tuple[list[str], list[tuple[str, list[Data]]]]:
    """Projects with their hard needs, and for each policy its hard recall on each, with dollars below it."""
    projects = rankings.projects_of(report)
    heads = [f"{figures.plain(name)} ({grouped(rankings.needs_in(rows, name))})" for name in projects]
    body: list[tuple[str, list[Data]]] = []
    for row in rows:
        found = [rankings.in_project(report, row, name) for name in projects]
        body.append((row.policy, [_number(hard, small=figures.decimal(dollars)) for hard, dollars in found]))
    return heads, body


def project_table(report: ReplayReport, rows: Sequence[PolicyRow]) -> Data:
    names, found = project_cells(report, rows)
    body = [_row(_name(policy), cells) for policy, cells in found]
    title = "By project: hard recall and dollars (hard needs in the heading)"
    return {"title": title, "heads": _heads(["policy", *names], falling=names), "rows": body}


def cost_table(report: ReplayReport, rows: Sequence[PolicyRow]) -> Data:
    """What the main table has no room for: other price tables, tokens, what moved."""
    prices = report.price_tables
    body: list[Data] = []
    for row in rows:
        cells = row_cells(report, row)
        dollars = [_interval(row.dollars.get(name)) for name in prices]
        body.append(_row(_name(row.policy), [*dollars, *(cells[name] for name in COSTS)]))
    heads = _heads(["policy", *(f"dollars, {figures.plain(name)}" for name in prices), *COSTS])
    return {"title": "Costs and counts", "heads": heads, "rows": body}


def parts_table(report: ReplayReport, rows: Sequence[PolicyRow]) -> Data:
    """What the dollars of each policy were paid for; the parts add up to them."""
    body: list[Data] = []
    for row in rows:
        cells = row_cells(report, row)
        dollars = _number(figures.mean(rankings.dollars_of(report, row)), bold=True)
        body.append(_row(_name(row.policy), [dollars, *(cells[name] for name in PARTS)]))
    heads = _heads(["policy", "dollars", *PARTS], terms=rankings.TERMS)
    return {"title": "Where the dollars go", "heads": heads, "rows": body}


def plain_table(table: ReportTable) -> Data:
    """A table of the report as the page draws it: texts, and numbers with their signs."""
    body: list[Data] = []
    for row in table.rows:
        cells: list[Data] = []
        for (_, kind), cell in zip(table.columns, row, strict=True):
            text = str(cell)
            cells.append(
                {"name": _name(text)} if kind == "wrapped" else {"number": _number(_value(text), text)}
            )
        body.append({"cells": cells})
    heads = _heads([name for name, _ in table.columns], falling=[name for name, _ in table.columns])
    return {"title": table.heading, "heads": heads, "rows": body}


def _value(text: str) -> float | None:
    """What a written number sorts by."""
    try:
        return float(text.replace(",", "").removesuffix("%"))
    except ValueError:
        return None


def _heads(
    names: Iterable[str], *, falling: Iterable[str] = HIGHER_IS_BETTER, terms: Mapping[str, str] | None = None
) -> list[Data]:
    best_on_top = set(falling)
    return [
        {"head": name, "rising": name not in best_on_top, "term": (terms or {}).get(name, "")}
        for name in names
    ]


def _row(name: Data, cells: Iterable[Data]) -> Data:
    return {"cells": [{"name": name}, *({"number": cell} for cell in cells)]}


def _name(policy: str, looks: Mapping[str, Data] | None = None, **more: object) -> Data:
    return {"policy": figures.plain(policy), "look": looks.get(policy) if looks else None, **more}


def _policy(row: PolicyRow, looks: Mapping[str, Data]) -> Data:
    """The name, and what no column tells; settings and faults open below."""
    faults = rankings.faults_of(row)
    return _name(
        row.policy,
        looks,
        faulty=bool(faults),
        opens=bool(row.about or faults),
        about=row.about,
        faults=faults,
        failed_checks=rankings.failed_checks(row),
    )


def _number(value: float | None, text: str = "", **more: object) -> Data:
    """A cell. `kind` is a class, `small` a second line."""
    sorts_by = None if value is None else repr(float(value))
    return {"value": sorts_by, "text": text or figures.decimal(value), "kind": "", **more}


def _interval(interval: Interval | None, *, bold: bool = False) -> Data:
    return _number(figures.mean(interval), bold=bold, small=figures.bounds(interval) if interval else "")


def _difference(interval: Interval | None) -> Data:
    value = figures.mean(interval)
    told = figures.signed_bounds(interval) if interval else ""
    return _number(value, figures.signed(value), verdict=rankings.verdict(interval), small=told)


def _faults(count: int, what: str) -> Data:
    if not count:
        return _number(0, "0", kind="zero")
    return _number(count, grouped(count), kind="wrong", what=what)


def _priced(dollars: float | None, most: float, best: float | None) -> Data:
    if dollars is None:
        return _number(None, "never", kind="never")
    width = str(round(100 * clamped(dollars / most if most else 0)))
    return _number(dollars, kind="priced", width=width, bold=dollars == best)
