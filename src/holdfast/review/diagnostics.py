"""A review as lists of diagnostics: GitLab's code quality report, and reviewdog's rdjson.

Rule: a fingerprint is the finding's id. A finding about deleted lines is one about the file: their numbers mean
nothing on the new side.
"""

from holdfast.review.finding import Finding, Severity
from holdfast.review.github import current_path
from holdfast.review.report import ReviewReport, encode_json, finding_place
from holdfast.review.suggestions import replacements

_GITLAB: dict[Severity, str] = {
    "info": "info",
    "low": "minor",
    "medium": "major",
    "high": "critical",
    "critical": "blocker",
}
_RDJSON: dict[Severity, str] = {
    "info": "INFO",
    "low": "INFO",
    "medium": "WARNING",
    "high": "ERROR",
    "critical": "ERROR",
}


def to_gitlab(report: ReviewReport) -> str:
    """The report that `artifacts:reports:codequality` takes."""
    return encode_json(
        [
            {
                "description": _message(finding, " "),
                "check_name": finding.rule or f"review/{finding.category}",
                "fingerprint": finding.id,
                "severity": _GITLAB[finding.severity],
                "location": {
                    "path": current_path(report, finding),
                    "lines": _lines(finding) or {"begin": 1},
                },
            }
            for finding in report.findings.ranked()
        ]
    )


def to_rdjson(report: ReviewReport) -> str:
    """A `DiagnosticResult` for `reviewdog -f=rdjson`."""
    found = [_diagnostic(report, finding) for finding in report.findings.ranked()]
    return encode_json({"source": {"name": "holdfast"}, "diagnostics": found})


def _message(finding: Finding, between: str) -> str:
    older = f"{finding_place(finding)} before the change: " if finding.side == "old" else ""
    return older + finding.claim + (between + finding.suggestion if finding.suggestion else "")


def _lines(finding: Finding) -> dict[str, int]:
    if finding.side == "old" or not finding.line:
        return {}
    return {"begin": finding.line, "end": finding.last_line}


def _diagnostic(report: ReviewReport, finding: Finding) -> dict[str, object]:
    location: dict[str, object] = {"path": current_path(report, finding)}
    if lines := _lines(finding):
        # Without columns the end is the last line itself.
        location["range"] = {"start": {"line": lines["begin"]}, "end": {"line": lines["end"]}}
    diagnostic: dict[str, object] = {
        "message": _message(finding, "\n"),
        "location": location,
        "severity": _RDJSON[finding.severity],
        "code": {"value": finding.rule or f"review/{finding.category}"},
    }
    if finding.patch:
        diagnostic["suggestions"] = [
            {
                "range": {"start": {"line": one.first, "column": 1}, "end": {"line": one.end, "column": 1}},
                "text": one.text,
            }
            for one in replacements(finding.patch)
        ]
    return diagnostic
