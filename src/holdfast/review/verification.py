"""Is a finding about something that is there? Its lines are looked up, its patch is tried, its secrets go.

Rule: what is kept can be shown: every evidence line stands in the named file, as written here (secrets aside),
and the patch, if there is one, applies. Verifying twice is verifying once.

A line with a secret in it is shown with `<REDACTED>`, and whoever quotes it knows it no other way. Such a quote
stands where the file's line has a secret in just that place; it matches no other line.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from holdfast.redaction import MARK, find_secrets, redact
from holdfast.review.finding import SEVERITIES, Category, Finding, finding_id
from holdfast.review.patches import AppliedPatch, PatchProblem, try_patch
from holdfast.review.sides import Lines, Sides, find_unit

RejectionReason = Literal["severity", "category", "claim", "unit", "file", "evidence", "no_evidence"]
"""Of a finding that is dropped: what it lacks, or what of it is not so."""

_CATEGORIES = frozenset(get_args(Category))
_WORD = re.compile(r"[^\W_]")
_NUMBERED = re.compile(r"\s*\d{1,6}(?:→|\t|:|\s*\|)\s?")


_MOST_SECRETS = 3
_LONGEST = 2_000
"""Of a line that is compared part by part: what is longer is compared whole."""


class RejectedFinding(Struct, frozen=True):
    reason: RejectionReason
    path: str
    claim: str
    detail: str = ""


class VerifiedFinding(Struct, frozen=True):
    """`patch` says why the suggested patch was dropped, where it was."""

    finding: Finding
    patch: PatchProblem | Literal["secret"] | None = None


def verify_finding(finding: Finding, sides: Sides) -> VerifiedFinding | RejectedFinding:
    """The finding as it is kept: in its place, with exact lines, an id, and a patch that applies or none."""
    if finding.severity not in SEVERITIES:
        return _rejected("severity", finding, str(finding.severity))
    if finding.category not in _CATEGORIES:
        return _rejected("category", finding, str(finding.category))
    if not finding.claim.strip():
        return _rejected("claim", finding)
    unit = _unit(finding, sides)
    if not unit:
        return _rejected("unit", finding, finding.unit)
    placed = _placed(finding, sides)
    if isinstance(placed, RejectedFinding):
        return placed
    return _with_patch(replace(placed, unit=unit, claim=redact(placed.claim.strip())), sides)


def _rejected(reason: RejectionReason, finding: Finding, detail: str = "") -> RejectedFinding:
    return RejectedFinding(reason, finding.path, redact(finding.claim), redact(detail))


def _unit(finding: Finding, sides: Sides) -> str:
    """The unit it names (which may lie in another file: a caller that was not changed), else the one there."""
    if any(unit.id == finding.unit for unit in sides.units):
        return finding.unit
    return find_unit(sides.units_of(finding.path), finding.side, finding.line)


def _placed(finding: Finding, sides: Sides) -> Finding | RejectedFinding:
    lines = sides.lines(finding.path, finding.side)
    quoted = [line for part in finding.evidence for line in part.split("\n") if line.strip()]
    if not quoted:
        return _without_lines(finding, lines, sides)
    if lines is None:
        return _rejected("file", finding)
    safe = sides.safe_lines(finding.path, finding.side)
    at = _find(quoted, lines, safe, finding.line)
    if at is None:
        return _rejected("evidence", finding, next(iter(_missing(quoted, lines, safe)), ""))
    is_there = at[0] <= finding.line <= at[-1]
    if not is_there and _says_nothing(quoted, lines, safe):
        return _rejected("evidence", finding, quoted[0].strip()[:80])
    first = finding.line if is_there else at[0]
    last = min(finding.last_line, max(lines)) if is_there and finding.last_line >= first else at[-1]
    exact = tuple(redact("\n".join(safe[number] for number in at)).split("\n"))
    placed = replace(finding, line=first, last_line=max(first, last), evidence=exact)
    return replace(placed, id=finding_id(placed, _earlier(exact[0], safe, at[0])))


def _says_nothing(quoted: Sequence[str], lines: Lines, safe: Lines) -> bool:
    """Braces alone, which stand in many places: only the line number could tell which are meant."""
    return not any(map(_WORD.search, quoted)) and len(_places(quoted[0], lines, safe)) > 1


def _without_lines(finding: Finding, lines: Lines | None, sides: Sides) -> Finding | RejectedFinding:
    """Of a mode, a move or a binary file there are no lines to show; of all else there are."""
    own = sides.units_of(finding.path)
    if not finding.rule and any(unit.hunks for unit in own):
        return _rejected("no_evidence", finding)
    if not own and lines is None:
        return _rejected("file", finding)
    end = max(lines, default=0) if lines else 0
    first = min(max(finding.line, 0), end)
    bare = replace(finding, line=first, last_line=min(max(finding.last_line, first), end), evidence=())
    return replace(bare, id=finding_id(bare))


def _earlier(line: str, safe: Lines, at: int) -> int:
    return sum(number < at and other.strip() == line.strip() for number, other in safe.items())


def _readings(quoted: str) -> Iterator[str]:
    """What the quote may mean, the most literal first: with a diff's sign, with a line number before it."""
    yield quoted
    if quoted[:1] in ("+", "-"):
        yield quoted[1:]
    if numbered := _NUMBERED.match(quoted):
        yield quoted[numbered.end() :]


def _stands(quoted: str, line: str, safe: str) -> bool:
    if MARK not in quoted:
        return quoted.strip() == line.strip()
    return quoted.strip() == safe.strip() or _hides(quoted.strip().split(MARK), line.strip())


def _hides(parts: list[str], line: str) -> bool:
    """Do the parts frame the line's secrets? Whatever they leave out must be one."""
    if len(parts) > _MOST_SECRETS + 1 or len(line) > _LONGEST or not any(part.strip() for part in parts):
        return False
    framed = re.fullmatch("(.+?)".join(map(re.escape, parts)), line)
    if framed is None:
        return False
    hidden = {at for one in find_secrets(line) for at in range(one.start, one.end)}
    spans = (range(*framed.span(number)) for number in range(1, len(parts)))
    return all(
        not hidden.isdisjoint(span) and not any(_WORD.match(line[at]) for at in span if at not in hidden)
        for span in spans
    )


def _places(quoted: str, lines: Lines, safe: Lines) -> list[int]:
    """Where the quote stands: exactly, if it does so anywhere; else but for the space around it."""
    if MARK not in quoted and (exact := [number for number, line in lines.items() if line == quoted]):
        return exact
    for reading in _readings(quoted):
        if reading.strip() and (
            found := [number for number, line in lines.items() if _stands(reading, line, safe[number])]
        ):
            return found
    return []


def _missing(quoted: Sequence[str], lines: Lines, safe: Lines) -> Iterator[str]:
    for one in quoted:
        if not _places(one, lines, safe):
            yield one.strip()[:80]


def _find(quoted: Sequence[str], lines: Lines, safe: Lines, near: int) -> list[int] | None:
    """A line number for each quote, in order. One block if they stand so, and as near to `near` as can be."""
    places = [_places(one, lines, safe) for one in quoted]
    if not all(places):
        return None
    ways = [way for start in places[0] if (way := _way(start, places))]
    return min(ways, key=lambda way: (way[-1] - way[0], abs(way[0] - near), way[0]), default=None)


def _way(start: int, places: Sequence[Sequence[int]]) -> list[int] | None:
    way = [start]
    for one in places[1:]:
        after = bisect_right(one, way[-1])
        if after == len(one):
            return None
        way.append(one[after])
    return way


def _with_patch(finding: Finding, sides: Sides) -> VerifiedFinding:
    finding = replace(finding, suggestion=redact(finding.suggestion.strip()))
    if not finding.patch.strip():
        return VerifiedFinding(replace(finding, patch=""))
    tried = try_patch(finding.path, sides.versions.new(finding.path), finding.patch)
    if not isinstance(tried, AppliedPatch):
        return VerifiedFinding(replace(finding, patch=""), tried)
    if redact(tried.patch) != tried.patch:
        return VerifiedFinding(replace(finding, patch=""), "secret")
    return VerifiedFinding(replace(finding, patch=tried.patch))
