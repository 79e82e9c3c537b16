"""The tables of the page: scores at a budget, the ranking, and the numbers behind the charts.

Rule: every cell that sorts carries the number it sorts by; a fault is said in words and marked, not only coloured.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from holdfast.lab.report import figures, standing, words
from holdfast.lab.report.looks import PolicyLook, named
from holdfast.lab.report.markup import Child, Markup, tag
from holdfast.lab.report.scales import clamped
from holdfast.lab.results import Interval, PolicyRow, ReplayReport

FAULT = "⚠"


class TableHead(Struct, frozen=True):
    """A column. `rising` is what a first click gives: the best on top."""

    name: str
    rising: bool = True
    term: str = ""


def score_table(report: ReplayReport, rows: Sequence[PolicyRow], looks: Mapping[str, PolicyLook]) -> Markup:
    reference = standing.reference_of(report)
    heads = [
        TableHead("policy"),
        TableHead("hard", rising=False, term="hard"),
        TableHead("all", rising=False, term="all"),
        TableHead("ref", rising=False, term="ref"),
        TableHead("dollars", term="dollars"),
        TableHead("Δ hard", rising=False, term="Δ"),
        TableHead("Δ dollars", term="Δ"),
        TableHead("over budget", term="over budget"),
        TableHead("failed", term="failed"),
        TableHead("broken", term="broken structure"),
        TableHead("p50 ms"),
        TableHead("p95 ms"),
        TableHead("worst ms"),
        TableHead("growth", term="growth"),
        TableHead("peak MB"),
    ]
    terms = {**words.TERMS, "Δ": f"difference to {reference or 'the reference'}, paired by recording"}
    body = [
        tag(
            "tr", _policy(row, looks), _scores(report, row), class_="bad" if standing.faults_of(row) else None
        )
        for row in rows
    ]
    return _sortable(heads, body, terms, f"Scores at {figures.budget(rows[0].budget)}" if rows else "Scores")


def ranking_table(report: ReplayReport, looks: Mapping[str, PolicyLook]) -> Markup | None:
    ranking = standing.ranking_of(report)
    if ranking is None:
        return None
    heads = [
        TableHead("rank"),
        TableHead("policy"),
        *(TableHead(f"at {figures.recall(level)}") for level in ranking.levels),
    ]
    most = max((d for p in ranking.policies for d in p.dollars if d is not None), default=0.0)
    best = [
        min((d for p in ranking.policies if (d := p.dollars[i]) is not None), default=None)
        for i in range(len(ranking.levels))
    ]
    faulty = {row.policy for row in report.rows if standing.faults_of(row)}
    body: list[Markup] = []
    for place, ranked in enumerate(ranking.policies, 1):
        cells = [_priced(dollars, most, best[i]) for i, dollars in enumerate(ranked.dollars)]
        ranks = ranked.dollars[ranking.level] is not None
        number = tag("td", place if ranks else figures.NONE, data_v=place, class_="n")
        look = looks.get(ranked.policy)
        body.append(
            tag(
                "tr",
                number,
                tag(
                    "th",
                    named(look, figures.plain(ranked.policy), _sign(ranked.policy in faulty)),
                    scope="row",
                ),
                cells,
            )
        )
    return _sortable(heads, body, {}, "Dollars at equal hard recall", kind="ranking")


def share_table(
    title: str, names: Sequence[str], values: Sequence[tuple[PolicyRow, dict[str, float]]]
) -> Markup:
    """Recall by kind, by age or by probe."""
    heads = [TableHead("policy"), *(TableHead(figures.plain(name), rising=False) for name in names)]
    body = [
        tag(
            "tr",
            tag("th", figures.plain(row.policy), scope="row"),
            [_number(shares.get(n), figures.recall(shares.get(n))) for n in names],
        )
        for row, shares in values
    ]
    return _sortable(heads, body, {}, title)


def project_table(report: ReplayReport, rows: Sequence[PolicyRow]) -> Markup | None:
    """Hard recall, and dollars below it, of each policy on each project."""
    projects = standing.projects_of(report)
    if not projects:
        return None
    heads = [
        TableHead("policy"),
        *(
            TableHead(
                f"{figures.plain(name)} ({figures.grouped(standing.needs_in(rows, name))})", rising=False
            )
            for name in projects
        ),
    ]
    body = [
        tag(
            "tr",
            tag("th", figures.plain(row.policy), scope="row"),
            [_in_project(*standing.in_project(report, row, name)) for name in projects],
        )
        for row in rows
    ]
    return _sortable(heads, body, {}, "By project: hard recall and dollars (hard needs in the heading)")


def _in_project(hard: float | None, dollars: float | None) -> Markup:
    return _number(hard, [figures.recall(hard), tag("small", figures.dollars(dollars))])


def cost_table(report: ReplayReport, rows: Sequence[PolicyRow]) -> Markup:
    """What the main table has no room for: other price tables, tokens, what moved."""
    tables = list(report.price_tables)
    heads = [
        TableHead("policy"),
        *(TableHead(f"dollars, {figures.plain(name)}") for name in tables),
        TableHead("with references followed"),
    ]
    heads += [
        TableHead("tokens"),
        TableHead("uncached"),
        TableHead("model calls"),
        TableHead("bytes moved per request"),
        TableHead("presence", rising=False),
    ]
    heads += [TableHead("requests"), TableHead("recordings"), TableHead("projects")]
    return _sortable(heads, [tag("tr", _costs(report, row, tables)) for row in rows], {}, "Costs and counts")


def _costs(report: ReplayReport, row: PolicyRow, tables: Sequence[str]) -> list[Markup]:
    followed = row.ref_dollars.get(report.prices)
    uncached = row.uncached.get(report.prices)
    return [
        tag("th", figures.plain(row.policy), scope="row"),
        *(_interval(row.dollars.get(name)) for name in tables),
        _number(followed, figures.dollars(followed)),
        _number(row.tokens, figures.grouped(row.tokens)),
        _number(uncached, figures.amount(uncached)),
        _number(row.model_calls, figures.grouped(row.model_calls)),
        _number(row.moved_bytes, figures.amount(row.moved_bytes)),
        _number(row.presence, figures.recall(row.presence)),
        *(_number(count, figures.grouped(count)) for count in (row.requests, row.recordings, row.projects)),
    ]


def _policy(row: PolicyRow, looks: Mapping[str, PolicyLook]) -> Markup:
    """The name, and what no column tells; settings and faults open below."""
    faults = standing.faults_of(row)
    name = named(looks[row.policy], figures.plain(row.policy), _sign(bool(faults)))
    failed = [tag("p", said, class_="faultline") for said in standing.failed_checks(row)]
    if not row.about and not faults:
        return tag("th", name, scope="row")
    told = [
        tag("p", row.about) if row.about else None,
        [tag("p", fault, class_="faultline") for fault in faults],
    ]
    return tag("th", tag("details", tag("summary", name, failed), told), scope="row")


def _sign(faulty: bool) -> Markup | None:
    return tag("span", f" {FAULT}", class_="sign", title="has faults") if faulty else None


def _scores(report: ReplayReport, row: PolicyRow) -> list[Markup]:
    compared = standing.comparison_of(report, row)
    if compared is None and row.policy == standing.reference_of(report):
        differences = [tag("td", "reference", data_v=0, class_="n zero")] * 2
    else:
        found = (compared.hard, compared.dollars) if compared else (None, None)
        differences = [_difference(interval) for interval in found]
    return [
        _interval(row.hard, strong=True),
        _number(figures.mean(row.all), figures.recall(figures.mean(row.all))),
        _number(figures.mean(row.ref), figures.recall(figures.mean(row.ref))),
        _interval(standing.dollars_of(report, row)),
        *differences,
        _count(row.over_budget, "over budget"),
        _count(sum(row.failures.values()), "failed"),
        _count(sum(row.violations.values()), "broken"),
        *(_number(v, figures.milliseconds(v)) for v in (row.p50_ms, row.p95_ms, row.worst_ms)),
        _number(row.growth, figures.ratio(row.growth)),
        _number(row.peak_mb, figures.amount(row.peak_mb)),
    ]


def _interval(interval: Interval | None, *, strong: bool = False) -> Markup:
    value = figures.mean(interval)
    written: Child = tag("b", figures.recall(value)) if strong else figures.recall(value)
    return _number(value, [written, tag("small", figures.bounds(interval)) if interval else None])


def _difference(interval: Interval | None) -> Markup:
    value = figures.mean(interval)
    sign = standing.verdict(interval)
    told = tag("small", figures.signed_bounds(interval)) if interval else None
    return _number(
        value, [figures.signed(value), " ", tag("span", sign, class_="verdict") if sign else None, told]
    )


def _count(count: int, what: str) -> Markup:
    if not count:
        return tag("td", "0", data_v=0, class_="n zero")
    return tag(
        "td",
        tag("span", f"{FAULT} ", aria_hidden="true"),
        figures.grouped(count),
        data_v=count,
        class_="n wrong",
        title=what,
    )


def _priced(dollars: float | None, most: float, best: float | None) -> Markup:
    if dollars is None:
        return tag("td", "never", class_="n never")
    bar = tag(
        "span", class_="pricebar", style=f"width:{round(100 * clamped(dollars / most if most else 0))}%"
    )
    written = figures.dollars(dollars)
    return tag(
        "td", bar, tag("b", written) if dollars == best else written, data_v=repr(dollars), class_="n priced"
    )


def _number(value: float | None, *written: Child) -> Markup:
    return tag("td", *written, data_v=None if value is None else repr(float(value)), class_="n")


def _sortable(
    heads: Sequence[TableHead], body: Sequence[Markup], terms: Mapping[str, str], title: str, kind: str = ""
) -> Markup:
    header = [
        tag(
            "th",
            tag("button", head.name, type="button"),
            scope="col",
            title=terms.get(head.term),
            data_rising=head.rising,
        )
        for head in heads
    ]
    table = tag(
        "table",
        tag("caption", title),
        tag("thead", tag("tr", header)),
        tag("tbody", body),
        class_=f"sortable {kind}".strip(),
    )
    return tag("div", table, class_="scroll", tabindex=0, role="region", aria_label=title)
