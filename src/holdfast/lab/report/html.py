"""The report as one HTML page: charts to look at, tables to check them by.

Rule: the page needs nothing but itself; without its script it still shows everything, only less conveniently.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.resources import files

from holdfast.lab.report import figures, standing, words
from holdfast.lab.report.curve import NARROW, WIDE, draw_curve
from holdfast.lab.report.grids import (
    cost_table,
    project_table,
    ranking_table,
    score_table,
    share_table,
)
from holdfast.lab.report.head import opening, settings
from holdfast.lab.report.looks import PolicyLook, looks_of, swatches
from holdfast.lab.report.markup import Markup, data_script, joined, tag
from holdfast.lab.report.pictures import columns_of_all, picture_section
from holdfast.lab.report.small import draw_ages, draw_dots
from holdfast.lab.results import PolicyRow, ReplayReport


def write_html(report: ReplayReport) -> str:
    looks = looks_of(report)
    script = _asset("script.js")
    body = tag(
        "body",
        opening(report),
        tag(
            "main",
            _curve(report, looks),
            _ranking(report, looks),
            _budgets(report, looks),
            picture_section(report, looks),
        ),
        settings(report),
        swatches(looks.values()),
        tag("div", id="tip", role="status", hidden=True),
        data_script("pictures", columns_of_all(report)),
        Markup(f"<script>{script}</script>"),
    )
    return f'<!doctype html>\n<html lang="en">{_head(report, script)}{body}</html>\n'


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


def _head(report: ReplayReport, script: str) -> Markup:
    """The policy lets this script run and nothing else, whatever a recording may have put into a name."""
    digest = b64encode(sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"Replay: {figures.counted(report.recordings, 'recording')}"),
        Markup(f"<style>{_asset('style.css')}</style>"),
    )


def _curve(report: ReplayReport, looks: Mapping[str, PolicyLook]) -> Markup:
    legend = [
        tag(
            "button",
            look.swatch,
            figures.plain(look.name),
            type="button",
            aria_pressed="true",
            data_toggle=look.key,
        )
        for look in looks.values()
    ]
    return tag(
        "section",
        tag("h2", "What is kept, and what it costs"),
        tag(
            "p",
            "One line per policy through its budgets, larger marks for larger budgets. Recall is over the needs "
            "that are hard at the smallest budget, so that all points share one yardstick. Whiskers are 95 % "
            "intervals; a hollow mark means that the policy has faults there. Click a name to hide its line.",
            class_="lead",
        ),
        tag(
            "div",
            legend,
            tag("button", "all or none", type="button", id="show-all"),
            class_="legend",
            role="group",
            aria_label="Policies shown",
        ),
        tag("div", draw_curve(report, looks, WIDE), draw_curve(report, looks, NARROW), class_="card"),
        id="curve",
    )


def _ranking(report: ReplayReport, looks: Mapping[str, PolicyLook]) -> Markup | None:
    table = ranking_table(report, looks)
    ranking = standing.ranking_of(report)
    if table is None or ranking is None:
        return None
    level = figures.recall(ranking.levels[ranking.level])
    lead = (
        f"Read off the curve: what a policy costs to reach a given hard recall. Ranked at {level}, the highest "
        "listed that half of the policies reach; bold is the cheapest of its column."
    )
    return tag(
        "section", tag("h2", "Dollars at equal recall"), tag("p", lead, class_="lead"), table, id="ranking"
    )


def _budgets(report: ReplayReport, looks: Mapping[str, PolicyLook]) -> Markup:
    budgets = standing.budgets_of(report)
    tabs = [
        tag("button", figures.budget(b), type="button", aria_pressed="false", data_tab=b) for b in budgets
    ]
    everything = tag("button", "all", type="button", aria_pressed="false", data_tab="all")
    return tag(
        "section",
        tag("h2", "Budget by budget"),
        tag(
            "div",
            tag("span", "budget"),
            tabs,
            everything,
            class_="tabs",
            role="group",
            aria_label="Budget shown",
        ),
        [_budget(report, budget, looks) for budget in budgets],
        _terms(),
        id="budgets",
    )


def _budget(report: ReplayReport, budget: int, looks: Mapping[str, PolicyLook]) -> Markup:
    rows = standing.rows_at(report, budget)
    hard = words.hard_needs(report, budget)
    by_age = "By age", standing.ages_of(rows), [(row, row.ages) for row in rows]
    by_kind = "By kind", standing.kinds_of(rows), [(row, row.kinds) for row in rows]
    by_probe = "Probes", standing.probes_of(rows), [(row, row.probes) for row in rows]
    numbers = [share_table(*shares) for shares in (by_age, by_kind, by_probe) if shares[1]]
    plots = [
        draw_dots(title, names, values, looks)
        for title, (_, names, values) in (("Hard recall by kind", by_kind), ("Probes", by_probe))
        if names
    ]
    return tag(
        "article",
        tag("h3", f"At {figures.budget(budget)}", tag("small", f" {hard}") if hard else None),
        score_table(report, rows, looks),
        tag("div", plots, class_="plots") if plots else None,
        _ages(rows, looks) if by_age[1] else None,
        tag(
            "details",
            tag("summary", "The numbers behind these charts, by project, other price tables, tokens"),
            numbers,
            project_table(report, rows),
            cost_table(report, rows),
        ),
        class_="budget",
        data_budget=budget,
    )


def _ages(rows: Sequence[PolicyRow], looks: Mapping[str, PolicyLook]) -> Markup:
    lead = (
        "All needs, by the steps since they were last seen. The stroke across a bar is the best of the other "
        "policies without faults, everything aside."
    )
    return joined(tag("h4", "Recall by age"), tag("p", lead, class_="lead"), draw_ages(rows, looks))


def _terms() -> Markup:
    terms = [[tag("dt", name), tag("dd", f"{said}.")] for name, said in words.TERMS.items()]
    return tag("details", tag("summary", "What the columns mean"), tag("dl", terms), class_="terms")
