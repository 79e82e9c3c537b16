"""The checks that need no model, one module each.

Rule: precision first. A check with false alarms gets switched off, so if it is not sure it reports nothing. What a
check finds is verified like what a model finds.

A check is a module with `RULES`, the things it looks for, and `check`, which yields findings; `MODULES` lists it.
"""

from collections.abc import Callable, Iterable, Sequence

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

MODULES = (
    secrets,
    conflict_markers,
    weakened_tests,
    dependencies,
    unsafe_code,
    hidden_characters,
    leftovers,
    stray_files,
)
CHECKS: dict[str, Callable[[CheckInput], Iterable[Finding]]] = {
    module.__name__.rpartition(".")[2]: module.check for module in MODULES
}
RULES: dict[str, ReviewRule] = {rule.name: rule for module in MODULES for rule in module.RULES}


def run_checks(
    diff: Diff, units: Sequence[Unit], versions: Versions, *, only: Iterable[str] | None = None
) -> ReviewFindings:
    """What the checks find, all of them or those named."""
    change = CheckInput(diff, units, versions)
    sides = Sides(units, versions)
    findings = ReviewFindings()
    for name in CHECKS if only is None else only:
        for finding in CHECKS[name](change):
            findings = findings.report(finding, sides)
    return findings
