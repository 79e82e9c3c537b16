"""Characters that make code look different from what it does: direction changes and zero-width characters.

Rule: only characters that change the visible order, or hide inside a word; scripts that need such characters are
not reported.
"""

import re
from collections.abc import Iterator

from holdfast.review.checks.check_input import CheckInput, ReviewRule
from holdfast.review.file_types import language_family
from holdfast.review.finding import Finding

DIRECTION = ReviewRule(
    "hidden-direction",
    "A character that changes the text direction is added",
    "Code is then displayed in another order than the compiler reads it (CVE-2021-42574).",
    "high",
    "security",
)
INVISIBLE = ReviewRule(
    "invisible-character",
    "A zero-width character is added inside a word",
    "Two names that look the same are different. Remove it, or write it as an escape.",
    "medium",
    "security",
)
RULES = (DIRECTION, INVISIBLE)

_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")
_INVISIBLE = re.compile("[A-Za-z0-9_][\u200b\u2060\ufeff\u00ad][A-Za-z0-9_]")


def check(change: CheckInput) -> Iterator[Finding]:
    for file in change.files("docs", "generated"):
        if language_family(file.path) in ("", "markup", "data"):
            continue
        for line in file.lines("+"):
            if line.text.isascii():
                continue
            if found := _DIRECTION.search(line.text):
                claim = f"The line contains U+{ord(found.group()):04X}, which changes the text direction."
                yield change.finding(DIRECTION, file.path, [line], claim)
            elif found := _INVISIBLE.search(line.text):
                claim = f"A word in this line contains U+{ord(found.group()[1]):04X}, which is invisible."
                yield change.finding(INVISIBLE, file.path, [line], claim)
