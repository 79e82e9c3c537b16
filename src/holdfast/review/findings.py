"""All findings of a review: which were kept, which were dropped and why, which were duplicates.

Rule: a plain value, and a fold over reports in their order: the same reports give the same findings. Which of two
duplicates stays does not depend on their order: the more severe one does, and takes over what only the other had.
"""

import re
from collections.abc import Iterable

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
_SIMILAR = 0.5
_SIMILAR_TO_RULE = 0.15
"""A rule uses fixed words; a model that sees the same problem on the same line uses few of them."""


class ReviewFindings(Struct, frozen=True, kw_only=True):
    """`dropped` counts rejected findings by reason, `patches` dropped patches by reason; `merged` maps the id of a
    duplicate to the finding it went into."""

    kept: tuple[Finding, ...] = ()
    dropped: dict[str, int] = {}
    patches: dict[str, int] = {}
    merged: dict[str, str] = {}

    def report(self, finding: Finding, sides: Sides) -> "ReviewFindings":
        """Add a finding if it can be verified, else count it as dropped."""
        return self.add(verify_finding(finding, sides))

    def add(self, outcome: VerifiedFinding | RejectedFinding) -> "ReviewFindings":
        if isinstance(outcome, RejectedFinding):
            return replace(self, dropped=_count(self.dropped, outcome.reason))
        patches = _count(self.patches, outcome.patch_problem) if outcome.patch_problem else self.patches
        finding = outcome.finding
        for at, other in enumerate(self.kept):
            if are_duplicates(other, finding):
                stays, goes = merge_findings(other, finding)
                kept = (*self.kept[:at], stays, *self.kept[at + 1 :])
                return replace(self, patches=patches, kept=kept, merged=self._redirect(goes, stays.id))
        return replace(self, patches=patches, kept=(*self.kept, finding))

    def find(self, id_: str) -> Finding | None:
        """By its id, or by the id of a duplicate that was merged into it."""
        id_ = self.merged.get(id_, id_)
        return next((finding for finding in self.kept if finding.id == id_), None)

    def ranked(self) -> tuple[Finding, ...]:
        """The most severe first, then by place."""
        return tuple(sorted(self.kept, key=_rank))

    def _redirect(self, goes: str, stays: str) -> dict[str, str]:
        """`merged` with one more entry; entries that pointed at `goes` point at `stays`."""
        if goes == stays:
            return self.merged
        moved = {name: stays if into == goes else into for name, into in self.merged.items() if name != stays}
        return moved | {goes: stays}


def highest_severity(findings: Iterable[Finding]) -> Severity | None:
    return max((finding.severity for finding in findings), key=SEVERITIES.index, default=None)


def reaches_severity(findings: Iterable[Finding], threshold: Severity) -> bool:
    """Is one of them at least as severe as the threshold?"""
    highest = highest_severity(findings)
    return highest is not None and SEVERITIES.index(highest) >= SEVERITIES.index(threshold)


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
    shares_line = bool({line.strip() for line in one.evidence} & {line.strip() for line in other.evidence})
    threshold = _SIMILAR_TO_RULE if shares_line and (one.rule or other.rule) else _SIMILAR
    return similarity(one.claim, other.claim) >= threshold


def merge_findings(one: Finding, other: Finding) -> tuple[Finding, str]:
    """The one that stays, with the other's patch or suggestion if it has none; and the id of the one that goes."""
    stays, goes = sorted((one, other), key=_merge_rank)
    if not stays.patch and goes.patch:
        stays = replace(stays, patch=goes.patch, suggestion=stays.suggestion or goes.suggestion)
    elif not stays.suggestion:
        stays = replace(stays, suggestion=goes.suggestion)
    return stays, goes.id


def similarity(one: str, other: str) -> float:
    """How many of the shorter claim's words the longer one has, from 0 to 1."""
    first, second = _stems(one), _stems(other)
    if not first or not second:
        return float(first == second)
    return len(first & second) / min(len(first), len(second))


def _stems(claim: str) -> set[str]:
    """The words that carry a claim, cut to a stem: `inputs are not validated`, `validates no input`."""
    words = (word for word in _WORD.findall(claim.lower()) if len(word) > 2 and word not in _FILLER)
    return {word[:5] for word in words}


def _rank(finding: Finding) -> tuple[int, str, int, str]:
    return (-SEVERITIES.index(finding.severity), finding.path, finding.line, finding.id)


def _merge_rank(finding: Finding) -> tuple[int, bool, int, int, str]:
    return (
        -SEVERITIES.index(finding.severity),
        not finding.patch,
        -len(finding.evidence),
        -len(finding.claim),
        finding.id,
    )


def _count(counts: dict[str, int], key: str) -> dict[str, int]:
    return dict(sorted((counts | {key: counts.get(key, 0) + 1}).items()))
