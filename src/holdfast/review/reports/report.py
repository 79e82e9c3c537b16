"""A review as it is reported: what was compared, its units, the findings, and what was not reviewed; and as JSON.

Rule: everything a report says is in this value; the three formats differ in form only. The shape of the JSON is a
contract: keys are added, never renamed or removed, while `schema` stays `holdfast.review/1`.

    {"schema": "holdfast.review/1", "tool": {"name": "holdfast", "version": str}, "title": str, "model": str,
     "summary": str,
     "counts": {"info": int, "low": int, "medium": int, "high": int, "critical": int},
     "worst": str | null,
     "findings": [{"id": str, "unit": str, "path": str, "line": int, "last_line": int, "side": "new" | "old",
                   "severity": str, "category": str, "claim": str, "evidence": [str], "suggestion": str,
                   "patch": str, "rule": str}],
     "dropped": {reason: int}, "dropped_patches": {reason: int}, "merged": {id: id},
     "units": [{"id": str, "path": str, "old_path": str, "change": str, "language": str, "symbol": str,
                "old": [first, last], "new": [first, last], "tags": [str], "risk": str, "level": str,
                "confidence": float, "reason": str, "added": int, "removed": int, "hunks": int,
                "complexity": int, "fan_in": int, "note": str}],
     "unseen": [{"path": str, "reason": str, "unit": str}]}

Findings come the most severe first. A `line` of 0 means the file as a whole.
"""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from holdfast.redaction import redact
from holdfast.review.escaping import escape_json
from holdfast.review.finding import SEVERITIES, Finding
from holdfast.review.findings import ReviewFindings, highest_severity
from holdfast.review.unit import Level, LevelDecision, Risk, Unit
from holdfast.version import __version__

SCHEMA = "holdfast.review/1"
RISKS: tuple[Risk, ...] = ("high", "medium", "low")


class SkippedUnit(Struct, frozen=True):
    """A unit that was not reviewed, and why."""

    path: str
    reason: str
    unit: str = ""


class ReviewReport(Struct, frozen=True, kw_only=True):
    """`model` is empty if only the rules were used; `decisions` are for units whose level a model asked for."""

    title: str
    units: tuple[Unit, ...] = ()
    findings: ReviewFindings = ReviewFindings()
    unseen: tuple[SkippedUnit, ...] = ()
    decisions: dict[str, LevelDecision] = {}
    model: str = ""
    summary: str = ""

    @property
    def size(self) -> str:
        """`3 files, 5 units, +12 −3 lines`."""
        files = len({unit.path for unit in self.units})
        added = sum(unit.metrics.added for unit in self.units)
        removed = sum(unit.metrics.removed for unit in self.units)
        return f"{pluralize(files, 'file')}, {pluralize(len(self.units), 'unit')}, +{added} −{removed} lines"

    @property
    def found(self) -> str:
        """`1 high, 2 low`, or `none`."""
        kept = self.findings.kept
        counts = {name: sum(finding.severity == name for finding in kept) for name in reversed(SEVERITIES)}
        return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "none"

    @property
    def left_out(self) -> str:
        """What was reported and is not shown; empty if there is nothing."""
        findings = self.findings
        reasons = [f"{count} for {reason.replace('_', ' ')}" for reason, count in findings.dropped.items()]
        notes = []
        if reasons:
            dropped = pluralize(sum(findings.dropped.values()), "finding")
            notes.append(f"{dropped} dropped ({', '.join(reasons)})")
        if findings.patches:
            notes.append(f"{sum(findings.patches.values())} of the patches did not apply")
        if findings.merged:
            notes.append(f"{pluralize(len(findings.merged), 'finding')} merged into others")
        return "; ".join(notes)

    def level(self, unit: Unit) -> Level:
        """How closely a unit is reviewed."""
        decided = self.decisions.get(unit.id)
        return decided.level if decided else unit.suggestion.level

    def ranked_units(self) -> list[Unit]:
        """The riskiest first, then the largest."""
        return sorted(self.units, key=_rank)


def risks_of(units: Sequence[Unit]) -> str:
    """`2 high, 31 low`."""
    counts = {risk: sum(unit.risk == risk for unit in units) for risk in RISKS}
    return ", ".join(f"{count} {risk}" for risk, count in counts.items() if count)


def finding_place(finding: Finding) -> str:
    """`path:line`, or `path:first-last`."""
    if not finding.line:
        return finding.path
    last = f"-{finding.last_line}" if finding.last_line > finding.line else ""
    return f"{finding.path}:{finding.line}{last}"


def unit_place(unit: Unit) -> str:
    """`path:line`, or only the path if no lines are left."""
    return f"{unit.path}:{unit.new.first}" if unit.new.first else unit.path


def pluralize(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _rank(unit: Unit) -> tuple[int, int, str, int]:
    return (RISKS.index(unit.risk), -(unit.metrics.added + unit.metrics.removed), unit.path, unit.new.first)


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
        "dropped": report.findings.dropped,
        "dropped_patches": report.findings.patches,
        "merged": report.findings.merged,
        "units": [_unit_data(unit, report.level(unit)) for unit in report.units],
        "unseen": [msgspec.to_builtins(one) for one in report.unseen],
    }
    return encode_json(data)


def encode_json(data: object) -> str:
    """Indented JSON. What is not a character (in a name that is not UTF-8) is replaced by `?`."""
    text = msgspec.json.format(msgspec.json.encode(_replace_surrogates(data)), indent=2).decode()
    return escape_json(text) + "\n"


def _replace_surrogates(data: object) -> object:
    if isinstance(data, str):
        return data.encode("utf-8", "replace").decode()
    if isinstance(data, dict):
        return {_replace_surrogates(key): _replace_surrogates(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_replace_surrogates(value) for value in data]
    return data


def _unit_data(unit: Unit, level: Level) -> dict[str, object]:
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
