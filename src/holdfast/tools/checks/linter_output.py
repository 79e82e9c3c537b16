"""What linters print, as findings with the names of their rules.

Rule: the output is data and may be anything. What does not have the shape that the linter documents is no finding;
an output that has no such shape at all gives None.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct, field

from holdfast.tools.checks.checkers import read_findings

LintSeverity = Literal["info", "low", "medium", "high", "critical"]
LintCategory = Literal["bug", "security", "performance", "concurrency", "tests", "leftover", "style", "docs"]
_Shape = TypeVar("_Shape")
_Rating = tuple[LintSeverity, LintCategory]
LONGEST_TEXT = 400
MOST_STARTS = 20
"""Lines with which a document may begin, where other lines are around it."""


class LintFinding(Struct, frozen=True):
    """`code` is the linter's name of the rule; lines are from 1, as far as the linter counts so."""

    path: str
    line: int
    last_line: int
    code: str
    severity: LintSeverity
    category: LintCategory
    text: str


LintReader = Callable[[str], list[LintFinding] | None]


def _finding(
    path: str,
    lines: tuple[int, int],
    code: str,
    rating: _Rating,
    text: str,
) -> LintFinding:
    words = " ".join(text.split())[:LONGEST_TEXT]
    return LintFinding(path, lines[0], max(lines), code[:100], *rating, words)


def _decode(printed: str, shape: type[_Shape], ends: str) -> _Shape | None:
    """The document in an output; there may be lines of warnings before and after it."""
    last = printed.rfind(ends[1]) + 1
    starts = [match.start() for match in re.finditer(rf"(?m)^{re.escape(ends[0])}", printed)]
    for start in starts[:MOST_STARTS]:
        try:
            return msgspec.json.decode(printed[start:last].encode("utf-8", "replace"), type=shape)
        except (msgspec.DecodeError, RecursionError):
            continue
    return None


class _Place(Struct):
    row: int


class _RuffRow(Struct):
    filename: str
    location: _Place
    end_location: _Place
    message: str
    code: str | None = None


_OTHER: _Rating = ("low", "style")
_RUFF: tuple[tuple[str, _Rating], ...] = (
    (r"invalid-syntax|E9|F82[123]|PLE", ("medium", "bug")),
    (r"S\d", ("low", "security")),
    (r"ASYNC", ("low", "concurrency")),
    (r"PERF", ("low", "performance")),
    (r"PT\d", ("low", "tests")),
    (r"T10|T20|ERA", ("low", "leftover")),
    (r"TD\d|FIX\d", ("info", "leftover")),
    (r"D\d|DOC\d", ("low", "docs")),
    (r"F\d|B\d|BLE|PLW|RUF\d|W605", ("low", "bug")),
)
"""Ruff has no severities: the first pattern that a code begins with counts."""


def read_ruff(printed: str) -> list[LintFinding] | None:
    rows = _decode(printed, list[_RuffRow], "[]")
    if rows is None:
        return None
    found = []
    for row in rows:
        code = row.code or "invalid-syntax"
        rating = next((rating for pattern, rating in _RUFF if re.match(pattern, code)), _OTHER)
        lines = (row.location.row, row.end_location.row)
        found.append(_finding(row.filename, lines, code, rating, row.message))
    return found


class _BanditRow(Struct):
    filename: str
    line_number: int
    test_id: str
    issue_severity: str
    issue_confidence: str
    issue_text: str
    line_range: list[int] = field(default_factory=list)


class _BanditReport(Struct):
    results: list[_BanditRow]


_BANDIT: dict[str, LintSeverity] = {"HIGH": "high", "MEDIUM": "medium"}
_UNSURE: dict[LintSeverity, LintSeverity] = {"high": "medium", "medium": "low"}


def read_bandit(printed: str) -> list[LintFinding] | None:
    """One level less where Bandit is not sure."""
    report = _decode(printed, _BanditReport, "{}")
    if report is None:
        return None
    found = []
    for row in report.results:
        severity = _BANDIT.get(row.issue_severity, "low")
        if row.issue_confidence != "HIGH":
            severity = _UNSURE.get(severity, severity)
        # The number is sometimes that of the last line.
        lines = (min([row.line_number, *row.line_range]), max([row.line_number, *row.line_range]))
        found.append(_finding(row.filename, lines, row.test_id, (severity, "security"), row.issue_text))
    return found


class _SemgrepLine(Struct):
    line: int


class _SemgrepExtra(Struct):
    message: str
    severity: str
    metadata: dict[str, Any] = field(default_factory=dict)


class _SemgrepRow(Struct):
    check_id: str
    path: str
    start: _SemgrepLine
    end: _SemgrepLine
    extra: _SemgrepExtra


class _SemgrepReport(Struct):
    results: list[_SemgrepRow]


_SEMGREP: dict[str, LintSeverity] = {
    "CRITICAL": "critical",
    "HIGH": "high",
    "ERROR": "high",
    "MEDIUM": "medium",
    "WARNING": "medium",
    "LOW": "low",
}
_SEMGREP_CATEGORIES: dict[object, LintCategory] = {
    "security": "security",
    "correctness": "bug",
    "performance": "performance",
}


def read_semgrep(printed: str) -> list[LintFinding] | None:
    report = _decode(printed, _SemgrepReport, "{}")
    if report is None:
        return None
    found = []
    for row in report.results:
        said = row.extra.metadata.get("category")
        category = _SEMGREP_CATEGORIES.get(said if isinstance(said, str) else "", "style")
        rating = (_SEMGREP.get(row.extra.severity, "info"), category)
        # Its rules are named by the folder of their file.
        code = row.check_id.rpartition(".")[2]
        found.append(_finding(row.path, (row.start.line, row.end.line), code, rating, row.extra.message))
    return found


class _EslintMessage(Struct, rename="camel"):
    severity: int
    message: str
    rule_id: str | None = None
    line: int | None = None
    end_line: int | None = None
    fatal: bool = False


class _EslintFile(Struct, rename="camel"):
    file_path: str
    messages: list[_EslintMessage]


_ESLINT: tuple[tuple[LintCategory, re.Pattern[str]], ...] = (
    ("leftover", re.compile(r"no-(?:debugger|console|warning-comments)$")),
    (
        "security",
        re.compile(r"(?:.*/)?(?:no-(?:\w+-)?eval|no-new-func|no-script-url|detect-[\w-]+)$|security"),
    ),
    ("tests", re.compile(r"(?:jest|vitest|mocha|testing-library|playwright|no-only-tests)/")),
)


def read_eslint(printed: str) -> list[LintFinding] | None:
    """What has neither a rule nor a syntax error, such as that a file is ignored, is not about the code."""
    files = _decode(printed, list[_EslintFile], "[]")
    if files is None:
        return None
    found = []
    for file in files:
        for said in file.messages:
            if not said.line or not (said.rule_id or said.fatal):
                continue
            code = said.rule_id or "syntax"
            severity: LintSeverity = "medium" if said.severity >= 2 else "low"
            other: LintCategory = "bug" if severity == "medium" else "style"
            category = next((name for name, pattern in _ESLINT if pattern.match(code)), other)
            lines = (said.line, said.end_line or said.line)
            found.append(_finding(file.file_path, lines, code, (severity, category), said.message))
    return found


class _RustSpan(Struct):
    file_name: str
    line_start: int
    line_end: int
    is_primary: bool


class _RustCode(Struct):
    code: str


class _RustMessage(Struct):
    message: str
    level: str
    spans: list[_RustSpan]
    code: _RustCode | None = None


class _CargoLine(Struct):
    reason: str
    message: _RustMessage | None = None


def read_clippy(printed: str) -> list[LintFinding] | None:
    """One document a line; other lines are cargo's."""
    found = []
    for row in printed.splitlines():
        if not row.startswith("{"):
            continue
        try:
            said = msgspec.json.decode(row.encode("utf-8", "replace"), type=_CargoLine).message
        except (msgspec.DecodeError, RecursionError):
            continue
        span = next((one for one in said.spans if one.is_primary), None) if said else None
        if said and span and said.level in ("error", "warning"):
            code = (said.code.code if said.code else "error").removeprefix("clippy::")
            rating: _Rating = ("medium", "bug") if said.level == "error" else ("low", "style")
            lines = (span.line_start, span.line_end)
            found.append(_finding(span.file_name, lines, code, rating, said.message))
    return found


def _read_lines(printed: str, pattern: str, code: str) -> Iterator[LintFinding]:
    """Findings that have a line each; `pattern` names the parts `code` and `text` of what follows the place."""
    for one in read_findings(printed):
        match = re.fullmatch(pattern, one.text)
        if match:
            parts = match.groupdict()
            named = parts.get("code") or code
            yield _finding(one.path, (one.line, one.line), named, ("medium", "bug"), parts["text"])


def read_mypy(printed: str) -> list[LintFinding]:
    return list(_read_lines(printed, r"error: (?P<text>.*?)(?:  \[(?P<code>[\w-]+)\])?", "error"))


def read_tsc(printed: str) -> list[LintFinding]:
    return list(_read_lines(printed, r"error (?P<code>TS\d+): (?P<text>.*)", "error"))


def read_go_vet(printed: str) -> list[LintFinding]:
    return list(_read_lines(printed, r"(?P<text>.*)", "vet"))
