"""A review as it is reported: what was compared, its units, the findings, and what was not reviewed; and the
report as JSON and as Markdown.

Rule: everything a report says is in this value; the formats differ in form only. In Markdown, text from the diff or
from a model stays text, and no secret is shown. The shape of the JSON is a contract: keys are added, never renamed
or removed, while `schema` stays `holdfast.review/1`.

    {"schema": "holdfast.review/1", "tool": {"name": "holdfast", "version": str}, "title": str, "model": str,
     "summary": str,
     "counts": {"info": int, "low": int, "medium": int, "high": int, "critical": int},
     "worst": str | null,
     "findings": [{"id": str, "unit": str, "path": str, "line": int, "last_line": int, "side": "new" | "old",
                   "severity": str, "category": str, "claim": str, "evidence": [str], "suggestion": str,
                   "patch": str, "rule": str, "explained": str, "also": [str]}],
     "linters": [{"name": str, "findings": int, "trouble": str}],
     "dropped": {reason: int}, "dropped_patches": {reason: int}, "merged": {id: id},
     "duplicates": [the merged findings, as they were reported], "gone": [findings of earlier runs],
     "units": [{"id": str, "path": str, "old_path": str, "change": str, "language": str, "symbol": str,
                "old": [first, last], "new": [first, last], "tags": [str], "risk": str, "level": str,
                "confidence": float, "reason": str, "added": int, "removed": int, "hunks": int,
                "complexity": int, "fan_in": int, "note": str}],
     "unseen": [{"path": str, "reason": str, "unit": str}],
     "hidden_counts": {by: int},
     "hidden": [{"by": "comment" | "configuration" | "baseline", "reason": str, "finding": {...}}]}

Findings come the most severe first. A `line` of 0 means the file as a whole.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Literal

import msgspec
from msgspec import Struct

from holdfast.numbers import counted, grouped
from holdfast.redaction import redact
from holdfast.review.escaping import code_block, code_span, escape_inline, escape_json, table_cell
from holdfast.review.finding import SEVERITIES, Finding
from holdfast.review.findings import ReviewFindings, highest_severity
from holdfast.review.linter_findings import LinterRun, count_linter_findings
from holdfast.review.unit import LevelDecision, ReviewLevel, Risk, Unit
from holdfast.version import __version__

SCHEMA = "holdfast.review/1"
RISKS: tuple[Risk, ...] = ("high", "medium", "low")
_MAX_UNITS = 30
_HIDERS = {"comment": "comments", "configuration": "the configuration", "baseline": "the baseline"}
_LANGUAGES = {"py": "python", "js": "js", "ts": "ts", "go": "go", "rs": "rust", "rb": "ruby", "java": "java"}


class SkippedUnit(Struct, frozen=True):
    """A unit that was not reviewed, and why."""

    path: str
    reason: str
    unit: str = ""


class HiddenFinding(Struct, frozen=True):
    """A finding that is not reported; `reason` is the comment's, or the name of the file that hides it."""

    finding: Finding
    by: Literal["comment", "configuration", "baseline"]
    reason: str = ""


class ReviewReport(Struct, frozen=True, kw_only=True):
    """`model` is empty if only the rules were used; `decisions` are for units whose level a model asked for."""

    title: str
    units: tuple[Unit, ...] = ()
    findings: ReviewFindings = ReviewFindings()
    unseen: tuple[SkippedUnit, ...] = ()
    decisions: dict[str, LevelDecision] = {}
    model: str = ""
    summary: str = ""
    linters: tuple[LinterRun, ...] = ()
    hidden: tuple[HiddenFinding, ...] = ()

    @property
    def size(self) -> str:
        """`3 files, 5 units, +12 −3 lines`."""
        files = len({unit.path for unit in self.units})
        added = sum(unit.metrics.added for unit in self.units)
        removed = sum(unit.metrics.removed for unit in self.units)
        lines = f"+{grouped(added)} −{grouped(removed)} lines"
        return f"{counted(files, 'file')}, {counted(len(self.units), 'unit')}, {lines}"

    @property
    def found(self) -> str:
        """`1 high, 2 low`, or `none`."""
        return _tally(reversed(SEVERITIES), [finding.severity for finding in self.findings.kept]) or "none"

    @property
    def left_out(self) -> str:
        """What was reported and is not shown; empty if there is nothing."""
        findings = self.findings
        reasons = [f"{count} for {reason.replace('_', ' ')}" for reason, count in findings.dropped.items()]
        notes = []
        if reasons:
            dropped = counted(sum(findings.dropped.values()), "finding")
            notes.append(f"{dropped} dropped ({', '.join(reasons)})")
        if findings.patches:
            notes.append(f"{sum(findings.patches.values())} of the patches did not apply")
        if findings.merged:
            notes.append(f"{counted(len(findings.merged), 'finding')} merged into others")
        if findings.gone:
            notes.append(f"{counted(len(findings.gone), 'finding')} dropped because the change moved on")
        return "; ".join(notes)

    @property
    def linted(self) -> str:
        """What each linter found in the changed lines, and what went wrong; empty if none was run."""
        troubles = [run.trouble for run in self.linters if run.trouble]
        counts = f"linters: {count_linter_findings(self.linters)}" if self.linters else ""
        return "; ".join([counts, *troubles])

    @property
    def hidden_size(self) -> str:
        """`3 findings are hidden: 2 high, 1 low (2 by comments, 1 by the baseline)`; empty if none is."""
        if not self.hidden:
            return ""
        severities = _tally(reversed(SEVERITIES), [one.finding.severity for one in self.hidden])
        ways = ", ".join(f"{count} by {_HIDERS[by]}" for by, count in self.hidden_counts.items())
        verb = "is" if len(self.hidden) == 1 else "are"
        return f"{counted(len(self.hidden), 'finding')} {verb} hidden: {severities} ({ways})"

    @property
    def hidden_counts(self) -> dict[str, int]:
        by = [one.by for one in self.hidden]
        return {name: by.count(name) for name in _HIDERS if name in by}

    @property
    def not_listed(self) -> list[str]:
        """The findings that were merged or whose lines are gone, one a line."""
        merged = self.findings.merged
        same = [
            f"merged into {merged.get(one.id, one.id)}: {_brief(one)}" for one in self.findings.duplicates
        ]
        return same + [f"no longer in the change: {_brief(one)}" for one in self.findings.gone]

    def level(self, unit: Unit) -> ReviewLevel:
        """How closely a unit is reviewed."""
        decided = self.decisions.get(unit.id)
        return decided.level if decided else unit.suggestion.level

    def ranked_units(self) -> list[Unit]:
        """The riskiest first, then code, then the largest; what nobody wrote last."""

        def rank(unit: Unit) -> tuple[object, ...]:
            is_text = unit.has("docs")
            return (
                RISKS.index(unit.risk),
                unit.has("generated"),
                is_text,
                -unit.lines,
                unit.path,
                unit.new.first,
            )

        return sorted(self.units, key=rank)


def risks_of(units: Sequence[Unit]) -> str:
    """`2 high, 31 low`."""
    return _tally(RISKS, [unit.risk for unit in units])


def _tally(names: Iterable[str], values: Sequence[str]) -> str:
    """How often each name is there, without those that are not."""
    return ", ".join(f"{values.count(name)} {name}" for name in names if name in values)


def finding_place(finding: Finding) -> str:
    """`path:line`, or `path:first-last`."""
    if not finding.line:
        return finding.path
    last = f"-{finding.last_line}" if finding.last_line > finding.line else ""
    return f"{finding.path}:{finding.line}{last}"


def _brief(finding: Finding) -> str:
    more = f" ({finding.suggestion})" if finding.suggestion else ""
    return f"{finding.severity} {finding_place(finding)} {' '.join(finding.claim.split())}{more}"


def unit_place(unit: Unit) -> str:
    """`path:line`, or only the path if no lines are left."""
    return f"{unit.path}:{unit.new.first}" if unit.new.first else unit.path


def to_json(report: ReviewReport) -> str:
    kept = report.findings.ranked()
    data = {
        "schema": SCHEMA,
        "tool": {"name": "holdfast", "version": __version__},
        "title": report.title,
        "model": report.model,
        "summary": redact(report.summary),
        "counts": {name: sum(finding.severity == name for finding in kept) for name in SEVERITIES},
        "worst": highest_severity(kept),
        "findings": [msgspec.to_builtins(finding) for finding in kept],
        "linters": [msgspec.to_builtins(run) for run in report.linters],
        "dropped": report.findings.dropped,
        "dropped_patches": report.findings.patches,
        "merged": report.findings.merged,
        "duplicates": [msgspec.to_builtins(finding) for finding in report.findings.duplicates],
        "gone": [msgspec.to_builtins(finding) for finding in report.findings.gone],
        "units": [_unit_data(unit, report.level(unit)) for unit in report.units],
        "unseen": [msgspec.to_builtins(one) for one in report.unseen],
        "hidden_counts": report.hidden_counts,
        "hidden": [msgspec.to_builtins(one) for one in report.hidden],
    }
    return encode_json(data)


def encode_json(data: object) -> str:
    """Indented JSON. What is not a character (in a name that is not UTF-8) is replaced by `?`."""
    text = json.dumps(data, ensure_ascii=False, indent=2)
    return escape_json(text.encode("utf-8", "replace").decode()) + "\n"


def _unit_data(unit: Unit, level: ReviewLevel) -> dict[str, object]:
    return {
        "id": unit.id,
        "path": unit.path,
        "old_path": unit.old_path,
        "change": unit.change,
        "language": unit.language,
        # The heading of a hunk is a line of the file.
        "symbol": redact(unit.symbol.name) if unit.symbol else "",
        "old": [unit.old.first, unit.old.last],
        "new": [unit.new.first, unit.new.last],
        "tags": list(unit.tags),
        "risk": unit.risk,
        "level": level,
        "suggested": unit.suggestion.level,
        "confidence": unit.suggestion.confidence,
        "reason": unit.suggestion.reason,
        **msgspec.to_builtins(unit.metrics),
        "note": unit.note,
    }


def to_markdown(report: ReviewReport) -> str:
    parts = [f"# Review of {escape_inline(report.title)}", _overview(report)]
    if report.summary:
        parts.append(escape_inline(redact(report.summary)))
    parts += _findings(report)
    parts += _units(report)
    parts += _unseen(report)
    parts += _hidden(report)
    parts += [f"{said}." for said in (escape_inline(report.linted), report.left_out) if said]
    if report.not_listed:
        parts.append("\n".join(f"- {escape_inline(line)}" for line in report.not_listed))
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
    rule = ", ".join(map(code_span, (finding.rule, *finding.also)))
    rule = f", rule {rule}" if finding.rule else ""
    yield f"{code_span(finding_place(finding))}{older} · {finding.category}{rule} · `{finding.id}`"
    if finding.evidence:
        language = _LANGUAGES.get(PurePosixPath(finding.path).suffix.lstrip(".").lower(), "")
        yield code_block("\n".join(finding.evidence), language)
    if finding.explained:
        yield f"The author says: {escape_inline(finding.explained)}"
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
    rows += [_table_row(unit, report.level(unit)) for unit in ranked[:_MAX_UNITS]]
    yield "\n".join(rows)
    if rest := ranked[_MAX_UNITS:]:
        yield f"{counted(len(rest), 'more unit')}: {risks_of(rest)}."


def _table_row(unit: Unit, level: ReviewLevel) -> str:
    symbol = table_cell(unit.symbol.name) if unit.symbol else ""
    lines = f"+{grouped(unit.metrics.added)} −{grouped(unit.metrics.removed)}"
    where = table_cell(unit_place(unit))
    return f"| {unit.risk} | `{unit.id}` | {where} | {symbol} | {lines} | {_words(unit.tags)} | {_words([level])} |"


def _words(tags: Iterable[str]) -> str:
    return ", ".join(tag.replace("_", " ") for tag in tags)


def _hidden(report: ReviewReport) -> Iterator[str]:
    if report.hidden:
        yield "## Hidden"
        yield f"{report.hidden_size}."
        rows = [_hidden_row(one) for one in report.hidden[:_MAX_UNITS]]
        if rest := len(report.hidden) - _MAX_UNITS:
            rows += [f"- {counted(rest, 'more finding')}"] if rest > 0 else []
        yield "\n".join(rows)


def _hidden_row(one: HiddenFinding) -> str:
    finding = one.finding
    place = code_span(finding_place(finding))
    claim, reason = escape_inline(finding.claim), escape_inline(one.reason)
    return f"- {finding.severity} {place} {claim} `{finding.id}`, by {one.by}: {reason}"


def _unseen(report: ReviewReport) -> Iterator[str]:
    if report.unseen:
        yield "## Not reviewed"
        yield "\n".join(
            f"- {code_span(one.path)}: {escape_inline(one.reason)}" for one in report.unseen[:_MAX_UNITS]
        )
        if rest := report.unseen[_MAX_UNITS:]:
            yield f"{counted(len(rest), 'more unit')}, of {counted(len({one.path for one in rest}), 'file')}."
