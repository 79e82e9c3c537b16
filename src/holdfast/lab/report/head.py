"""The opening of the page and its small print: what was measured, how, and what the figures do not show.

Rule: nobody sees a figure without having passed the known bias, and a partial result without having been told.
"""

from collections.abc import Iterable, Iterator

from holdfast.lab.report import figures, standing, words
from holdfast.lab.report.markup import Child, Markup, tag
from holdfast.lab.results import ReplayReport


def opening(report: ReplayReport) -> Markup:
    partial = words.partial_sentence(report)
    banner = tag("p", tag("strong", "⚠ ", partial), class_="partial", role="alert") if partial else None
    return tag(
        "header",
        banner,
        tag("p", f"holdfast replay {figures.plain(report.version)}", class_="kicker"),
        tag("h1", "What each context policy keeps, and what it costs"),
        tag("ul", _tiles(report), class_="tiles"),
        tag(
            "aside",
            tag("h2", "Read this first"),
            tag("p", *(f"{sentence} " for sentence in words.BIAS)),
            class_="bias",
        ),
        tag("nav", [tag("a", text, href=f"#{place}") for place, text in _PLACES], aria_label="On this page"),
    )


_PLACES = (
    ("curve", "recall–cost curve"),
    ("ranking", "ranking"),
    ("budgets", "budget by budget"),
    ("window", "window, step by step"),
    ("settings", "how it was made"),
)


def _tiles(report: ReplayReport) -> list[Markup]:
    requests = max((row.requests for row in report.rows), default=0)
    tiles = [
        (figures.grouped(report.recordings), "recording" if report.recordings == 1 else "recordings"),
        (figures.grouped(len(report.projects)), "project" if len(report.projects) == 1 else "projects"),
        (figures.grouped(requests), "requests each"),
        (figures.grouped(report.needs), "needs"),
        (" ".join(map(figures.budget, report.budgets)) or figures.NONE, "budgets"),
        (figures.plain(report.prices, 40), "price table"),
        (figures.grouped(report.draws), "bootstrap draws"),
    ]
    return [tag("li", tag("b", value), tag("span", name)) for value, name in tiles]


def settings(report: ReplayReport) -> Markup:
    sections = [
        _details("Price tables", "Price tables", _rows(_prices(report))),
        _details("Projects", "Recordings by project", _rows(_projects(report))),
        _details("Sensitivity", "Order of policies by hard recall, the measure varied", _rows(_taus(report))),
        _details("Checks", "Same packs again, and no look ahead", _rows(_checks(report))),
    ]
    files = tag("details", tag("summary", "Files"), tag("ul", [tag("li", name) for name in report.files]))
    return tag(
        "footer",
        tag("h2", "How it was made"),
        tag("ul", [tag("li", note) for note in report.notes], class_="notes") if report.notes else None,
        tag("dl", _facts(report)),
        sections,
        files if report.files else None,
        id="settings",
    )


def _details(summary: str, caption: str, rows: list[Markup]) -> Markup | None:
    if not rows:
        return None
    table = tag("table", tag("caption", caption), tag("tbody", rows))
    return tag("details", tag("summary", summary), table)


def _rows(values: Iterable[tuple[str, str]]) -> list[Markup]:
    return [tag("tr", tag("th", name, scope="row"), tag("td", said)) for name, said in values]


def _prices(report: ReplayReport) -> Iterator[tuple[str, str]]:
    for name, table in report.price_tables.items():
        yield name, ", ".join(f"{key} {value:g}" for key, value in table.items())


def _projects(report: ReplayReport) -> Iterator[tuple[str, str]]:
    for name, count in report.projects.items():
        yield name, figures.grouped(count)


def _taus(report: ReplayReport) -> Iterator[tuple[str, str]]:
    budgets, taus = standing.sensitivity_of(report)
    for name, found in taus:
        yield (
            name,
            ", ".join(
                f"tau {figures.recall(tau)} at {figures.budget(b)}"
                for b, tau in zip(budgets, found, strict=True)
            ),
        )


def _checks(report: ReplayReport) -> Iterator[tuple[str, str]]:
    names, found = standing.checks_of(report)
    for policy, said in found:
        yield policy, ", ".join(f"{name}: {verdict}" for name, verdict in zip(names, said, strict=True))


def _facts(report: ReplayReport) -> list[Child]:
    numbers = ", ".join(f"{name} {value:g}" for name, value in report.measure.items())
    hard = ", ".join(
        f"{figures.budget(b)}: {figures.grouped(n)}" for b, n in sorted(report.hard_needs.items())
    )
    facts = {
        "In a sentence": f"{words.settings_sentence(report)}.",
        "The measure": numbers,
        "Common names": report.common_names,
        "Hard needs": hard,
        "Time": f"{figures.amount(report.seconds)} s" if report.seconds else "",
    }
    return [[tag("dt", name), tag("dd", said)] for name, said in facts.items() if said]
