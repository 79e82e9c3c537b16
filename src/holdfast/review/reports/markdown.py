"""A review as Markdown.

Rule: text from the diff or from a model stays text, and no secret is shown.
"""

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from holdfast.redaction import redact
from holdfast.review.escaping import code_block, code_span, escape_inline, table_cell
from holdfast.review.finding import Finding
from holdfast.review.reports.report import (
    ReviewReport,
    finding_place,
    pluralize,
    risks_of,
    unit_place,
)
from holdfast.review.unit import Level, Unit

_MAX_UNITS = 30
_LANGUAGES = {"py": "python", "js": "js", "ts": "ts", "go": "go", "rs": "rust", "rb": "ruby", "java": "java"}


def to_markdown(report: ReviewReport) -> str:
    parts = [f"# Review of {escape_inline(report.title)}", _overview(report)]
    if report.summary:
        parts.append(escape_inline(redact(report.summary)))
    parts += _findings(report)
    parts += _units(report)
    parts += _unseen(report)
    if report.left_out:
        parts.append(f"{report.left_out}.")
    return redact("\n\n".join(parts)) + "\n"


def _overview(report: ReviewReport) -> str:
    by = f"rules and {escape_inline(report.model)}" if report.model else "rules only, no model"
    return f"**Findings: {report.found}.** {report.size}; reviewed by {by}."


def _findings(report: ReviewReport) -> Iterator[str]:
    severity = ""
    for finding in report.findings.ranked():
        if finding.severity != severity:
            severity = finding.severity
            yield f"## {severity.capitalize()}"
        yield from _finding(finding)


def _finding(finding: Finding) -> Iterator[str]:
    yield f"### {escape_inline(finding.claim)}"
    older = " (before the change)" if finding.side == "old" else ""
    rule = f", rule `{finding.rule}`" if finding.rule else ""
    yield f"{code_span(finding_place(finding))}{older} · {finding.category}{rule} · `{finding.id}`"
    if finding.evidence:
        language = _LANGUAGES.get(PurePosixPath(finding.path).suffix.lstrip(".").lower(), "")
        yield code_block("\n".join(finding.evidence), language)
    if finding.suggestion:
        yield f"Suggestion: {escape_inline(finding.suggestion)}"
    if finding.patch:
        yield code_block(finding.patch, "diff")


def _units(report: ReviewReport) -> Iterator[str]:
    if not report.units:
        return
    yield "## Units by risk"
    ranked = report.ranked_units()
    rows = [
        "| risk | unit | where | in | lines | tags | look at |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    rows += [_row(unit, report.level(unit)) for unit in ranked[:_MAX_UNITS]]
    yield "\n".join(rows)
    if rest := ranked[_MAX_UNITS:]:
        yield f"{pluralize(len(rest), 'more unit')}: {risks_of(rest)}."


def _row(unit: Unit, level: Level) -> str:
    symbol = table_cell(unit.symbol.name) if unit.symbol else ""
    lines = f"+{unit.metrics.added} −{unit.metrics.removed}"
    where = table_cell(unit_place(unit))
    return f"| {unit.risk} | `{unit.id}` | {where} | {symbol} | {lines} | {_words(unit.tags)} | {_words([level])} |"


def _words(tags: Iterable[str]) -> str:
    return ", ".join(tag.replace("_", " ") for tag in tags)


def _unseen(report: ReviewReport) -> Iterator[str]:
    if report.unseen:
        yield "## Not reviewed"
        yield "\n".join(
            f"- {code_span(one.path)}: {escape_inline(one.reason)}" for one in report.unseen[:_MAX_UNITS]
        )
        if rest := report.unseen[_MAX_UNITS:]:
            yield f"{pluralize(len(rest), 'more unit')}, of {pluralize(len({one.path for one in rest}), 'file')}."
