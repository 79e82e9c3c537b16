"""What a search found: matches hang on their file's heading, definitions count more, lines around them less.

Rule: a line is a match by its beginning, `path:12:`, or `12:` below a heading that names the file.
"""

import re
from collections.abc import Sequence

from holdfast.packing.structure.sight import LONGEST, Sight
from holdfast.packing.structure.signatures import SIGNATURE
from holdfast.packing.structure.value import DULL, HINT, NOISE, NOWHERE, Findings

_LINE = re.compile(
    r"\n(?:[ \t]{0,8}+(?:Line )?+(?:(?P<bare>\d{1,7}+:(?!\d))|(?P<lower>\d{1,7}+-))"
    r"|(?P<gap>--(?=\n|\Z))|(?P<found>Found \d)"
    r"|(?P<match>(?:[A-Za-z]:)?+[^\s:][^:\n]{0,300}+:(?:\d{1,7}+:(?!\d++: )"
    # Without a line number, the end of a file's name must be there to tell.
    r"|(?!\d)(?:(?<=\.\w:)|(?<=\.\w\w:)|(?<=\.\w\w\w:)|(?<=\.\w\w\w\w:))))"
    r"|(?P<context>[^\s:][^:\n]{0,300}?-\d{1,7}+-))"
)
_HEADING = re.compile(r"(?=[^\s:]*[./\\])[^\s:]++:?\s*")
_PROBE = re.compile(r"\n(?:[ \t]{0,8}+\d{1,7}+:(?!\d)|[^\s:]{1,300}+:(?!//))")
ENOUGH = 0.5
"""The share of lines of this shape from which a text that nothing says to be matches is matches."""
FEWEST, LEAST = 2, 0.1
"""How many matches there are at least, and which share of the lines; the rest is what stands around them."""


def mark_matches(sight: Sight, findings: Findings, *, is_known: bool) -> None:
    if not is_known and len(_PROBE.findall(sight.text)) < max(sight.filled * LEAST, FEWEST):
        return
    seen = [(line, found) for line, found in sight.hits(_LINE) if not findings.taken[line]]
    if not is_known:
        whole = sum(found["match"] is not None or found["bare"] is not None for _, found in seen)
        if whole < FEWEST or len(seen) < sight.filled * ENOUGH:
            return
    text, lines = sight.text, sight.lines
    heading, expected = NOWHERE, NOWHERE
    for line, found in seen:
        if found["gap"]:
            findings.claim("matches", line, NOISE)
            expected = line + 1 if expected == line else NOWHERE
        elif found["found"]:
            findings.claim("matches", line, HINT)
        else:
            anchor = NOWHERE
            if found["bare"] or found["lower"]:
                heading = heading if expected == line else _heading(lines, line)
                anchor, expected = heading, line + 1
            bonus = HINT if SIGNATURE.match(text, found.end()) else 0.0
            findings.claim("matches", line, DULL if found["context"] or found["lower"] else bonus, anchor)
            if anchor != NOWHERE:
                findings.claim("matches", anchor)


def _heading(lines: Sequence[str], line: int) -> int:
    """The line above a block of numbered matches, if it names a file."""
    above = line - 1
    is_name = above >= 0 and _HEADING.fullmatch(lines[above][: 2 * LONGEST])
    return above if is_name else NOWHERE
