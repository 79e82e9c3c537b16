"""The rule half of a review: checks that need no model, one module each.

Rule: precision first. A check that cries wolf gets switched off, so where it cannot be sure it says nothing; and
what a check finds passes the same door as what a model finds.
"""

from collections.abc import Callable, Iterable, Sequence
from types import ModuleType

from holdfast.review.checks import (
    conflict_markers,
    dependencies,
    hidden_characters,
    leftovers,
    secrets,
    stray_files,
    unsafe_code,
    weakened_tests,
)
from holdfast.review.checks.check_input import CheckInput, ReviewRule
from holdfast.review.diff import Diff, Versions
from holdfast.review.finding import Finding
from holdfast.review.findings import ReviewFindings
from holdfast.review.sides import Sides
from holdfast.review.unit import Unit

__all__ = ["CHECKS", "RULES", "Check", "CheckInput", "ReviewRule", "run_checks"]

Check = Callable[[CheckInput], Iterable[Finding]]

_MODULES: dict[str, ModuleType] = {
    "secrets": secrets,
    "conflicts": conflict_markers,
    "tests": weakened_tests,
    "dependencies": dependencies,
    "dangers": unsafe_code,
    "hidden": hidden_characters,
    "leftovers": leftovers,
    "files": stray_files,
}
CHECKS: dict[str, Check] = {name: module.check for name, module in _MODULES.items()}
RULES: dict[str, ReviewRule] = {rule.name: rule for module in _MODULES.values() for rule in module.RULES}


def run_checks(
    diff: Diff, units: Sequence[Unit], versions: Versions, *, only: Iterable[str] | None = None
) -> ReviewFindings:
    """What the checks find, all of them or those named."""
    scene = CheckInput(diff, units, versions)
    sides = Sides(units, versions)
    findings = ReviewFindings()
    for name in CHECKS if only is None else only:
        for finding in CHECKS[name](scene):
            findings = findings.report(finding, sides)
    return findings
