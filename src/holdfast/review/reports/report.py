"""A review as it is reported: what was compared, its units, the findings, and what nobody looked at.

Rule: everything a report says is in this value; the three forms differ in shape only.
"""

from collections.abc import Sequence

from msgspec import Struct

from holdfast.review.finding import SEVERITIES, Finding
from holdfast.review.findings import Findings
from holdfast.review.unit import Decision, Level, Risk, Unit

RISKS: tuple[Risk, ...] = ("high", "medium", "low")


class Unseen(Struct, frozen=True):
    """A file or a unit that was not looked at, and why."""

    path: str
    reason: str
    unit: str = ""


class Report(Struct, frozen=True, kw_only=True):
    """`model` is empty where only the rules looked; `decisions` are on units whose level it gave its word on."""

    title: str
    units: tuple[Unit, ...] = ()
    findings: Findings = Findings()
    unseen: tuple[Unseen, ...] = ()
    decisions: dict[str, Decision] = {}
    model: str = ""
    summary: str = ""

    @property
    def size(self) -> str:
        """`3 files, 5 units, +12 −3 lines`."""
        files = len({unit.path for unit in self.units})
        added = sum(unit.metrics.added for unit in self.units)
        removed = sum(unit.metrics.removed for unit in self.units)
        return f"{many(files, 'file')}, {many(len(self.units), 'unit')}, +{added} −{removed} lines"

    @property
    def found(self) -> str:
        """`1 high, 2 low`, or `none`."""
        kept = self.findings.kept
        counts = {name: sum(finding.severity == name for finding in kept) for name in reversed(SEVERITIES)}
        return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "none"

    @property
    def left_out(self) -> str:
        """What was reported and is not shown; empty where there is nothing."""
        findings = self.findings
        said = [f"{count} for {reason.replace('_', ' ')}" for reason, count in findings.dropped.items()]
        notes = (
            [f"{many(sum(findings.dropped.values()), 'finding')} dropped ({', '.join(said)})"] if said else []
        )
        if findings.patches:
            notes.append(f"{sum(findings.patches.values())} of the patches did not apply")
        if findings.merged:
            notes.append(f"{many(len(findings.merged), 'finding')} merged into others")
        return "; ".join(notes)

    def level(self, unit: Unit) -> Level:
        """How closely a unit is looked at."""
        decided = self.decisions.get(unit.id)
        return decided.level if decided else unit.suggestion.level

    def ranked_units(self) -> list[Unit]:
        """The riskiest first, then the largest."""
        return sorted(self.units, key=_rank)


def risks_of(units: Sequence[Unit]) -> str:
    """`2 high, 31 low`."""
    counts = {risk: sum(unit.risk == risk for unit in units) for risk in RISKS}
    return ", ".join(f"{count} {risk}" for risk, count in counts.items() if count)


def finding_place(finding: Finding) -> str:
    """`path:line`, or `path:first-last`."""
    if not finding.line:
        return finding.path
    last = f"-{finding.last_line}" if finding.last_line > finding.line else ""
    return f"{finding.path}:{finding.line}{last}"


def unit_place(unit: Unit) -> str:
    """`path:line`, or the path alone where no lines are left."""
    return f"{unit.path}:{unit.new.first}" if unit.new.first else unit.path


def many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _rank(unit: Unit) -> tuple[int, int, str, int]:
    return (RISKS.index(unit.risk), -(unit.metrics.added + unit.metrics.removed), unit.path, unit.new.first)
