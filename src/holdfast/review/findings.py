"""All findings of a review: each is verified on the side of the file it is about, and which were kept, dropped or
duplicates are listed.

Rule: what is kept can be shown. Every line of evidence is in the named file as written here (secrets aside), and
the patch, if there is one, applies. Verifying twice gives the same as verifying once. The same reports in the same
order give the same findings. A verified finding is kept or listed as a duplicate with its text. Two are one only
if they say the same at the same place; which stays does not depend on their order: the more severe one does, and
takes over what only the other had.

A line with a secret is shown with `<REDACTED>`, so a reviewer can quote it only that way. Such a quote matches
a line that has a secret in exactly that place, and no other line.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from holdfast.redaction import MARK, find_secrets, redact
from holdfast.review.claims import claim_words
from holdfast.review.diff import Versions
from holdfast.review.finding import SEVERITIES, Category, Finding, Severity, Side, finding_id
from holdfast.review.patches import AppliedPatch, PatchProblem, try_patch
from holdfast.review.unit import Unit

NumberedLines = Mapping[int, str]
"""By number, from 1, without `\\r` at the end. With gaps if only the hunks are known."""
RejectionReason = Literal["severity", "category", "claim", "unit", "file", "evidence", "no_evidence"]
"""Why a finding is dropped: what it lacks, or what is wrong with it."""

_CATEGORIES = frozenset(get_args(Category))
_WORD = re.compile(r"[^\W_]")
_NUMBERED = re.compile(r"\s*\d{1,6}(?:→|\t|:|\s*\|)\s?")

_MAX_SECRETS = 3
_MAX_LENGTH = 2_000
"""Of a line that is compared around its secrets; a longer one only matches as it is shown."""


def find_unit(units: Sequence[Unit], side: Side, line: int) -> str:
    """The id of the unit that contains the line, else of the nearest one. All units are of one file; empty if there
    are none."""

    def distance(unit: Unit) -> int:
        span = unit.new if side == "new" else unit.old
        return max(span.first - line, line - span.last, 0)

    return min(units, key=distance).id if units else ""


class Sides:
    """Reads each side of a file once, when it is first needed."""

    def __init__(self, units: Sequence[Unit], versions: Versions) -> None:
        self.units = tuple(units)
        self.versions = versions
        self.lines = cache(self._lines)
        self.safe_lines = cache(self._safe_lines)

    def _safe_lines(self, path: str, side: Side) -> NumberedLines:
        """The lines without secrets. Redacted as one text: what makes a line secret may be in the line before."""
        lines = self.lines(path, side) or {}
        text = redact("\n".join(lines.values()), kingfisher=False).split("\n")
        return dict(zip(lines, text, strict=True)) if lines else {}

    def units_of(self, path: str) -> list[Unit]:
        return [unit for unit in self.units if path in (unit.path, unit.old_path)]

    def _lines(self, path: str, side: Side) -> NumberedLines | None:
        """All lines of that side, else those that the hunks show; None if nothing is known."""
        units = self.units_of(path)
        if side == "new":
            text = self.versions.new(path)
        else:
            text = self.versions.old(next((unit.old_path for unit in units if unit.path == path), path))
        if text is not None:
            whole = text.removesuffix("\n").split("\n") if text else []
            return {number: line.removesuffix("\r") for number, line in enumerate(whole, start=1)}
        # On the new side, the old name of a moved file belongs to another file, or to none.
        own = [unit for unit in units if unit.path == path] or (units if side == "old" else [])
        lines = {
            number: line.text.removesuffix("\r")
            for unit in own
            for hunk in unit.hunks
            for line in hunk.lines
            if (number := line.old if side == "old" else line.new)
        }
        return dict(sorted(lines.items())) or None


class RejectedFinding(Struct, frozen=True):
    reason: RejectionReason
    detail: str = ""


class VerifiedFinding(Struct, frozen=True):
    """`patch_problem` says why the suggested patch was dropped, if it was."""

    finding: Finding
    patch_problem: PatchProblem | Literal["secret"] | None = None


class ReviewFindings(Struct, frozen=True, kw_only=True):
    """`dropped` counts rejected findings by reason, `patches` dropped patches by reason; `merged` maps the id of a
    duplicate to the finding it went into. `duplicates` are the merged findings as they were reported. `gone` are
    those of earlier runs whose lines are no longer in the change."""

    kept: tuple[Finding, ...] = ()
    dropped: dict[str, int] = {}
    patches: dict[str, int] = {}
    merged: dict[str, str] = {}
    duplicates: tuple[Finding, ...] = ()
    gone: tuple[Finding, ...] = ()

    def report(self, finding: Finding, sides: Sides) -> "ReviewFindings":
        """Add a finding if it can be verified, else count it as dropped."""
        return self.add(verify_finding(finding, sides))

    def add(self, outcome: VerifiedFinding | RejectedFinding) -> "ReviewFindings":
        if isinstance(outcome, RejectedFinding):
            return replace(self, dropped=_count(self.dropped, outcome.reason))
        patches = _count(self.patches, outcome.patch_problem) if outcome.patch_problem else self.patches
        finding = outcome.finding
        # The one of the same id first: two findings of one id could not be told apart.
        for at, other in sorted(enumerate(self.kept), key=lambda placed: placed[1].id != finding.id):
            if are_duplicates(other, finding):
                stays, goes = merge_findings(other, finding)
                kept = (*self.kept[:at], stays, *self.kept[at + 1 :])
                # What went into `goes` goes on to `stays`.
                merged = {one: stays.id if into == goes.id else into for one, into in self.merged.items()}
                merged = {
                    one: into for one, into in (merged | {goes.id: stays.id}).items() if one != stays.id
                }
                listed = self.duplicates
                if not _contains(stays, goes) and goes not in listed:
                    listed = (*listed, goes)
                return replace(self, patches=patches, kept=kept, merged=merged, duplicates=listed)
        return replace(self, patches=patches, kept=(*self.kept, finding))

    def find(self, id_: str) -> Finding | None:
        """By its id, or by the id of a duplicate that was merged into it."""
        id_ = self.merged.get(id_, id_)
        return next((finding for finding in self.kept if finding.id == id_), None)

    def ranked(self) -> tuple[Finding, ...]:
        """The most severe first, then by place."""
        return tuple(sorted(self.kept, key=lambda one: (-_severity(one), one.path, one.line, one.id)))


def _severity(finding: Finding) -> int:
    return SEVERITIES.index(finding.severity)


def highest_severity(findings: Iterable[Finding]) -> Severity | None:
    return max((finding.severity for finding in findings), key=SEVERITIES.index, default=None)


def reaches_severity(findings: Iterable[Finding], threshold: Severity) -> bool:
    """Is one of them at least as severe as the threshold?"""
    return any(_severity(finding) >= SEVERITIES.index(threshold) for finding in findings)


def are_duplicates(one: Finding, other: Finding) -> bool:
    """Do both say the same about the same place, even if in other words?"""
    if one.id == other.id:
        return True
    if (one.path, one.side, one.category) != (other.path, other.side, other.category):
        return False
    if one.rule and other.rule:
        return False  # rules do not repeat themselves: two rules on one line saw two things
    if one.line > other.last_line or other.line > one.last_line:
        return False
    return claim_words(one.claim) == claim_words(other.claim)


def merge_findings(one: Finding, other: Finding) -> tuple[Finding, Finding]:
    """The one that stays, with the other's patch or suggestion if it has none; and the one that goes."""
    stays, goes = sorted(
        (one, other), key=lambda f: (-_severity(f), not f.patch, -len(f.evidence), -len(f.claim), f.id)
    )
    if not stays.patch and goes.patch:
        stays = replace(stays, patch=goes.patch, suggestion=stays.suggestion or goes.suggestion)
    elif not stays.suggestion:
        stays = replace(stays, suggestion=goes.suggestion)
    return stays, goes


def _contains(stays: Finding, goes: Finding) -> bool:
    """Does the one that stays say all that the other said?"""
    fields = ("claim", "suggestion", "patch")
    return all(getattr(goes, name) in ("", getattr(stays, name)) for name in fields)


def _count(counts: dict[str, int], key: str) -> dict[str, int]:
    return dict(sorted((counts | {key: counts.get(key, 0) + 1}).items()))


def verify_finding(finding: Finding, sides: Sides) -> VerifiedFinding | RejectedFinding:
    """The finding as it is kept: at its place, with exact lines, an id, and a patch that applies or none."""
    if finding.severity not in SEVERITIES:
        return _rejected("severity", str(finding.severity))
    if finding.category not in _CATEGORIES:
        return _rejected("category", str(finding.category))
    if not finding.claim.strip():
        return _rejected("claim")
    # The unit it names may be in another file: a caller that did not change.
    unit = finding.unit
    if all(unit != one.id for one in sides.units):
        unit = find_unit(sides.units_of(finding.path), finding.side, finding.line)
    if not unit:
        return _rejected("unit", finding.unit)
    # Redacted before the id is made of it, so that the stored claim gives the same id.
    located = _locate(replace(finding, claim=redact(finding.claim.strip())), sides)
    if isinstance(located, RejectedFinding):
        return located
    return _check_patch(replace(located, unit=unit), sides)


def _rejected(reason: RejectionReason, detail: str = "") -> RejectedFinding:
    return RejectedFinding(reason, redact(detail))


def _locate(finding: Finding, sides: Sides) -> Finding | RejectedFinding:
    """The finding with the line numbers and the exact text of its evidence."""
    lines = sides.lines(finding.path, finding.side)
    quotes = [line for part in finding.evidence for line in part.split("\n") if line.strip()]
    if not quotes:
        return _locate_file(finding, lines, sides)
    if lines is None:
        return _rejected("file")
    safe = sides.safe_lines(finding.path, finding.side)
    found = _find(quotes, lines, safe, finding.line)
    if found is None:
        missing = next((quote for quote in quotes if not _matches(quote, lines, safe)), "")
        return _rejected("evidence", missing.strip()[:80])
    is_at_line = found[0] <= finding.line <= found[-1]
    # Only punctuation, which is in many places: only the line number could say which one is meant.
    is_common = not any(map(_WORD.search, quotes)) and len(_matches(quotes[0], lines, safe)) > 1
    if is_common and not is_at_line:
        return _rejected("evidence", quotes[0].strip()[:80])
    first = finding.line if is_at_line else found[0]
    last = min(finding.last_line, max(lines)) if is_at_line and finding.last_line >= first else found[-1]
    exact = tuple(redact("\n".join(safe[number] for number in found)).split("\n"))
    located = replace(finding, line=first, last_line=max(first, last), evidence=exact)
    same_above = sum(number < found[0] and line.strip() == exact[0].strip() for number, line in safe.items())
    return replace(located, id=finding_id(located, same_above))


def _locate_file(finding: Finding, lines: NumberedLines | None, sides: Sides) -> Finding | RejectedFinding:
    """Without evidence. A mode, a move or a binary file has no lines to show; everything else does."""
    own = sides.units_of(finding.path)
    if not finding.rule and any(unit.hunks for unit in own):
        return _rejected("no_evidence")
    if not own and lines is None:
        return _rejected("file")
    end = max(lines, default=0) if lines else 0
    first = min(max(finding.line, 0), end)
    located = replace(finding, line=first, last_line=min(max(finding.last_line, first), end), evidence=())
    return replace(located, id=finding_id(located))


def _find(quotes: Sequence[str], lines: NumberedLines, safe: NumberedLines, near: int) -> list[int] | None:
    """A line number for each quote, in order; the shortest block, and among these the one nearest to `near`."""
    matches = [_matches(quote, lines, safe) for quote in quotes]
    blocks = [block for start in matches[0] if (block := _block(start, matches))]
    return min(blocks, key=lambda block: (block[-1] - block[0], abs(block[0] - near), block[0]), default=None)


def _block(start: int, matches: Sequence[Sequence[int]]) -> list[int] | None:
    """From `start`, for each quote the next line that matches it; None if the quotes are not in this order."""
    block = [start]
    for numbers in matches[1:]:
        after = bisect_right(numbers, block[-1])
        if after == len(numbers):
            return None
        block.append(numbers[after])
    return block


def _matches(quote: str, lines: NumberedLines, safe: NumberedLines) -> list[int]:
    """The lines that match a quote: exactly if there are any, else up to the whitespace around it."""
    if MARK not in quote and (exact := [number for number, line in lines.items() if line == quote]):
        return exact
    for reading in _readings(quote):
        if reading.strip() and (
            found := [number for number, line in lines.items() if _is_line(reading, line, safe[number])]
        ):
            return found
    return []


def _readings(quote: str) -> Iterator[str]:
    """What the quote may mean, the most literal first: as it is, after a diff's sign, after a line number."""
    yield quote
    if quote[:1] in ("+", "-"):
        yield quote[1:]
    if numbered := _NUMBERED.match(quote):
        yield quote[numbered.end() :]


def _is_line(quote: str, line: str, safe: str) -> bool:
    if MARK not in quote:
        return quote.strip() == line.strip()
    return quote.strip() == safe.strip() or _hides_secrets(quote.strip().split(MARK), line.strip())


def _hides_secrets(parts: list[str], line: str) -> bool:
    """Do these parts surround the secrets of the line? Whatever they leave out must be one."""
    if len(parts) > _MAX_SECRETS + 1 or len(line) > _MAX_LENGTH or not any(part.strip() for part in parts):
        return False
    match = re.fullmatch("(.+?)".join(map(re.escape, parts)), line)
    if match is None:
        return False
    secret = {at for one in find_secrets(line) for at in range(one.start, one.end)}
    gaps = (range(*match.span(number)) for number in range(1, len(parts)))
    return all(
        not secret.isdisjoint(gap) and not any(_WORD.match(line[at]) for at in gap if at not in secret)
        for gap in gaps
    )


def _check_patch(finding: Finding, sides: Sides) -> VerifiedFinding:
    finding = replace(finding, suggestion=redact(finding.suggestion.strip()))
    if not finding.patch.strip():
        return VerifiedFinding(replace(finding, patch=""))
    tried = try_patch(finding.path, sides.versions.new(finding.path), finding.patch)
    if not isinstance(tried, AppliedPatch):
        return VerifiedFinding(replace(finding, patch=""), tried)
    if redact(tried.patch) != tried.patch:
        return VerifiedFinding(replace(finding, patch=""), "secret")
    return VerifiedFinding(replace(finding, patch=tried.patch))
