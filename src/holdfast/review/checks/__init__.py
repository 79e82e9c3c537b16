"""The checks that need no model, one module for each theme.

Rule: precision first. A check with false alarms gets switched off, so if it is not sure it reports nothing. What a
check finds is verified like what a model finds.

A check is a module with `RULES`, the things it looks for, and `check`, which yields findings; `MODULES` lists it.
"""

from holdfast.review.checks import change_shape, dependencies, leftovers, secrets, unsafe_code, weakened_tests
from holdfast.review.checks.check_input import CheckInput, ReviewRule
from holdfast.review.diff import Diff
from holdfast.review.findings import ReviewFindings, Sides
from holdfast.review.intent import ChangeIntent

MODULES = (secrets, weakened_tests, dependencies, unsafe_code, leftovers, change_shape)
RULES: dict[str, ReviewRule] = {rule.name: rule for module in MODULES for rule in module.RULES}


def run_checks(diff: Diff, sides: Sides, intent: ChangeIntent = ChangeIntent()) -> ReviewFindings:  # noqa: B008
    change = CheckInput(diff, sides.units, sides.versions)
    findings = ReviewFindings()
    for module in MODULES:
        for finding in module.check(change):
            findings = findings.report(intent.explain(finding), sides)
    return findings
