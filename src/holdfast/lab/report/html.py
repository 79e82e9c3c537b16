"""The report as one HTML page: charts to look at, tables to check them by.

Rule: the page is data and a template. Here is the data; `page.html` is what it fills. The page needs nothing but
itself; without its script it still shows everything, with a table in place of each drawing of a window.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape

from holdfast.drawings import asset, embedded, source_hash
from holdfast.lab.report import figures, rankings
from holdfast.lab.report.charts import Data, age_panels, dot_plot, looks_of, number
from holdfast.lab.report.curve import FRAMES, curve_data
from holdfast.lab.report.losses import loss_tables
from holdfast.lab.report.tables import (
    cost_table,
    parts_table,
    plain_table,
    project_table,
    ranking_table,
    score_table,
    share_table,
)
from holdfast.lab.report.window import colours_of, columns_of, windows_data
from holdfast.lab.results import ReplayReport
from holdfast.numbers import counted, grouped

_TAG = re.compile(r"\{\{([#^/>&]?)([\w.]+)\}\}")
_Node = str | tuple[str, str, list["_Node"]]
"""A piece of text, or a tag: its sign, its name and what is inside."""


def write_html(report: ReplayReport) -> str:
    return "".join(_filled(_template("page"), (page_data(rankings.labelled(report)),)))


def page_data(report: ReplayReport) -> Data:
    looks = looks_of(report)
    script = "\n".join((asset("common.js"), asset("timeline.js"), _asset("script.js")))
    colours = colours_of(report.pictures)
    ranking = rankings.ranking_of(report)
    budgets = rankings.budgets_of(report)
    return {
        "script": script,
        "script_hash": source_hash(script),
        "style": asset("common.css") + _asset("style.css"),
        "columns": embedded([columns_of(picture, colours) for picture in report.pictures]),
        "title": counted(report.recordings, "recording"),
        "version": figures.plain(report.version),
        "partial": rankings.partial_sentence(report),
        "result": rankings.result_sentence(report),
        "tiles": [{"value": value, "name": name} for value, name in _tiles(report)],
        "bias": " ".join(rankings.BIAS),
        "hard_means": rankings.TERMS["hard"],
        "looks": list(looks.values()),
        "curves": [curve_data(report, looks, frame) for frame in FRAMES],
        "ranking": {
            "level": figures.decimal(ranking.levels[ranking.level]),
            "tables": [ranking_table(ranking, report, looks)],
        }
        if ranking
        else None,
        "budgets": [_budget(report, budget, looks) for budget in budgets],
        "terms": [{"term": name, "means": f"{said}."} for name, said in rankings.TERMS.items()],
        "windows": windows_data(report, looks),
        "notes": {"list": report.notes} if report.notes else None,
        "facts": [{"fact": name, "said": said} for name, said in _facts(report).items() if said],
        "details": list(_details(report)),
        "files": {"list": report.files} if report.files else None,
    }


def _tiles(report: ReplayReport) -> list[tuple[str, str]]:
    requests = max((row.requests for row in report.rows), default=0)
    return [
        (grouped(report.recordings), "recording" if report.recordings == 1 else "recordings"),
        (grouped(len(report.projects)), "project" if len(report.projects) == 1 else "projects"),
        (grouped(requests), "requests each"),
        (grouped(report.needs), "needs"),
        (" ".join(map(figures.budget, report.budgets)) or figures.NONE, "budgets"),
        (figures.plain(report.prices, 40), "price table"),
        (grouped(report.draws), "bootstrap draws"),
    ]


def _budget(report: ReplayReport, budget: int, looks: dict[str, Data]) -> Data:
    rows = rankings.rows_at(report, budget)
    shares: dict[str, rankings.Shares] = {"By age": "ages", "By kind": "kinds", "Probes": "probes"}
    plots: dict[str, rankings.Shares] = {"Hard recall by kind": "kinds", "Probes": "probes"}
    tables = [share_table(title, rows, which) for title, which in shares.items()]
    losses = [plain_table(table) for table in loss_tables(report, budget)]
    return {
        "size": str(budget),
        "budget": figures.budget(budget),
        "hard_needs": rankings.hard_needs(report, budget),
        "scores": [score_table(report, rows, looks)],
        "plots": [
            dot_plot(title, rows, which, looks)
            for title, which in plots.items()
            if rankings.names_of(rows, which)
        ],
        "losses": {"tables": losses} if losses else None,
        "ages": {"panels": age_panels(rows, looks)} if rankings.names_of(rows, "ages") else None,
        "numbers": [
            *(table for table in tables if len(table["heads"]) > 1),
            *([project_table(report, rows)] if rankings.projects_of(report) else []),
            *([parts_table(report, rows)] if any(row.parts for row in rows) else []),
            cost_table(report, rows),
        ],
    }


def _facts(report: ReplayReport) -> dict[str, str]:
    hard = sorted(report.hard_needs.items())
    return {
        "In a sentence": f"{rankings.settings_sentence(report)}.",
        "The measure": ", ".join(f"{name} {value:g}" for name, value in report.measure.items()),
        "Common names": report.common_names,
        "Hard needs": ", ".join(f"{figures.budget(b)}: {grouped(n)}" for b, n in hard),
        "Time": f"{figures.amount(report.seconds)} s" if report.seconds else "",
    }


def _details(report: ReplayReport) -> Iterator[Data]:
    prices = {
        name: ", ".join(f"{key} {value:g}" for key, value in table.items())
        for name, table in report.price_tables.items()
    }
    projects = {name: grouped(count) for name, count in report.projects.items()}
    budgets, found = rankings.sensitivity_of(report)
    at = [figures.budget(b) for b in budgets]
    taus = {
        name: ", ".join(f"tau {figures.decimal(tau)} at {b}" for b, tau in zip(at, values, strict=True))
        for name, values in found
    }
    names, verdicts = rankings.checks_of(report)
    checks = {
        policy: ", ".join(f"{name}: {verdict}" for name, verdict in zip(names, said, strict=True))
        for policy, said in verdicts
    }
    for summary, caption, rows in (
        ("Price tables", "Price tables", prices),
        ("Projects", "Recordings by project", projects),
        ("Sensitivity", "Order of policies by hard recall, the measure varied", taus),
        ("Checks", "Same packs again, and no look ahead", checks),
    ):
        if rows:
            named = [{"name": name, "said": said} for name, said in rows.items()]
            yield {"summary": summary, "caption": caption, "rows": named}


def _asset(name: str) -> str:
    return asset(name, "holdfast.lab.report")


@cache
def _template(name: str) -> list[_Node]:
    """A template in the language Mustache, read into a tree.

    `{{name}}` is a value, escaped; `{{&name}}` is one that is markup already. `{{#name}}…{{/name}}` is repeated for
    each item of a list, or shown once if the value is true; `{{^name}}…{{/name}}` is shown if it is not.
    `{{>name}}` is another template. Line breaks before tags are dropped.
    """
    text, *rest = _TAG.split(re.sub(r"\n\s*(?=<|\{\{)", "", _asset(f"{name}.html")))
    tree: list[_Node] = [text]
    open_: list[list[_Node]] = [tree]
    for sign, tag, after in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
        if sign == "/":
            open_.pop()
        else:
            inside: list[_Node] = []
            open_[-1].append((sign, tag, inside))
            if sign in ("#", "^"):
                open_.append(inside)
        open_[-1].append(after)
    return tree


def _filled(nodes: Sequence[_Node], scopes: tuple[object, ...]) -> Iterator[str]:
    """The template with its values; a name is looked for in the innermost item that has it."""
    for node in nodes:
        if isinstance(node, str):
            yield node
            continue
        sign, name, inside = node
        if sign == ">":
            yield from _filled(_template(name), scopes)
            continue
        holders = (scope for scope in reversed(scopes) if isinstance(scope, dict) and name in scope)
        value: object = scopes[-1] if name == "." else next(holders, {}).get(name)
        if sign == "#":
            for item in value if isinstance(value, list) else [value] if value else []:
                yield from _filled(inside, (*scopes, item))
        elif sign == "^":
            if not value:
                yield from _filled(inside, scopes)
        elif sign == "&":
            yield str(value)
        else:
            yield number(value) if isinstance(value, float) else escape(figures.cleaned(str(value)))
