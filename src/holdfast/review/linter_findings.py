"""What other people's linters found, among the findings of a review.

Rule: a problem that several tools report on one line is one finding, and names them all. Ours stays, with its id,
so that the ids are the same whether linters are run or not.
"""

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from holdfast.review.finding import Finding
from holdfast.review.findings import RejectedFinding, ReviewFindings, Sides, verify_finding

_SAME = {
    "breakpoint": "ruff:T100 eslint:no-debugger clippy:dbg_macro",
    "debug-print": "ruff:T201 ruff:T203 eslint:no-console clippy:print_stdout clippy:print_stderr",
    "note": "eslint:no-warning-comments clippy:todo",
    "secret": "bandit:105 bandit:106 bandit:107",
    "swallowed-error": "bandit:110 bandit:112 ruff:BLE001 ruff:E722 ruff:SIM105 eslint:no-empty",
    "text-as-code": "bandit:102 bandit:307 bandit:602 bandit:605 eslint:no-eval eslint:no-implied-eval "
    "eslint:no-new-func",
    "certificate-check-off": "bandit:323 bandit:501",
    "hidden-direction": "ruff:PLE2502 bandit:613",
    "invisible-character": "ruff:PLE2515 eslint:no-irregular-whitespace",
    "focused-test": "eslint:jest/no-focused-tests eslint:vitest/no-focused-tests eslint:mocha/no-exclusive-tests "
    "eslint:no-only-tests/no-only-tests",
    "skipped-test": "eslint:jest/no-disabled-tests eslint:vitest/no-disabled-tests eslint:mocha/no-skipped-tests "
    "eslint:mocha/no-pending-tests",
}
"""Our rules, and those of linters that look for the same. Bandit's are in ruff too, by the same numbers."""

_PROBLEMS = {theirs: ours for ours, names in _SAME.items() for theirs in names.split()}
_BANDIT = re.compile(r"(?:bandit:B|ruff:S)(\d{3})")
_NOTES = re.compile(r"ruff:(?:TD|FIX)\d+")


class LinterRun(Struct, frozen=True):
    """One linter of a review: how much it found in the changed lines. `trouble` is a sentence about what went
    wrong, or empty."""

    name: str
    findings: int = 0
    trouble: str = ""


def problem_of(rule: str) -> str:
    """What a rule looks for: the name of ours where there is one, else one that linters share, else its own."""
    if _NOTES.fullmatch(rule):
        return "note"
    if match := _BANDIT.fullmatch(rule):
        rule = f"bandit:{match[1]}"
    return _PROBLEMS.get(rule, rule)


def add_linter_finding(findings: ReviewFindings, finding: Finding, sides: Sides) -> ReviewFindings:
    """Add a linter's finding, or its name to the finding that says the same already."""
    outcome = verify_finding(finding, sides)
    if isinstance(outcome, RejectedFinding):
        return findings.add(outcome)
    found = outcome.finding
    for at, other in enumerate(findings.kept):
        if other.id == found.id:
            return findings
        if _is_same(other, found):
            also = tuple(sorted({*other.also, found.rule} - {other.rule}))
            return replace(
                findings, kept=(*findings.kept[:at], replace(other, also=also), *findings.kept[at + 1 :])
            )
    return findings.add(outcome)


def _is_same(one: Finding, other: Finding) -> bool:
    # Two findings of one linter on a line are two things, such as two unused imports.
    if (one.path, one.side) != (other.path, other.side) or _tool(one.rule) == _tool(other.rule):
        return False
    overlaps = one.line <= other.last_line and other.line <= one.last_line
    return overlaps and problem_of(one.rule) == problem_of(other.rule)


def _tool(rule: str) -> str:
    return rule.partition(":")[0] if is_linter_rule(rule) else ""


def is_linter_rule(rule: str) -> bool:
    """Such as `ruff:F401`; ours have no colon."""
    return ":" in rule


def count_linter_findings(runs: Sequence[LinterRun]) -> str:
    """`ruff 3, eslint 0`."""
    return ", ".join(f"{run.name} {run.findings}" for run in runs)
