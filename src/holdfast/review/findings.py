"""Two findings that say the same of the same place, in other words.

Rule: which of two stays does not depend on which came first; the more severe does, and takes over what only the
other had.
"""

import re
from collections.abc import Iterable

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from holdfast.review.finding import SEVERITIES, Finding, Severity
from holdfast.review.sides import Sides
from holdfast.review.verification import RejectedFinding, VerifiedFinding, verify_finding

_WORD = re.compile(r"[^\W\d_]+")
_FILLER = frozenset(
    """the this that and for with not are was can could may might will would should has have its from into when
    where which what how but because only also does here there than then you your code line function""".split()
)
_ALIKE = 0.5
_ALIKE_TO_A_RULE = 0.15
"""A rule names what it saw in fixed words; who sees the same on the same line will use few of them."""


def are_duplicates(one: Finding, other: Finding) -> bool:
    if one.id == other.id:
        return True
    if (one.path, one.side, one.category) != (other.path, other.side, other.category):
        return False
    if one.rule and other.rule:
        return False  # rules do not repeat themselves, and two rules on a line saw two things
    if one.line > other.last_line or other.line > one.last_line:
        return False
    shares_line = bool({line.strip() for line in one.evidence} & {line.strip() for line in other.evidence})
    enough = _ALIKE_TO_A_RULE if shares_line and (one.rule or other.rule) else _ALIKE
    return similarity(one.claim, other.claim) >= enough


def similarity(one: str, other: str) -> float:
    """How much of the shorter claim's words the longer one has, 0 to 1."""
    first, second = _words(one), _words(other)
    if not first or not second:
        return float(first == second)
    return len(first & second) / min(len(first), len(second))


def merge_findings(one: Finding, other: Finding) -> tuple[Finding, str]:
    """The one that stays, with the other's patch or suggestion if it has none of its own; and whose id goes."""
    stays, goes = sorted((one, other), key=_worth)
    if not stays.patch and goes.patch:
        stays = replace(stays, patch=goes.patch, suggestion=stays.suggestion or goes.suggestion)
    elif not stays.suggestion:
        stays = replace(stays, suggestion=goes.suggestion)
    return stays, goes.id


def _worth(finding: Finding) -> tuple[int, bool, int, int, str]:
    return (
        -SEVERITIES.index(finding.severity),
        not finding.patch,
        -len(finding.evidence),
        -len(finding.claim),
        finding.id,
    )


def _words(claim: str) -> set[str]:
    """The claim's words that carry it, cut to their stem: `inputs are not validated`, `validates no input`."""
    words = (word for word in _WORD.findall(claim.lower()) if len(word) > 2 and word not in _FILLER)
    return {word[:5] for word in words}


# Findings as they gather: those that are kept, what was dropped and why, which said the same.
#
# Rule: a plain value. It is a fold of what was reported, in order: the same reports give the same findings, and it
# can be written as JSON and read again.


class ReviewFindings(Struct, frozen=True, kw_only=True):
    """`dropped` counts findings by the reason they were refused for, `patches` the patches; `merged` says into
    which finding one that said the same went."""

    kept: tuple[Finding, ...] = ()
    dropped: dict[str, int] = {}
    patches: dict[str, int] = {}
    merged: dict[str, str] = {}

    def report(self, finding: Finding, sides: Sides) -> "ReviewFindings":
        """With one more, if it can be verified."""
        return self.take(verify_finding(finding, sides))

    def take(self, outcome: VerifiedFinding | RejectedFinding) -> "ReviewFindings":
        if isinstance(outcome, RejectedFinding):
            return replace(self, dropped=_counted(self.dropped, outcome.reason))
        finding = outcome.finding
        if outcome.patch:
            return replace(self, patches=_counted(self.patches, outcome.patch)).take(VerifiedFinding(finding))
        for at, other in enumerate(self.kept):
            if are_duplicates(other, finding):
                stays, goes = merge_findings(other, finding)
                kept = (*self.kept[:at], stays, *self.kept[at + 1 :])
                return replace(self, kept=kept, merged=_pointed(self.merged, goes, stays))
        return replace(self, kept=(*self.kept, finding))

    def find(self, name: str) -> Finding | None:
        """By its id, or by that of one that was merged into it."""
        name = self.merged.get(name, name)
        return next((finding for finding in self.kept if finding.id == name), None)

    def ranked(self) -> tuple[Finding, ...]:
        """The most severe first, then by place."""
        return tuple(sorted(self.kept, key=_rank))


def highest_severity(findings: Iterable[Finding]) -> Severity | None:
    """The highest severity there is; None where there are no findings."""
    return max((finding.severity for finding in findings), key=SEVERITIES.index, default=None)


def reaches_severity(findings: Iterable[Finding], threshold: Severity) -> bool:
    """Is one of them as severe as the threshold, or more?"""
    found = highest_severity(findings)
    return found is not None and SEVERITIES.index(found) >= SEVERITIES.index(threshold)


def to_json(findings: ReviewFindings) -> bytes:
    return msgspec.json.encode(findings)


def from_json(data: bytes | str) -> ReviewFindings:
    return msgspec.json.decode(data, type=ReviewFindings)


def _rank(finding: Finding) -> tuple[int, str, int, str]:
    return (-SEVERITIES.index(finding.severity), finding.path, finding.line, finding.id)


def _counted(counts: dict[str, int], key: str) -> dict[str, int]:
    return dict(sorted((counts | {key: counts.get(key, 0) + 1}).items()))


def _pointed(merged: dict[str, str], goes: str, stays: Finding) -> dict[str, str]:
    """With one more that went; those that had gone into it now point at what stays."""
    if goes == stays.id:
        return merged
    moved = {name: stays.id if into == goes else into for name, into in merged.items() if name != stays.id}
    return moved | {goes: stays.id}
