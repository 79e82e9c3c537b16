"""Listings: paths one to a line, folders with their entries, and what `git status` says.

Rule: an entry hangs on the heading of its group; what a tool always prints beside the entries is noise.
"""

import re

from holdfast.packing.structure.sight import LONGEST, Sight
from holdfast.packing.structure.value import DULL, NOISE, NOWHERE, Findings

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
ENOUGH = 0.7
"""The share of lines that are paths from which a text that nothing says to be a listing is one."""
FEWEST = 4
_SAMPLE = 20


def mark_listing(sight: Sight, findings: Findings, *, is_known: bool) -> None:
    """Paths one to a line, be they all of a text that a call says to be a listing or most of another."""
    if (
        not is_known
        and sum(" " not in line.strip() for line in sight.lines[:_SAMPLE]) < min(sight.count, _SAMPLE) / 2
    ):
        return
    paths = [(line, found[0].strip()) for line, found in sight.hits(_PATH) if not findings.taken[line]]
    slashed = sum("/" in path or "." in path for _, path in paths)
    is_listing = len(paths) >= max(sight.filled * ENOUGH, FEWEST) and slashed >= len(paths) / 2
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


def mark_status(sight: Sight, findings: Findings) -> None:
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
