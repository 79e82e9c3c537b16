"""A review as SARIF 2.1.0, for code scanning in CI.

Rule: paths are relative to the root of the repository, and a result's fingerprint is the finding's id, so that a
service recognises it when lines above it move. Fixes are made from the patch alone.
"""

from typing import Literal
from urllib.parse import quote

from holdfast.review.checks import RULES
from holdfast.review.finding import Finding, Severity
from holdfast.review.linter_findings import is_linter_rule
from holdfast.review.report import HiddenFinding, ReviewReport, encode_json
from holdfast.review.suggestions import LineReplacement, replacements
from holdfast.version import __version__

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_BASE = "SRCROOT"
_LEVELS: dict[Severity, tuple[Literal["note", "warning", "error"], str]] = {
    "info": ("note", "0.0"),
    "low": ("note", "3.0"),
    "medium": ("warning", "5.5"),
    "high": ("error", "8.0"),
    "critical": ("error", "9.5"),
}
"""The level, and the number by which services sort results with the tag `security`."""


def to_sarif(report: ReviewReport) -> str:
    kept = report.findings.ranked()
    hidden = [one.finding for one in report.hidden]
    rules = list(dict.fromkeys(map(_rule_id, (*kept, *hidden))))
    driver = {
        "name": "holdfast",
        "version": __version__,
        "rules": [_rule(name) for name in rules],
    }
    run: dict[str, object] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_BASE: {"description": {"text": "The root of the repository."}}},
        "results": [
            *(_result(finding, rules.index(_rule_id(finding))) for finding in kept),
            *(_suppressed(one, rules.index(_rule_id(one.finding))) for one in report.hidden),
        ],
        "properties": {"title": report.title, "model": report.model},
    }
    if notes := _notes(report):
        run["invocations"] = [{"executionSuccessful": True, "toolExecutionNotifications": notes}]
    return encode_json({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _notes(report: ReviewReport) -> list[dict[str, object]]:
    troubles = [run.trouble for run in report.linters if run.trouble]
    failed: list[dict[str, object]] = [{"level": "warning", "message": {"text": said}} for said in troubles]
    return failed + [
        {
            "level": "note",
            "message": {"text": f"Not reviewed: {one.reason}"},
            "locations": [{"physicalLocation": {"artifactLocation": _artifact(one.path)}}],
        }
        for one in report.unseen
    ]


def _rule_id(finding: Finding) -> str:
    return finding.rule or f"review/{finding.category}"


def _rule(name: str) -> dict[str, object]:
    rule = RULES.get(name)
    if rule is None and is_linter_rule(name):
        linter, _, code = name.partition(":")
        return {
            "id": name,
            "shortDescription": {"text": f"{code} of {linter}"},
            "properties": {"tags": ["review", "linter", linter]},
        }
    if rule is None:
        category = name.rpartition("/")[2]
        return {
            "id": name,
            "shortDescription": {"text": f"A reviewer's finding about {category}"},
            "properties": {"tags": ["review", category]},
        }
    level, number = _LEVELS[rule.severity]
    security = {"security-severity": number} if rule.category == "security" else {}
    return {
        "id": name,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.help},
        "help": {"text": rule.help},
        "defaultConfiguration": {"level": level},
        "properties": {"tags": ["review", rule.category], **security},
    }


def _result(finding: Finding, rule: int) -> dict[str, object]:
    text = finding.claim + (f"\n\n{finding.suggestion}" if finding.suggestion else "")
    about = ("severity", "category", "unit", "side", *(("also",) if finding.also else ()))
    result: dict[str, object] = {
        "ruleId": _rule_id(finding),
        "ruleIndex": rule,
        "level": _LEVELS[finding.severity][0],
        "message": {"text": text},
        "locations": [{"physicalLocation": _location(finding)}],
        "partialFingerprints": {"holdfastFindingId/v1": finding.id},
        "properties": {name: getattr(finding, name) for name in about},
    }
    if finding.patch:
        result["fixes"] = [_fix(finding)]
    return result


def _suppressed(one: HiddenFinding, rule: int) -> dict[str, object]:
    kind = "inSource" if one.by == "comment" else "external"
    suppression = {"kind": kind, "status": "accepted", "justification": one.reason or one.by}
    return {**_result(one.finding, rule), "suppressions": [suppression]}


def _artifact(path: str) -> dict[str, object]:
    """A relative URI. Colons are encoded too, since a name could be taken for a scheme."""
    return {"uri": quote(path.encode("utf-8", "surrogateescape"), safe="/"), "uriBaseId": _BASE}


def _location(finding: Finding) -> dict[str, object]:
    """For deleted lines only the file: line numbers of the old side mean nothing on the new one."""
    location: dict[str, object] = {"artifactLocation": _artifact(finding.path)}
    if finding.line and finding.side == "new":
        region: dict[str, object] = {"startLine": finding.line, "endLine": finding.last_line}
        if finding.evidence:
            region["snippet"] = {"text": "\n".join(finding.evidence)}
        location["region"] = region
    return location


def _fix(finding: Finding) -> dict[str, object]:
    changes = {
        "artifactLocation": _artifact(finding.path),
        "replacements": list(map(_replacement, replacements(finding.patch))),
    }
    return {
        "description": {"text": finding.suggestion or "The suggested change."},
        "artifactChanges": [changes],
    }


def _replacement(one: LineReplacement) -> dict[str, object]:
    """Whole lines, up to the start of the line after them."""
    region = {"startLine": one.first, "startColumn": 1, "endLine": one.end, "endColumn": 1}
    return {"deletedRegion": region} | ({"insertedContent": {"text": one.text}} if one.text else {})
