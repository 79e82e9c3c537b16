"""A review for GitHub: annotations of a workflow run, and a review of a pull request with suggestions.

Rule: what a finding or a line says ends no annotation and starts no command, and mentions nobody. A comment is only
on lines that the change shows; GitHub refuses a whole review for one other line, so everything else goes into the
review's text. The review only comments: it neither approves nor blocks.
"""

from collections.abc import Iterator

from holdfast.numbers import counted
from holdfast.redaction import redact
from holdfast.review.diff import Hunk
from holdfast.review.escaping import code_block, code_span, escape_inline, show_invisible
from holdfast.review.finding import Finding, Severity
from holdfast.review.report import ReviewReport, encode_json, finding_place
from holdfast.review.suggestions import whole_replacement

MOST_COMMENTS = 50
MOST_SUMMARY = 20_000
MOST_TEXT = 60_000
"""GitHub refuses a text of more than 65,536 characters."""
_COMMANDS: dict[Severity, str] = {
    "info": "notice",
    "low": "notice",
    "medium": "warning",
    "high": "error",
    "critical": "error",
}


def to_annotations(report: ReviewReport) -> str:
    """Workflow commands, one a finding, the most severe first: of each kind GitHub shows ten for a step."""
    lines = [_annotation(report, finding) for finding in report.findings.ranked()]
    lines += [f"::notice title=holdfast::{_escaped(line)}" for line in report.not_listed]
    return "".join(f"{line}\n" for line in lines)


def _annotation(report: ReviewReport, finding: Finding) -> str:
    place = {"file": current_path(report, finding)}
    if finding.side == "new" and finding.line:
        place |= {"line": str(finding.line), "endLine": str(finding.last_line)}
    name = finding.rule or finding.category
    place["title"] = f"{finding.severity} {name} ({finding.id})"
    properties = ",".join(f"{key}={_property(value)}" for key, value in place.items())
    older = " (before the change)" if finding.side == "old" else ""
    said = f"{finding_place(finding)}{older}: {finding.claim}" if finding.side == "old" else finding.claim
    message = f"{said}\n{finding.suggestion}" if finding.suggestion else said
    return f"::{_COMMANDS[finding.severity]} {properties}::{_escaped(message)}"


def _escaped(message: str) -> str:
    shown = show_invisible(redact(message).replace("\r\n", "\n").replace("\r", "\n"))
    return shown.replace("%", "%25").replace("\n", "%0A")


def _property(value: str) -> str:
    return _escaped(value).replace(":", "%3A").replace(",", "%2C")


def current_path(report: ReviewReport, finding: Finding) -> str:
    """The path after the change, where a finding names a moved file as it was."""
    paths = {unit.old_path: unit.path for unit in report.units} | {
        unit.path: unit.path for unit in report.units
    }
    return paths.get(finding.path, finding.path)


def to_review(report: ReviewReport) -> str:
    """The JSON that `POST /repos/OWNER/REPO/pulls/NUMBER/reviews` takes."""
    comments: list[dict[str, object]] = []
    rest: list[Finding] = []
    for finding in report.findings.ranked():
        comment = _comment(report, finding) if len(comments) < MOST_COMMENTS else None
        if comment is None:
            rest.append(finding)
        else:
            comments.append(comment)
    return encode_json({"body": _body(report, rest), "event": "COMMENT", "comments": comments})


def _comment(report: ReviewReport, finding: Finding) -> dict[str, object] | None:
    """A comment on the finding's lines, or on those that its patch replaces; None if the change does not show
    them."""
    suggested = _suggestion(report, finding)
    span = suggested[:2] if suggested else _shown_span(report, finding, finding.line, finding.last_line)
    if span is None:
        return None
    body = "\n\n".join(_words(finding, suggested[2] if suggested else ""))
    comment: dict[str, object] = {
        "path": current_path(report, finding),
        "body": redact(body)[:MOST_TEXT],
        "line": span[1],
        "side": "RIGHT" if finding.side == "new" else "LEFT",
    }
    if span[0] < span[1]:
        comment |= {"start_line": span[0], "start_side": comment["side"]}
    return comment


def _text(said: str) -> str:
    """With a comment after each `@`, so that nobody is notified."""
    return escape_inline(redact(said)).replace("@", "@<!-- -->")


def _words(finding: Finding, suggestion: str) -> Iterator[str]:
    rule = f", rule `{finding.rule}`" if finding.rule else ""
    yield f"**{finding.severity}** {finding.category}{rule}: {_text(finding.claim)}"
    if finding.explained:
        yield f"The author says: {_text(finding.explained)}"
    if finding.suggestion:
        yield _text(finding.suggestion)
    if suggestion:
        yield suggestion
    elif finding.patch:
        yield code_block(finding.patch, "diff")
    yield f"`{finding.id}`"


def _suggestion(report: ReviewReport, finding: Finding) -> tuple[int, int, str] | None:
    """First and last line, and the block; None if the patch cannot be one block that GitHub applies as it is."""
    replacement = whole_replacement(finding.patch) if finding.side == "new" else None
    if replacement is None or "\r" in finding.patch or show_invisible(replacement.text) != replacement.text:
        return None
    first, last = replacement.first, replacement.end - 1
    if _shown_span(report, finding, first, last) != (first, last):
        return None
    # Not `code_block`, which drops empty lines at the end: these lines are applied.
    block = code_block(replacement.text, "suggestion")
    ticks = block[: block.index("s")]
    end = "" if replacement.text.endswith("\n") or not replacement.text else "\n"
    return first, last, f"{ticks}suggestion\n{replacement.text}{end}{ticks}"


def _shown_span(report: ReviewReport, finding: Finding, first: int, last: int) -> tuple[int, int] | None:
    """The part of these lines that one hunk shows."""
    path = current_path(report, finding)
    for unit in report.units:
        for hunk in unit.hunks if unit.path == path else ():
            numbers = [number for number in _numbers(hunk, finding) if first <= number <= last]
            if numbers:
                return numbers[0], numbers[-1]
    return None


def _numbers(hunk: Hunk, finding: Finding) -> list[int]:
    numbers = (line.new if finding.side == "new" else line.old for line in hunk.lines)
    return [number for number in numbers if number]


def _body(report: ReviewReport, rest: list[Finding]) -> str:
    by = f"rules and {escape_inline(report.model)}" if report.model else "rules only, no model"
    parts = [f"**Findings: {report.found}.** {report.size}; reviewed by {by}."]
    if report.summary:
        parts.append(_text(report.summary)[:MOST_SUMMARY])
    notes = [f"{report.left_out}."] if report.left_out else []
    notes += [f"- {_text(line)}" for line in report.not_listed[:MOST_COMMENTS]]
    room = MOST_TEXT - sum(len(part) + 2 for part in (*parts, *notes))
    if rest:
        parts.append("Not on a line of this change:")
    for at, finding in enumerate(rest):
        older = " before the change" if finding.side == "old" else ""
        block = "\n\n".join([f"{code_span(finding_place(finding))}{older}", *_words(finding, "")])
        room -= len(block) + 2
        if room < 0:
            parts.append(f"{counted(len(rest) - at, 'more finding')}, which did not fit here.")
            break
        parts.append(block)
    return redact("\n\n".join([*parts, *notes]))[:MOST_TEXT]
