"""Findings as they gather: those that are kept, what was dropped and why, which said the same.

Rule: a plain value. It is a fold of what was reported, in order: the same reports give the same findings, and it
can be written as JSON and read again.
"""

from collections.abc import Iterable

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from holdfast.review.duplicates import are_same, merge
from holdfast.review.finding import SEVERITIES, Finding, Severity
from holdfast.review.places import Sides
from holdfast.review.verifying import Rejected, Verified, verify


class Findings(Struct, frozen=True, kw_only=True):
    """`dropped` counts findings by the reason they were refused for, `patches` the patches; `merged` says into
    which finding one that said the same went."""

    kept: tuple[Finding, ...] = ()
    dropped: dict[str, int] = {}
    patches: dict[str, int] = {}
    merged: dict[str, str] = {}

    def report(self, finding: Finding, sides: Sides) -> "Findings":
        """With one more, if it can be verified."""
        return self.take(verify(finding, sides))

    def take(self, outcome: Verified | Rejected) -> "Findings":
        if isinstance(outcome, Rejected):
            return replace(self, dropped=_counted(self.dropped, outcome.reason))
        finding = outcome.finding
        if outcome.patch:
            return replace(self, patches=_counted(self.patches, outcome.patch)).take(Verified(finding))
        for at, other in enumerate(self.kept):
            if are_same(other, finding):
                stays, goes = merge(other, finding)
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


def worst(findings: Iterable[Finding]) -> Severity | None:
    """The highest severity there is; None where there are no findings."""
    return max((finding.severity for finding in findings), key=SEVERITIES.index, default=None)


def exceeds(findings: Iterable[Finding], threshold: Severity) -> bool:
    """Is one of them as severe as the threshold, or more?"""
    found = worst(findings)
    return found is not None and SEVERITIES.index(found) >= SEVERITIES.index(threshold)


def to_json(findings: Findings) -> bytes:
    return msgspec.json.encode(findings)


def from_json(data: bytes | str) -> Findings:
    return msgspec.json.decode(data, type=Findings)


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
