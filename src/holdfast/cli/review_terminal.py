"""A review for a person at a terminal: units by risk, then what was found, the most severe first.

Rule: what comes from the diff is text. Control characters, and those that would reorder or hide text, are shown by
their numbers. A severity is a word; its colour only repeats it.
"""

import sys
from collections.abc import Iterator

from rich.padding import Padding
from rich.text import Text

from holdfast.cli.streams import printable, write
from holdfast.cli.tables import draw, name, print_heading, print_table, width_of, wrapped
from holdfast.numbers import counted, grouped
from holdfast.redaction import redact
from holdfast.review.escaping import show_invisible
from holdfast.review.finding import Finding, Severity
from holdfast.review.report import ReviewReport, finding_place, risks_of, unit_place
from holdfast.review.silence import rule_of
from holdfast.review.unit import ReviewLevel, Unit

MOST_UNITS = 12
MOST_FINDINGS = 50
MOST_HIDDEN = 5
MOST_LINES = 8
"""Of the evidence of one finding."""
INDENT = 4

COLOURS: dict[Severity, str] = {
    "critical": "bold red",
    "high": "red",
    "medium": "yellow",
    "low": "cyan",
    "info": "dim",
}


def print_report(report: ReviewReport) -> None:
    if report.units:
        by = f"rules and {report.model}" if report.model else "rules only, no model"
        print_heading(f"{_safe(report.title)}: {report.size}; reviewed by {_safe(by)}")
        _print_units(report)
    ranked = report.findings.ranked()
    print_heading(f"findings: {report.found}")
    parts = [part for finding in ranked[:MOST_FINDINGS] for part in _finding(finding)]
    rest = len(ranked) - MOST_FINDINGS
    more = f"{counted(rest, 'more finding')}; `--markdown` and `--json` have all" if rest > 0 else ""
    parts += [
        Text(f"\n{said}")
        for said in (more, _safe(report.linted), report.left_out, _hidden(report), _safe(report.summary))
        if said
    ]
    parts += [_inner(_safe(line), style="dim") for line in report.not_listed]
    write(draw(parts, sys.stdout, width_of(sys.stdout)))


def _hidden(report: ReviewReport) -> str:
    """How many findings are hidden, and the first of them."""
    shown = [(one.finding, _safe(one.reason)) for one in report.hidden[:MOST_HIDDEN]]
    rows = [f"  {one.severity}  {_safe(finding_place(one))}  {rule_of(one)}: {why}" for one, why in shown]
    rest = len(report.hidden) - MOST_HIDDEN
    more = [f"  {counted(rest, 'more finding')}; `--markdown` and `--json` have them"] if rest > 0 else []
    return "\n".join([report.hidden_size, *rows, *more])


def _print_units(report: ReviewReport) -> None:
    write("\n")
    ranked = report.ranked_units()
    columns = [name("risk"), name("look at"), name("lines"), wrapped("unit")]
    print_table(columns, [_row(unit, report.level(unit)) for unit in ranked[:MOST_UNITS]])
    if rest := ranked[MOST_UNITS:]:
        write(f"{counted(len(rest), 'more unit')}: {risks_of(rest)}\n")
    if report.unseen:
        files = sorted({_safe(one.path) for one in report.unseen})
        more = f" and {len(files) - 3} more" if len(files) > 3 else ""
        write(f"skipped by the rules: {', '.join(files[:3])}{more}\n")


def _row(unit: Unit, level: ReviewLevel) -> tuple[str, ...]:
    symbol = unit.symbol.name if unit.symbol else unit.note
    words = ", ".join(tag.replace("_", " ") for tag in unit.tags)
    about = " · ".join(part for part in (_safe(symbol), words) if part)
    lines = f"+{grouped(unit.metrics.added)} −{grouped(unit.metrics.removed)}"
    return (unit.risk, level.replace("_", " "), lines, f"{_safe(unit_place(unit))}  {about}".rstrip())


def _finding(finding: Finding) -> Iterator[Text | Padding]:
    older = " (before the change)" if finding.side == "old" else ""
    head = Text("\n")
    head.append(finding.severity, style=COLOURS[finding.severity])
    head.append(f"  {_safe(finding_place(finding))}{older}", style="bold")
    yield head
    yield _inner(_safe(finding.claim))
    for line in finding.evidence[:MOST_LINES]:
        yield _inner(_code(line), style="dim")
    if rest := finding.evidence[MOST_LINES:]:
        yield _inner(f"│ … {counted(len(rest), 'more line')}", style="dim")
    if finding.explained:
        yield _inner(f"the author says: {_safe(finding.explained)}")
    if finding.suggestion:
        yield _inner(f"→ {_safe(finding.suggestion)}")
    for line in finding.patch.splitlines():
        yield _inner(_code(line))
    rule = "".join(f" · {_safe(one)}" for one in (finding.rule, *finding.also) if one)
    yield _inner(f"{finding.category}{rule} · {finding.id}", style="dim")


def _inner(words: str, style: str = "") -> Padding:
    return Padding(Text(words, style=style), (0, 0, 0, INDENT))


def _code(line: str) -> str:
    return f"│ {printable(show_invisible(redact(line).expandtabs(4)))}"


def _safe(words: str) -> str:
    """On one line, without control characters and secrets."""
    return printable(" ".join(show_invisible(redact(words)).split()))
