"""What linters found among our own findings: one problem is one finding, whoever saw it."""

import pytest
from msgspec.structs import replace

from holdfast.review.finding import finding_id
from holdfast.review.findings import ReviewFindings, Sides
from holdfast.review.linter_findings import LinterRun, add_linter_finding, count_linter_findings, problem_of
from support.review_values import change, check, finding

CODE = "import pdb\n\n\ndef run(task):\n    breakpoint()\n    return task\n"


@pytest.fixture
def reviewed(tmp_path):
    before = {"a.py": CODE.replace("    breakpoint()\n", "")}
    found = check(tmp_path / "one", before, {"a.py": CODE})
    _, units, versions = change(tmp_path / "two", before, {"a.py": CODE})
    assert [one.rule for one in found.kept] == ["breakpoint"]
    return found, Sides(units, versions)


def said(rule, line=5, claim="Trace found: `breakpoint` used.", **more):
    return finding(rule=rule, line=line, last_line=line, claim=claim, category="leftover", **more)


def test_what_we_found_too_keeps_its_id_and_names_the_linters(reviewed):
    ours, sides = reviewed
    found = add_linter_finding(ours, said("ruff:T100", evidence=("    breakpoint()",)), sides)
    found = add_linter_finding(found, said("bandit:B999", evidence=("    breakpoint()",)), sides)
    found = add_linter_finding(found, said("ruff:T100", evidence=("    breakpoint()",)), sides)
    first, second = found.kept
    assert first == replace(ours.kept[0], also=("ruff:T100",))
    assert (second.rule, second.also) == ("bandit:B999", ())


def test_two_linters_with_one_rule_are_one_finding_and_two_of_one_linter_are_two(reviewed):
    _, sides = reviewed
    line = ("    return task",)
    found = ReviewFindings()
    for one in (
        said("bandit:B501", 6, "Not verified.", evidence=line),
        said("ruff:S501", 6, "Probable use of an insecure call.", evidence=line),
        said("ruff:F401", 6, "`a` imported but unused.", evidence=line),
        said("ruff:F401", 6, "`b` imported but unused.", evidence=line),
    ):
        found = add_linter_finding(found, one, sides)
    assert [(one.rule, one.also) for one in found.kept] == [
        ("bandit:B501", ("ruff:S501",)),
        ("ruff:F401", ()),
        ("ruff:F401", ()),
    ]


def test_the_same_problem_elsewhere_is_another_finding(reviewed):
    ours, sides = reviewed
    found = add_linter_finding(ours, said("ruff:T100", 1, evidence=("import pdb",)), sides)
    assert [one.line for one in found.kept] == [5, 1]


def test_a_claim_without_its_lines_is_dropped_and_counted(reviewed):
    ours, sides = reviewed
    found = add_linter_finding(ours, said("ruff:F401", evidence=("no such line",)), sides)
    assert (found.kept, found.dropped) == (ours.kept, {"evidence": 1})


def test_an_id_does_not_change_with_the_lines_that_a_linter_names():
    one = said("ruff:F811", claim="Redefinition of unused `a` from line 3.")
    assert finding_id(one) == finding_id(replace(one, claim="Redefinition of unused `a` from line 17."))
    assert finding_id(one) != finding_id(replace(one, claim="Redefinition of unused `b` from line 3."))
    ours = replace(one, rule="")
    assert finding_id(ours) != finding_id(replace(ours, claim="Redefinition of unused `a` from line 17."))


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("ruff:T100", "breakpoint"),
        ("ruff:S110", "swallowed-error"),
        ("bandit:B110", "swallowed-error"),
        ("ruff:S324", "bandit:324"),
        ("bandit:B324", "bandit:324"),
        ("ruff:FIX002", "note"),
        ("ruff:SIM118", "ruff:SIM118"),
        ("secret", "secret"),
    ],
)
def test_rules_that_look_for_the_same_are_known(rule, problem):
    assert problem_of(rule) == problem


def test_findings_are_counted_by_linter():
    assert count_linter_findings([LinterRun("ruff", 3), LinterRun("eslint")]) == "ruff 3, eslint 0"
