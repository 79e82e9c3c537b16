"""A review as JSON.

Rule: the shape is a contract. Keys are added, never renamed or removed, while `schema` stays `holdfast.review/1`.

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

import msgspec

from holdfast.redaction import redact
from holdfast.review.finding import SEVERITIES
from holdfast.review.findings import worst
from holdfast.review.reports.plain import escaped
from holdfast.review.reports.report import Report
from holdfast.review.unit import Level, Unit
from holdfast.version import __version__

SCHEMA = "holdfast.review/1"


def to_data(report: Report) -> dict[str, object]:
    kept = report.findings.ranked()
    return {
        "schema": SCHEMA,
        "tool": {"name": "holdfast", "version": __version__},
        "title": report.title,
        "model": report.model,
        "summary": redact(report.summary),
        "counts": {name: sum(finding.severity == name for finding in kept) for name in SEVERITIES},
        "worst": worst(kept),
        "findings": [msgspec.to_builtins(finding) for finding in kept],
        "dropped": report.findings.dropped,
        "dropped_patches": report.findings.patches,
        "merged": report.findings.merged,
        "units": [_unit(unit, report.level(unit)) for unit in report.units],
        "unseen": [msgspec.to_builtins(one) for one in report.unseen],
    }


def to_json(report: Report) -> str:
    return encode(to_data(report))


def encode(data: object) -> str:
    """JSON for people and programs. What is no character (a name that is not UTF-8) is written as one that
    stands for it."""
    text = msgspec.json.format(_encoded(data), indent=2).decode()
    return escaped(text) + "\n"


def _encoded(data: object) -> bytes:
    return msgspec.json.encode(_characters(data))


def _characters(data: object) -> object:
    if isinstance(data, str):
        return data.encode("utf-8", "replace").decode()
    if isinstance(data, dict):
        return {_characters(key): _characters(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_characters(value) for value in data]
    return data


def _unit(unit: Unit, level: Level) -> dict[str, object]:
    return {
        "id": unit.id,
        "path": unit.path,
        "old_path": unit.old_path,
        "change": unit.change,
        "language": unit.language,
        # What git says a hunk lies in is a line of the file.
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
