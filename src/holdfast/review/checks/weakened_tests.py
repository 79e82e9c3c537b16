"""Tests that a change takes away: deleted, switched off, left alone to run, or with their assertions gone.

Rule: a test that was moved, renamed or rewritten is not deleted, and one whose subject was deleted too may go.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from holdfast.review.checks.check_input import CheckInput, FindingPlace, ReviewRule, changed_lines
from holdfast.review.diff import DiffLine, FileChange, Hunk
from holdfast.review.file_types import LanguageFamily, is_test_file, language_family
from holdfast.review.finding import Finding, Severity

DELETED = ReviewRule(
    "deleted-test",
    "Tests are deleted while what they test stays",
    "What they held to be true may now become false without anyone noticing.",
    "medium",
    "tests",
)
SKIPPED = ReviewRule(
    "skipped-test", "A test is switched off", "It will be forgotten. Say until when.", "low", "tests"
)
FOCUSED = ReviewRule(
    "focused-test",
    "One test is run instead of all",
    "`.only` and its like keep every other test of the file from running.",
    "high",
    "tests",
)
WEAKENED = ReviewRule(
    "weakened-test",
    "An assertion is taken out of a test",
    "The test still passes, and says less.",
    "low",
    "tests",
)
RULES = (DELETED, SKIPPED, FOCUSED, WEAKENED)

_TESTS: dict[LanguageFamily, re.Pattern[str]] = {
    "python": re.compile(r"\s*(?:async )?def (?P<name>test\w*)\("),
    "js": re.compile(
        r"\s*(?:it|test)(?:\.(?:each|concurrent)\b.*)?\(\s*(?P<q>['\"`])(?P<name>.{3,200}?)(?P=q)"
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
_HOLLOW = re.compile(
    r"\s*(?:assert (?:True|1)\s*(?:#.*)?$|self\.assertTrue\(True\)|expect\(true\)\.to(?:Be|Equal)\(true\))"
)
_COMMENTED = re.compile(r"\s*(?:#|//)\s*")
_DEFINED = re.compile(
    r"\s*(?:export )?(?:async )?(?:pub )?(?:def|class|function|func(?: \([^)]*\))?|fn|struct) (?P<name>\w{3,})"
)
_MOST = 5
_KEPT = 0.5
"""Of a test's lines: if so many are in the diff's added lines, it was moved or rewritten."""


def check(scene: CheckInput) -> Iterator[Finding]:
    files = [
        file for file in scene.files("generated") if is_test_file(file.path) or is_test_file(file.old_path)
    ]
    gone = _gone_definitions(scene) if files else set()
    fresh = {name for file in files for name in _added_names(file)}
    for file in files:
        yield from _deleted(scene, file, gone, fresh)
        if file.change != "deleted":
            yield from _marked(scene, file)
            yield from _weakened(scene, file)


def _deleted(scene: CheckInput, file: FileChange, gone: set[str], fresh: set[str]) -> Iterator[Finding]:
    pattern = _TESTS.get(language_family(file.path))
    if pattern is None or (file.change == "deleted" and _is_subject_gone(scene, file)):
        return
    heads: list[DiffLine] = []
    for hunk in file.hunks:
        for head, body in _removed_tests(hunk, pattern):
            is_kept = _name(pattern, head) in fresh or _is_moved(scene, body)
            if not is_kept and not _names(body) & gone:
                heads.append(head)
    if not heads or len(_added_names(file)) >= len(heads):
        return  # as many new ones came: rewritten
    names = [_name(pattern, head) for head in heads]
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    what = "A test is" if len(names) == 1 else f"{len(names)} tests are"
    which = ", ".join(names[:_MOST]) + more
    yield scene.finding(
        DELETED,
        FindingPlace(file.path, tuple(heads[:_MOST]), "old"),
        f"{what} deleted, and nothing in the change says that what was tested is gone: {which}.",
    )


def _removed_tests(hunk: Hunk, pattern: re.Pattern[str]) -> Iterator[tuple[DiffLine, list[DiffLine]]]:
    """Heads of tests that went, with the lines that went after them."""
    head: DiffLine | None = None
    body: list[DiffLine] = []
    for line in hunk.lines:
        if line.kind != "-":
            continue
        if pattern.match(line.text):
            if head is not None:
                yield head, body
            head, body = line, []
        elif head is not None:
            body.append(line)
    if head is not None:
        yield head, body


def _is_moved(scene: CheckInput, body: list[DiffLine]) -> bool:
    """Are most of a test's lines added elsewhere? A head without a body is a renamed test: the body stayed."""
    lines = [line.text.strip() for line in body if len(line.text.strip()) > 3]
    return not lines or sum(line in scene.added_texts for line in lines) >= _KEPT * len(lines)


def _added_names(file: FileChange) -> list[str]:
    pattern = _TESTS.get(language_family(file.path))
    return (
        [_name(pattern, line) for line in changed_lines(file, "+") if pattern.match(line.text)]
        if pattern
        else []
    )


def _name(pattern: re.Pattern[str], line: DiffLine) -> str:
    match = pattern.match(line.text)
    assert match is not None, "only heads have a name"
    return next(value for key, value in match.groupdict().items() if key != "q" and value)


def _names(lines: list[DiffLine]) -> set[str]:
    return {name for line in lines for name in re.findall(r"\w{3,}", line.text)}


def _gone_definitions(scene: CheckInput) -> set[str]:
    """Names whose definition the change takes out of code that is no test."""
    sides: dict[str, set[str]] = {"-": set(), "+": set()}
    for file in scene.diff.files:
        if not is_test_file(file.path):
            for kind, names in sides.items():
                found = (_DEFINED.match(line.text) for line in changed_lines(file, kind))
                names.update(match["name"] for match in found if match)
    stems = {
        PurePosixPath(f.path).stem
        for f in scene.diff.files
        if f.change == "deleted" and not is_test_file(f.path)
    }
    return (sides["-"] - sides["+"]) | stems


def _is_subject_gone(scene: CheckInput, file: FileChange) -> bool:
    """Is a file deleted, or moved, that this one is named after?"""
    stem = PurePosixPath(file.path).stem.lower()
    for other in scene.diff.files:
        if other.change in ("deleted", "renamed") and not is_test_file(other.path):
            name = PurePosixPath(other.old_path).stem.lower()
            if len(name) > 2 and name in stem:
                return True
    return False


def _marked(scene: CheckInput, file: FileChange) -> Iterator[Finding]:
    """Switched off or left alone to run."""
    skips, focus = _SKIPS.get(language_family(file.path)), _FOCUS.get(language_family(file.path))
    marks = [
        line
        for line in changed_lines(file, "+")
        if any(one and one.match(line.text) for one in (skips, focus))
    ]
    for line in scene.in_code(file.path, marks):
        if line.text.strip() in scene.removed_texts:
            continue
        place = FindingPlace(file.path, (line,))
        if focus and focus.match(line.text):
            yield scene.finding(
                FOCUSED, place, "Only this test is run; every other one of the file is passed over."
            )
        else:
            severity: Severity = "info" if file.change == "added" else SKIPPED.severity
            yield scene.finding(SKIPPED, place, "A test is switched off here.", severity=severity)


def _weakened(scene: CheckInput, file: FileChange) -> Iterator[Finding]:
    for hunk in file.hunks:
        gone = [
            line
            for line in hunk.lines
            if line.kind == "-" and _ASSERTION.match(line.text) and line.text.strip() not in scene.added_texts
        ]
        if not gone:
            continue
        added = [line for line in hunk.lines if line.kind == "+"]
        said = {line.text.strip() for line in gone}
        for line in added:
            if _COMMENTED.match(line.text) and _COMMENTED.sub("", line.text, count=1).strip() in said:
                place = FindingPlace(file.path, (line,))
                yield scene.finding(WEAKENED, place, "An assertion is commented out.", severity="medium")
            elif _HOLLOW.match(line.text):
                place = FindingPlace(file.path, (line,))
                yield scene.finding(
                    WEAKENED, place, "An assertion became one that always holds.", severity="medium"
                )
        if not added and not _has_head(hunk, language_family(file.path)):
            place = FindingPlace(file.path, tuple(gone[:_MOST]), "old")
            yield scene.finding(
                WEAKENED, place, "Assertions are taken out, and nothing is put in their place."
            )


def _has_head(hunk: Hunk, kind: LanguageFamily) -> bool:
    """Does a whole test go, of which these are a part?"""
    pattern = _TESTS.get(kind)
    return pattern is None or any(line.kind == "-" and pattern.match(line.text) for line in hunk.lines)
