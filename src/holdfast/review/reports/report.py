"""A review as it is reported: what was compared, its units, the findings, and what nobody looked at.

Rule: everything a report says is in this value; the three forms differ in shape only.
"""

from msgspec import Struct

from holdfast.review.findings import Findings
from holdfast.review.unit import Unit


class Unseen(Struct, frozen=True):
    """A file or a unit that was not looked at, and why."""

    path: str
    reason: str
    unit: str = ""


class Report(Struct, frozen=True, kw_only=True):
    """`model` is empty where only the rules looked."""

    title: str
    units: tuple[Unit, ...] = ()
    findings: Findings = Findings()
    unseen: tuple[Unseen, ...] = ()
    model: str = ""
    summary: str = ""
