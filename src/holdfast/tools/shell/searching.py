"""Lines of an output that match a pattern, found by ripgrep in the file itself.

Rule: the total is that of the whole output; of the lines only as many as were asked for are read.
"""

import re
from pathlib import Path

from msgspec import Struct

from holdfast.tools.envelope import ToolError
from holdfast.tools.listing.ripgrep import Ripgrep, find_searcher, run_program
from holdfast.tools.listing.search import pattern_trouble

SECONDS = 30.0

FAILURES = (
    r"(?-u:(?:[Ee]rrors?|ERRORS?|[Ff]ail(?:ed|ures?|ing)?|FAIL(?:ED|URES?)?|[Ff]atal|FATAL|[Pp]anic|[Ee]xception"
    r"|[Tt]raceback|[Uu]ndefined|[Uu]nresolved|[Dd]enied|[Rr]efused|[Nn]ot found|[Nn]o such|[Cc]annot"
    r"|[Aa]bort(?:ed)?|[Ss]egfault|[Aa]ssertion|core dumped|[Tt]imed out|TIMEOUT)\b)"
)
"""What lines say that tell of a failure. Cases are spelled out, and no word boundary stands before them: so ripgrep
finds them by their beginnings, ten times as fast."""
HARMLESS = re.compile(
    r"(?i)\b(?:0|no|without(?: any)?) (?:errors?|failures?|failed|failing|exceptions?)\b"
    r"|\b(?:errors?|failures?|failed)\s?[:=]\s?0(?![\d.])"
)
_POSITION = re.compile(rb"(\d+):(\d+):")


class Found(Struct, frozen=True):
    """`lines` are numbers from 1, the first that matched; `cut` says why there may be more than `total`."""

    total: int
    lines: list[int]
    cut: str = ""


async def find_lines(path: Path, pattern: str, most: int) -> Found | None:
    """The first lines that match, and how many do; None where there is no ripgrep."""
    listed = await first_lines(path, pattern, most)
    if listed is None or len(listed.lines) < most or listed.cut:
        return listed
    counted = await run_program(
        [*_common(pattern), "--count", "--", f"./{path.name}"], str(path.parent), SECONDS
    )
    return Found(max(int(counted.output.strip() or 0), most), listed.lines, counted.cut)


async def first_lines(path: Path, pattern: str, most: int) -> Found | None:
    """The first lines that match; the total is true where it is less than `most`, where looking stops."""
    common = _common(pattern)
    if not common:
        return None
    listing = [
        *common,
        "--line-number",
        "--byte-offset",
        "--no-heading",
        "--max-columns=1",
        f"--max-count={most}",
    ]
    found = await run_program([*listing, "--", f"./{path.name}"], str(path.parent), SECONDS)
    if found.code >= 2 and not found.cut:
        trouble = pattern_trouble(found.errors) or "it cannot be read"
        raise ToolError("INVALID_PARAM", f"`grep` is no valid regular expression: {trouble}")
    places = [_POSITION.match(row) for row in found.output.split(b"\n")]
    lines = [int(place[1]) for place in places if place]
    return Found(len(lines), lines, found.cut)


def _common(pattern: str) -> list[str]:
    """What every search begins with; empty where there is no ripgrep."""
    searcher = find_searcher()
    if not isinstance(searcher, Ripgrep):
        return []
    # Mapped, not read: ripgrep would hold a line whole, and an output may be one line.
    words = [searcher.program, "--no-config", "--text", "--mmap", "--encoding=none", "--no-filename"]
    return [*words, "--color=never", "--case-sensitive", f"--regexp={pattern}"]
