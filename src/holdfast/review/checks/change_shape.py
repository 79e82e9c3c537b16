"""The change as a whole: very large, or formatting in some files together with other changes in other files.

Rule: only what the tags of the units show for certain. A file counts as formatted if all of it changes only in
whitespace; one function that is indented below a new `if` does not. Generated files, tests and documents have no
size.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from holdfast.numbers import counted, grouped
from holdfast.review.checks.check_input import CheckInput, ReviewRule
from holdfast.review.file_types import is_test_file
from holdfast.review.finding import Finding
from holdfast.review.unit import Unit

LARGE = ReviewRule(
    "large-change",
    "The change is very large",
    "In a large change reviewers find little. Parts that work alone can be reviewed alone.",
    "info",
    "other",
)
MIXED = ReviewRule(
    "mixed-formatting",
    "Formatting is mixed with other changes",
    "What matters is hard to find among lines that only look different. Commit the formatting by itself.",
    "info",
    "style",
)
RULES = (LARGE, MIXED)

MANY_LINES = 1_000
MANY_FORMATTED = 20
MOST_AREAS = 4


def check(change: CheckInput) -> Iterator[Finding]:
    code: Counter[str] = Counter()
    formatted: Counter[str] = Counter()
    for path, units in change.units.items():
        lines = sum(unit.lines for unit in units)
        if lines and all(unit.has("whitespace_only") for unit in units):
            formatted[path] = lines
        elif not is_test_file(path) and (size := sum(unit.lines for unit in units if _is_code(unit))):
            code[path] = size
    if (total := code.total()) > MANY_LINES:
        yield _at_largest(
            change,
            LARGE,
            code,
            f"More than {grouped(MANY_LINES)} lines of code change at once.",
            (f"Split it: {grouped(total)} lines change in {_areas(code)}."),
        )
    if code and (lines := formatted.total()) >= MANY_FORMATTED:
        what = f"{counted(lines, 'line')} in {counted(len(formatted), 'file')} change only in whitespace"
        yield _at_largest(
            change,
            MIXED,
            formatted,
            "Formatting is mixed with other changes.",
            (f"Commit the formatting by itself: {what}."),
        )


def _is_code(unit: Unit) -> bool:
    return bool(unit.language) and not unit.has(
        "tests", "docs", "generated", "dependencies", "whitespace_only", "comments_only", "imports_only"
    )


def _at_largest(
    change: CheckInput, rule: ReviewRule, sizes: Mapping[str, int], claim: str, suggestion: str
) -> Finding:
    """A finding about the change, at the file with the most of it."""
    path = max(sizes, key=lambda one: (sizes[one], one))
    file = next(file for file in change.diff.files if file.path == path)
    return change.finding(rule, file, (), claim, suggestion)


def _areas(sizes: Mapping[str, int]) -> str:
    """The folders with the most lines."""
    areas: Counter[str] = Counter()
    for path, lines in sizes.items():
        areas[path.rpartition("/")[0] or "."] += lines
    named = [f"`{area}` ({grouped(lines)})" for area, lines in areas.most_common(MOST_AREAS)]
    rest = len(areas) - len(named)
    return ", ".join(named) + (f" and {counted(rest, 'more folder')}" if rest else "")
