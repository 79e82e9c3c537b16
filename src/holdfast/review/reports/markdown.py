"""A review for people, in Markdown.

Rule: what comes out of the diff or from a model is text and nothing else, and no secret is shown.
"""

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from holdfast.redaction import redact
from holdfast.review.finding import SEVERITIES, Finding
from holdfast.review.reports.plain import cell, code, fenced, inline
from holdfast.review.reports.report import Report
from holdfast.review.unit import Risk, Unit

_RISKS: tuple[Risk, ...] = ("high", "medium", "low")
_MOST_UNITS = 30
_LANGUAGES = {"py": "python", "js": "js", "ts": "ts", "go": "go", "rs": "rust", "rb": "ruby", "java": "java"}


def to_markdown(report: Report) -> str:
    parts = [f"# Review of {inline(report.title)}", _in_short(report)]
    if report.summary:
        parts.append(inline(redact(report.summary)))
    parts += _findings(report)
    parts += _units(report)
    parts += _unseen(report)
    parts += _dropped(report)
    return redact("\n\n".join(parts)) + "\n"


def _in_short(report: Report) -> str:
    counts = {name: sum(f.severity == name for f in report.findings.kept) for name in reversed(SEVERITIES)}
    found = ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "none"
    files = len({unit.path for unit in report.units})
    added = sum(unit.metrics.added for unit in report.units)
    removed = sum(unit.metrics.removed for unit in report.units)
    by = f"rules and {inline(report.model)}" if report.model else "rules only, no model"
    size = f"{_many(files, 'file')}, {_many(len(report.units), 'unit')}, +{added} −{removed} lines"
    return f"**Findings: {found}.** {size}; looked at by {by}."


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _findings(report: Report) -> Iterator[str]:
    severity = ""
    for finding in report.findings.ranked():
        if finding.severity != severity:
            severity = finding.severity
            yield f"## {severity.capitalize()}"
        yield from _finding(finding)


def _finding(finding: Finding) -> Iterator[str]:
    yield f"### {inline(finding.claim)}"
    older = " (before the change)" if finding.side == "old" else ""
    rule = f", rule `{finding.rule}`" if finding.rule else ""
    yield f"{code(place(finding))}{older} · {finding.category}{rule} · `{finding.id}`"
    if finding.evidence:
        language = _LANGUAGES.get(PurePosixPath(finding.path).suffix.lstrip(".").lower(), "")
        yield fenced("\n".join(finding.evidence), language)
    if finding.suggestion:
        yield f"Suggestion: {inline(finding.suggestion)}"
    if finding.patch:
        yield fenced(finding.patch, "diff")


def place(finding: Finding) -> str:
    """`path:line`, or `path:first-last`."""
    if not finding.line:
        return finding.path
    last = f"-{finding.last_line}" if finding.last_line > finding.line else ""
    return f"{finding.path}:{finding.line}{last}"


def _units(report: Report) -> Iterator[str]:
    if not report.units:
        return
    yield "## Units by risk"
    ranked = sorted(report.units, key=_rank)
    rows = [
        "| risk | unit | where | in | lines | tags | look at |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    rows += map(_row, ranked[:_MOST_UNITS])
    yield "\n".join(rows)
    if rest := ranked[_MOST_UNITS:]:
        counts = ", ".join(
            f"{count} {risk}" for risk in _RISKS if (count := sum(u.risk == risk for u in rest))
        )
        yield f"{_many(len(rest), 'more unit')}: {counts}."


def _rank(unit: Unit) -> tuple[int, int, str, int]:
    return (_RISKS.index(unit.risk), -(unit.metrics.added + unit.metrics.removed), unit.path, unit.new.first)


def _row(unit: Unit) -> str:
    symbol = cell(unit.symbol.name) if unit.symbol else ""
    lines = f"+{unit.metrics.added} −{unit.metrics.removed}"
    where = f"{unit.path}:{unit.new.first}" if unit.new.first else unit.path
    level = unit.suggestion.level.replace("_", " ")
    return (
        f"| {unit.risk} | `{unit.id}` | {cell(where)} | {symbol} | {lines} | {_words(unit.tags)} | {level} |"
    )


def _words(tags: Iterable[str]) -> str:
    return ", ".join(tag.replace("_", " ") for tag in tags)


def _unseen(report: Report) -> Iterator[str]:
    if report.unseen:
        yield "## Not looked at"
        yield "\n".join(f"- {code(one.path)}: {inline(one.reason)}" for one in report.unseen)


def _dropped(report: Report) -> Iterator[str]:
    """What was reported and is not shown above."""
    findings = report.findings
    said = [f"{count} for {reason.replace('_', ' ')}" for reason, count in findings.dropped.items()]
    notes = (
        [f"{_many(sum(findings.dropped.values()), 'finding')} dropped ({', '.join(said)})"] if said else []
    )
    if findings.patches:
        notes.append(f"{sum(findings.patches.values())} of the patches did not apply")
    if findings.merged:
        notes.append(f"{_many(len(findings.merged), 'finding')} merged into others")
    if notes:
        yield "; ".join(notes) + "."
