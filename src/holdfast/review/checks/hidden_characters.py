"""Characters that make code read otherwise than it runs: changes of direction, and what has no width.

Rule: only what changes the order of what is seen, or hides inside a word; scripts that need such marks are left
alone.
"""

import re
from collections.abc import Iterator

from holdfast.review.checks.check_input import CheckInput, FindingPlace, ReviewRule, changed_lines
from holdfast.review.file_types import language_family
from holdfast.review.finding import Finding

DIRECTION = ReviewRule(
    "hidden-direction",
    "A character that turns the direction of text is added",
    "Tokens then show in another order than the compiler reads them in (CVE-2021-42574).",
    "high",
    "security",
)
INVISIBLE = ReviewRule(
    "invisible-character",
    "A character without width is added inside a word",
    "Two names that look the same are not. Take it out, or write it as an escape.",
    "medium",
    "security",
)
RULES = (DIRECTION, INVISIBLE)

_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")
_INVISIBLE = re.compile("[A-Za-z0-9_][\u200b\u2060\ufeff\u00ad][A-Za-z0-9_]")


def check(scene: CheckInput) -> Iterator[Finding]:
    for file in scene.files("docs", "generated"):
        if language_family(file.path) in ("", "markup", "data"):
            continue
        for line in changed_lines(file, "+"):
            if line.text.isascii():
                continue
            if found := _DIRECTION.search(line.text):
                claim = f"The line holds U+{ord(found.group()):04X}, which turns the text behind it round."
                yield scene.finding(DIRECTION, FindingPlace(file.path, (line,)), claim)
            elif found := _INVISIBLE.search(line.text):
                claim = f"A word of this line holds U+{ord(found.group()[1]):04X}, which cannot be seen."
                yield scene.finding(INVISIBLE, FindingPlace(file.path, (line,)), claim)
