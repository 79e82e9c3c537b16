"""What a review does not say: findings that a comment, the configuration or a baseline hides.

Rule: it only narrows what is reported. It is applied last, to what rules and models found alike, and what it hides
is counted and listed in every format: a change may silence a finding about itself, but not in secret. An entry that
hides nothing because it is wrong is said.

    call(verify=False)  # holdfast: ignore[certificate-check-off] the server is on this machine
"""

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

from msgspec import Struct
from msgspec.structs import replace

from holdfast.errors import ConfigError, suggest
from holdfast.review.checks import RULES
from holdfast.review.file_types import language_family
from holdfast.review.finding import Finding
from holdfast.review.report import HiddenFinding, ReviewReport
from holdfast.review.review import Review

_COMMENT = re.compile(
    r"(?P<sign>\#|//|/\*|<!--|--|;|%|\(\*|\{\#|\.\.)\s*holdfast:\s*ignore(?:\[(?P<rules>[^\]]*)\])?(?P<reason>.*)"
)
_END = re.compile(r"\s*(?:\*/|-->|\*\)|\#\}).*$")
_LEAD = re.compile(r"[\s:,;–—-]+")


class IgnoredRule(Struct, frozen=True):
    """A rule, or a pattern such as `*`, and the paths where it is not reported."""

    rule: str
    path: str = "*"

    def covers(self, finding: Finding) -> bool:
        return fnmatchcase(rule_of(finding), self.rule) and fnmatchcase(finding.path, self.path)


class Silence(Struct, frozen=True):
    """`where` is the file with the configuration; `baseline` has the ids of findings that are known."""

    ignored: tuple[IgnoredRule, ...] = ()
    where: str = ""
    baseline: frozenset[str] = frozenset()
    baseline_name: str = ""
    heeds_comments: bool = True


class _Comment(Struct, frozen=True):
    rules: tuple[str, ...]
    reason: str


def rule_of(finding: Finding) -> str:
    """The name by which a finding is ignored: its rule, or `review/bug` and the like for what a model found."""
    return finding.rule or f"review/{finding.category}"


def parse_ignored(table: Mapping[str, object], where: str) -> tuple[IgnoredRule, ...]:
    """From the table `[review]` of a configuration: `ignore` lists rules, each with a path or without. A path that
    ends in `/` is a whole folder."""
    for key in table.keys() - {"ignore"}:
        raise ConfigError(f"{where}: unknown key `review.{key}`", hint=suggest(key, ["ignore"]))
    entries = table.get("ignore", [])
    if not isinstance(entries, list) or not all(isinstance(one, str) and one.strip() for one in entries):
        raise ConfigError(
            f"{where}: `review.ignore` should be a list of texts",
            hint='`ignore = ["note", "secret tests/vectors/*"]`: rules, with the paths where they are off',
        )
    found = []
    for entry in entries:
        rule, _, path = entry.strip().partition(" ")
        path = path.strip() or "*"
        found.append(IgnoredRule(rule, path + "*" if path.endswith("/") else path))
    return tuple(found)


def hide(report: ReviewReport, review: Review, silence: Silence) -> ReviewReport:
    """The report without what is hidden, which it lists."""
    kept: list[Finding] = []
    hidden: list[HiddenFinding] = []
    for finding in report.findings.kept:
        found = _hidden(finding, review, silence)
        hidden.append(found) if found else kept.append(finding)
    return replace(report, findings=replace(report.findings, kept=tuple(kept)), hidden=tuple(hidden))


def _hidden(finding: Finding, review: Review, silence: Silence) -> HiddenFinding | None:
    reason = _reason_beside(finding, review) if silence.heeds_comments else ""
    if reason:
        return HiddenFinding(finding, "comment", reason)
    if any(one.covers(finding) for one in silence.ignored):
        return HiddenFinding(finding, "configuration", silence.where)
    if finding.id in silence.baseline:
        return HiddenFinding(finding, "baseline", silence.baseline_name)
    return None


def _reason_beside(finding: Finding, review: Review) -> str:
    """The reason of a comment on a line of the finding, or alone on the line above it; empty if there is none."""
    lines = review.sides.safe_lines(finding.path, finding.side) if finding.line else {}
    above = lines.get(finding.line - 1, "")
    texts = [lines.get(number, "") for number in range(finding.line, finding.last_line + 1)]
    if _COMMENT.match(above.strip()):
        texts.append(above)
    for text in texts:
        comment = _read_comment(finding.path, text)
        if comment and comment.reason and any(fnmatchcase(rule_of(finding), rule) for rule in comment.rules):
            return comment.reason
    return ""


def _read_comment(path: str, text: str) -> _Comment | None:
    found = _COMMENT.search(text) if "holdfast:" in text else None
    if found is None or (language_family(path) == "markup" and found["sign"] not in ("<!--", "..")):
        return None  # Markdown that explains the comment, in a sentence or a code block
    rules = tuple(rule.strip() for rule in (found["rules"] or "").split(",") if rule.strip())
    return _Comment(rules, _LEAD.sub("", _END.sub("", found["reason"]), count=1).strip())


def silence_notes(review: Review, silence: Silence) -> Iterator[str]:
    """What is wrong with comments in added lines, and with the configuration: these hide nothing."""
    for file in review.diff.files if silence.heeds_comments else ():
        for line in file.lines("+"):
            comment = _read_comment(file.path, line.text)
            for problem in _problems(comment) if comment else ():
                yield f"`{file.path}:{line.new}`: {problem}"
    for one in silence.ignored:
        if problem := _unknown(one.rule):
            yield f"`{silence.where}`: `[review] ignore`: {problem}"


def _problems(comment: _Comment) -> Iterator[str]:
    if not comment.rules:
        yield "`holdfast: ignore` names no rule, so it hides nothing; write `ignore[rule] reason`"
    elif not comment.reason:
        yield "`holdfast: ignore[…]` has no reason, so it hides nothing; write the reason after it"
    yield from filter(None, map(_unknown, comment.rules))


def _unknown(rule: str) -> str:
    """Why a name hides nothing; what has `*`, `/` or `:` may be of a model or of another program."""
    if rule in RULES or not {"*", "/", ":"}.isdisjoint(rule):
        return ""
    return f"there is no rule `{rule}`; {suggest(rule, list(RULES))}"
