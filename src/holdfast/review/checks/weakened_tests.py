"""Tests that a change weakens: deleted, disabled, run alone, or with assertions removed.

Rule: a test that was moved, renamed or rewritten is not deleted, and the test of deleted code may be deleted too.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from holdfast.review.checks.check_input import CheckInput, ReviewRule
from holdfast.review.diff import DiffLine, FileChange, Hunk, LineKind
from holdfast.review.file_types import LanguageFamily, is_test_file, language_family
from holdfast.review.finding import Finding, Severity

DELETED = ReviewRule(
    "deleted-test",
    "Tests are deleted, but what they test is not",
    "What they tested can now break without anyone noticing.",
    "medium",
    "tests",
)
SKIPPED = ReviewRule(
    "skipped-test", "A test is disabled", "It will be forgotten. Say until when.", "low", "tests"
)
FOCUSED = ReviewRule(
    "focused-test",
    "Only one test runs instead of all",
    "`.only` and similar marks keep all other tests of the file from running.",
    "high",
    "tests",
)
WEAKENED = ReviewRule(
    "weakened-test",
    "An assertion is removed from a test",
    "The test still passes, but checks less.",
    "low",
    "tests",
)
RULES = (DELETED, SKIPPED, FOCUSED, WEAKENED)

_TESTS: dict[LanguageFamily, re.Pattern[str]] = {
    "python": re.compile(r"\s*(?:async )?def (?P<name>test\w*)\("),
    "js": re.compile(
        r"\s*(?:it|test)(?:\.(?:each|concurrent|skipIf|runIf|for|sequential)\b.*)?\(\s*(?P<q>['\"`])(?P<name>.{3,200}?)(?P=q)"
    ),
    "go": re.compile(r"func (?P<name>Test\w+)\("),
    "ruby": re.compile(r"\s*(?:def (?P<name>test_\w+)|it ['\"](?P<said>.{3,200}?)['\"] do)"),
    "php": re.compile(r"\s*public function (?P<name>test\w+)\("),
}
_SKIPS: dict[LanguageFamily, re.Pattern[str]] = {
    "python": re.compile(r"\s*@(?:pytest\.mark\.skip|unittest\.skip)\b(?!if|unless|If|Unless)"),
    "js": re.compile(r"\s*(?:(?:it|test|describe|context)\.skip|xit|xdescribe|xtest)\("),
    "rust": re.compile(r"\s*#\[ignore\b"),
    "java": re.compile(r"\s*@(?:Disabled|Ignore)\b"),
    "ruby": re.compile(r"\s*(?:xit|xdescribe|xcontext) ['\"]"),
}
_FOCUS: dict[LanguageFamily, re.Pattern[str]] = {
    "js": re.compile(r"\s*(?:(?:it|test|describe|context|suite)\.only|fit|fdescribe)\(\s*['\"`]"),
    "ruby": re.compile(r"\s*(?:fit|fdescribe|fcontext) ['\"]"),
}
_ASSERTION = re.compile(
    r"\s*(?:assert\b|self\.(?:assert|fail)\w*\(|expect\(|assert\w*[!.(]|(?:require|assert|t)\.(?:\w*(?:Equal|Error|True|False|Nil|Contains|Len|Fatal)\w*)\()"
)
_ALWAYS_TRUE = re.compile(
    r"\s*(?:assert (?:True|1)\s*(?:#.*)?$|self\.assertTrue\(True\)|expect\(true\)\.to(?:Be|Equal)\(true\))"
)
_COMMENTED = re.compile(r"\s*(?:#|//)\s*")
_DEFINITION = re.compile(
    r"\s*(?:export )?(?:async )?(?:pub )?(?:def|class|function|func(?: \([^)]*\))?|fn|struct) (?P<name>\w{3,})"
)
_COMPOUND = re.compile(r"\b(?=\w*(?:[a-z][A-Z]|[A-Za-z]_[A-Za-z]))[A-Za-z]\w{4,}")
_MAX_SHOWN = 5
_MOVED_SHARE = 0.5
"""If this share of a test's lines is added elsewhere, the test was moved or rewritten."""


def check(change: CheckInput) -> Iterator[Finding]:
    files = [
        file for file in change.files("generated") if is_test_file(file.path) or is_test_file(file.old_path)
    ]
    removed = _removed_definitions(change) | _removed_names(change) if files else set()
    added = {name for file in files for name in _added_names(file)}
    for file in files:
        yield from _deleted(change, file, removed, added)
        if file.change != "deleted":
            yield from _marked(change, file)
            yield from _weakened(change, file)


def tests_in(path: str, text: str) -> tuple[list[str], int]:
    """The names of the tests in a file, and how many are disabled."""
    family = language_family(path)
    heads, skips = _TESTS.get(family), _SKIPS.get(family)
    lines = text.splitlines()
    found = [found for line in lines if heads and (found := heads.match(line))]
    return [_name_in(one) for one in found], sum(bool(skips and skips.match(line)) for line in lines)


def _deleted(change: CheckInput, file: FileChange, removed: set[str], added: set[str]) -> Iterator[Finding]:
    pattern = _TESTS.get(language_family(file.path))
    if pattern is None or (file.change == "deleted" and _is_subject_gone(change, file)):
        return
    heads: list[DiffLine] = []
    for hunk in file.hunks:
        for head, body in _removed_tests(hunk, pattern):
            is_kept = _name(pattern, head) in added or _is_moved(change, body)
            names = {name for line in body for name in re.findall(r"\w{3,}", line.text)}
            if not is_kept and not names & removed:
                heads.append(head)
    gone = {
        _name(pattern, line)
        for one in change.diff.files
        for line in one.lines("-")
        if pattern.match(line.text)
    }
    if not heads or len(added - gone) >= len(heads) or len(_added_names(file)) >= len(heads):
        return  # as many tests are new, here or in another file: they were rewritten
    tests = [_name(pattern, head) for head in heads]
    more = f" and {len(tests) - _MAX_SHOWN} more" if len(tests) > _MAX_SHOWN else ""
    what = "A test is" if len(tests) == 1 else f"{len(tests)} tests are"
    claim = f"{what} deleted, but the tested code is not: {', '.join(tests[:_MAX_SHOWN])}{more}."
    yield change.finding(DELETED, file, heads[:_MAX_SHOWN], claim, side="old")


def _removed_tests(hunk: Hunk, pattern: re.Pattern[str]) -> list[tuple[DiffLine, list[DiffLine]]]:
    """First lines of removed tests, each with the removed lines after it."""
    found: list[tuple[DiffLine, list[DiffLine]]] = []
    for line in hunk.lines:
        if line.kind == "-" and pattern.match(line.text):
            found.append((line, []))
        elif line.kind == "-" and found:
            found[-1][1].append(line)
    return found


def _is_moved(change: CheckInput, body: list[DiffLine]) -> bool:
    """Are most lines of a test added elsewhere? If only its first line is removed, it was renamed."""
    lines = [line.text.strip() for line in body if len(line.text.strip()) > 3]
    return not lines or sum(line in change.added_texts for line in lines) >= _MOVED_SHARE * len(lines)


def _added_names(file: FileChange) -> list[str]:
    pattern = _TESTS.get(language_family(file.path))
    return [_name(pattern, line) for line in file.lines("+") if pattern.match(line.text)] if pattern else []


def _name(pattern: re.Pattern[str], line: DiffLine) -> str:
    match = pattern.match(line.text)
    assert match is not None, "the first line of a test has its name"
    return _name_in(match)


def _name_in(match: re.Match[str]) -> str:
    return next(value for key, value in match.groupdict().items() if key != "q" and value)


def _removed_definitions(change: CheckInput) -> set[str]:
    """Names whose definition the change removes from code that is not a test, and of files that it deletes."""
    sides: dict[LineKind, set[str]] = {"-": set(), "+": set()}
    code = [file for file in change.diff.files if not is_test_file(file.path)]
    for file in code:
        for kind, names in sides.items():
            found = (_DEFINITION.match(line.text) for line in file.lines(kind))
            names.update(match["name"] for match in found if match)
    stems = {PurePosixPath(file.path).stem for file in code if file.change == "deleted"}
    return (sides["-"] - sides["+"]) | stems


def _removed_names(change: CheckInput) -> set[str]:
    """Names such as `parseLine` or `parse_line` that code which is no test no longer has after the change."""
    code = [file for file in change.diff.files if not is_test_file(file.path) and language_family(file.path)]
    removed = {name for file in code for line in file.lines("-") for name in _COMPOUND.findall(line.text)}
    for file in code if removed else ():
        text = change.new(file.path) if file.change != "deleted" else ""
        removed -= set(_COMPOUND.findall(text or "\n".join(line.text for line in file.lines("+"))))
    return removed


def _is_subject_gone(change: CheckInput, file: FileChange) -> bool:
    """Is the file that this one is named after deleted or moved?"""
    stem = PurePosixPath(file.path).stem.lower()
    gone = [
        PurePosixPath(other.old_path).stem.lower()
        for other in change.diff.files
        if other.change in ("deleted", "renamed") and not is_test_file(other.path)
    ]
    return any(len(name) > 2 and name in stem for name in gone)


def _marked(change: CheckInput, file: FileChange) -> Iterator[Finding]:
    """Tests that are disabled, or the only ones to run."""
    skips, focus = _SKIPS.get(language_family(file.path)), _FOCUS.get(language_family(file.path))
    marks = [
        line for line in change.new_lines(file) if any(one and one.match(line.text) for one in (skips, focus))
    ]
    for line in change.in_code(file.path, marks):
        if focus and focus.match(line.text):
            claim = "Only this test runs; all others in the file are skipped."
            yield change.finding(FOCUSED, file, [line], claim)
        else:
            severity: Severity | None = "info" if file.change == "added" else None
            yield change.finding(SKIPPED, file, [line], "A test is disabled here.", severity=severity)


def _weakened(change: CheckInput, file: FileChange) -> Iterator[Finding]:
    tests = _TESTS.get(language_family(file.path))
    for hunk in file.hunks:
        gone = [line for line in hunk.lines if line.kind == "-"]
        added = [line for line in hunk.lines if line.kind == "+"]
        removed = [line for line in gone if _ASSERTION.match(line.text)]
        removed = [line for line in removed if line.text.strip() not in change.added_texts]
        texts = {line.text.strip() for line in removed}
        for line in added if removed else ():
            claim = ""
            if _COMMENTED.match(line.text) and _COMMENTED.sub("", line.text, count=1).strip() in texts:
                claim = "An assertion is commented out."
            elif _ALWAYS_TRUE.match(line.text):
                claim = "An assertion is replaced by one that is always true."
            if claim:
                yield change.finding(WEAKENED, file, [line], claim, severity="medium")
        # If a whole test is removed, these lines are a part of it.
        if removed and not added and tests and not any(tests.match(line.text) for line in gone):
            claim = "Assertions are removed and not replaced."
            yield change.finding(WEAKENED, file, removed[:_MAX_SHOWN], claim, side="old")
