"""What a report did to the findings, as plain data, and the same done again.

Rule: an effect says what stands after it, not what to add, so that one that is done twice is done once. Done in
order, the effects of all reports give the findings that the reports gave.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from holdfast.messages import Json
from holdfast.review.finding import Finding
from holdfast.review.findings import Findings
from holdfast.review.places import Sides
from holdfast.review.verifying import Rejected, Verified, verify


class Effect(Struct, frozen=True, kw_only=True):
    """`finding` is the one that stands now, `replaces` the id of the one that stood there; `merged` and `parted`
    are what was put into, and taken from, the names of findings that went into others. Counts are totals."""

    outcome: Literal["kept", "merged", "rejected"]
    finding: Finding | None = None
    replaces: str = ""
    merged: dict[str, str] = field(default_factory=dict)
    parted: tuple[str, ...] = ()
    dropped: dict[str, int] = field(default_factory=dict)
    patches: dict[str, int] = field(default_factory=dict)
    reason: str = ""
    patch_dropped: str = ""


def effect_of(before: Findings, after: Findings, outcome: Verified | Rejected) -> dict[str, Json]:
    if isinstance(outcome, Rejected):
        effect = Effect(
            outcome="rejected", reason=outcome.reason, dropped=after.dropped, patches=after.patches
        )
    else:
        gone = {one.id for one in before.kept} - {one.id for one in after.kept}
        effect = Effect(
            outcome="kept" if len(after.kept) > len(before.kept) else "merged",
            finding=after.find(outcome.finding.id),
            replaces=next(iter(gone), ""),
            merged={name: into for name, into in after.merged.items() if before.merged.get(name) != into},
            parted=tuple(name for name in before.merged if name not in after.merged),
            dropped=after.dropped,
            patches=after.patches,
            patch_dropped=outcome.patch or "",
        )
    # As the log gives it back, with lists and no tuples.
    plain: dict[str, Json] = msgspec.json.decode(msgspec.json.encode(effect))
    return plain


def do_again(findings: Findings, data: Mapping[str, Json], sides: Sides) -> Findings:
    """The findings with an effect. A finding that no longer stands in the files, since the change became another,
    is left out."""
    effect = msgspec.convert(data, Effect)
    counted = replace(
        findings,
        dropped=_larger(findings.dropped, effect.dropped),
        patches=_larger(findings.patches, effect.patches),
    )
    verified = verify(effect.finding, sides) if effect.finding else None
    if not isinstance(verified, Verified):
        return counted
    merged = {name: into for name, into in findings.merged.items() if name not in effect.parted}
    return replace(
        counted,
        kept=_placed(findings.kept, verified.finding, effect.replaces),
        merged=merged | effect.merged,
    )


def _placed(kept: tuple[Finding, ...], finding: Finding, replaces: str) -> tuple[Finding, ...]:
    """At its own place if it has one, else at that of the one it replaces, else behind all."""
    ids = [one.id for one in kept]
    at = next((ids.index(name) for name in (finding.id, replaces) if name in ids), len(kept))
    placed = (*kept[:at], finding, *kept[at + 1 :])
    return tuple(one for one in placed if one.id != replaces or one is finding)


def _larger(ours: Mapping[str, int], theirs: Mapping[str, int]) -> dict[str, int]:
    return {key: max(ours.get(key, 0), theirs.get(key, 0)) for key in sorted({*ours, *theirs})}
