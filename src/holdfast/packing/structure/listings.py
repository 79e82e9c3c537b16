"""What a search found: matches hang on their file's heading, definitions count more, lines around them less.

Rule: a line is a match by its beginning, `path:12:`, or `12:` below a heading that names the file.
"""

import re
from collections.abc import Sequence

from holdfast.packing.structure.code import SIGNATURE
from holdfast.packing.structure.findings import DULL, HINT, LONGEST, NOISE, NOWHERE, BareText, LineFindings

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
ENOUGH_MATCHES = 0.5
"""The share of lines of this shape from which a text that nothing says to be matches is matches."""
FEWEST_MATCHES, LEAST = 2, 0.1
"""How many matches there are at least, and which share of the lines; the rest is what stands around them."""


def mark_matches(sight: BareText, findings: LineFindings, *, is_known: bool) -> None:
    if not is_known and len(_PROBE.findall(sight.text)) < max(sight.filled * LEAST, FEWEST_MATCHES):
        return
    seen = [(line, found) for line, found in sight.hits(_LINE) if not findings.taken[line]]
    if not is_known:
        whole = sum(found["match"] is not None or found["bare"] is not None for _, found in seen)
        if whole < FEWEST_MATCHES or len(seen) < sight.filled * ENOUGH_MATCHES:
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


# Listings: paths one to a line, folders with their entries, and what `git status` says.
#
# Rule: an entry hangs on the heading of its group; what a tool always prints beside the entries is noise.

_PATH = re.compile(
    r"\n(?:[├└│─ |`]{0,80}+)(?![\d.]++(?:\n|\Z))[\w@.+~/\\\-\[\]()#$=,]{1,300}+[/*@]?+[ \t\r]*+(?=\n|\Z)"
)
_JUNK = re.compile(
    r"(?:^|/)(?:node_modules|__pycache__|\.git|\.venv|venv|\.mypy_cache|\.pytest_cache|\.tox|\.next|\.idea|\.gradle)(?:/|$)"
    r"|\.pyc$|\.DS_Store$"
)
_STATUS = re.compile(
    r"\n(?:(?P<heading>Changes (?:to be|not staged)|Untracked files|Unmerged paths|Ignored files)"
    r"|(?P<hint>[ \t]++\(use \"git |\(use \"git |no changes added to commit|nothing added to commit)"
    r"|(?P<entry>\t[^\n]++))"
)
ENOUGH_PATHS = 0.7
"""The share of lines that are paths from which a text that nothing says to be a listing is one."""
FEWEST_PATHS = 4
_SAMPLE = 20


def mark_listing(sight: BareText, findings: LineFindings, *, is_known: bool) -> None:
    """Paths one to a line, be they all of a text that a call says to be a listing or most of another."""
    if (
        not is_known
        and sum(" " not in line.strip() for line in sight.lines[:_SAMPLE]) < min(sight.count, _SAMPLE) / 2
    ):
        return
    paths = [(line, found[0].strip()) for line, found in sight.hits(_PATH) if not findings.taken[line]]
    slashed = sum("/" in path or "." in path for _, path in paths)
    is_listing = len(paths) >= max(sight.filled * ENOUGH_PATHS, FEWEST_PATHS) and slashed >= len(paths) / 2
    if not is_known and not is_listing:
        return
    heading, expected = NOWHERE, NOWHERE
    for line, path in paths:
        if line != expected:
            heading = _folder(sight.lines, line)
        expected = line + 1
        findings.claim("listing", line, NOISE if _JUNK.search(path[-LONGEST:]) else 0.0, heading)


def _folder(lines: list[str], line: int) -> int:
    """The line above a group of entries, if it ends in a colon, as `ls` names a folder."""
    above = line - 1
    return above if above >= 0 and lines[above].rstrip().endswith(":") else NOWHERE


def mark_status(sight: BareText, findings: LineFindings) -> None:
    """`git status`: files under what was done to them; its advice is the same every time."""
    if '(use "git ' not in sight.text:
        return
    heading, last = NOWHERE, NOWHERE
    for line, found in sight.hits(_STATUS):
        if line > last + 2:
            # Other lines stand between, more than a blank one: what follows is not of this group.
            heading = NOWHERE
        last = line
        match found.lastgroup:
            case "heading":
                heading = line
                findings.claim("listing", line)
            case "hint":
                findings.claim("listing", line, NOISE)
            case _ if heading != NOWHERE:
                is_junk = _JUNK.search(found[0][-LONGEST:])
                findings.claim("listing", line, DULL if is_junk else 0.0, heading)
