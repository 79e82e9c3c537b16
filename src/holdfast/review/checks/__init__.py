"""The rule half of a review: checks that need no model, one module each.

Rule: precision first. A check that cries wolf gets switched off, so where it cannot be sure it says nothing; and
what a check finds passes the same door as what a model finds.
"""

from collections.abc import Callable, Iterable, Sequence
from types import ModuleType

from holdfast.review.checks import (
    conflicts,
    dangers,
    dependencies,
    files,
    hidden,
    leftovers,
    secrets,
    weakened_tests,
)
from holdfast.review.checks.scene import Rule, Scene
from holdfast.review.diff import Diff, Versions
from holdfast.review.finding import Finding
from holdfast.review.findings import Findings
from holdfast.review.places import Sides
from holdfast.review.unit import Unit

__all__ = ["CHECKS", "RULES", "Check", "Rule", "Scene", "run_checks"]

Check = Callable[[Scene], Iterable[Finding]]

_MODULES: dict[str, ModuleType] = {
    "secrets": secrets,
    "conflicts": conflicts,
    "tests": weakened_tests,
    "dependencies": dependencies,
    "dangers": dangers,
    "hidden": hidden,
    "leftovers": leftovers,
    "files": files,
}
CHECKS: dict[str, Check] = {name: module.check for name, module in _MODULES.items()}
RULES: dict[str, Rule] = {rule.name: rule for module in _MODULES.values() for rule in module.RULES}


def run_checks(
    diff: Diff, units: Sequence[Unit], versions: Versions, *, only: Iterable[str] | None = None
) -> Findings:
    """What the checks find, all of them or those named."""
    scene = Scene(diff, units, versions)
    sides = Sides(units, versions)
    findings = Findings()
    for name in CHECKS if only is None else only:
        for finding in CHECKS[name](scene):
            findings = findings.report(finding, sides)
    return findings
