"""Findings that say the same become one, and what gathers can be written and read."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.review.finding import SEVERITIES
from holdfast.review.findings import (
    RejectedFinding,
    ReviewFindings,
    Sides,
    VerifiedFinding,
    are_duplicates,
    highest_severity,
    reaches_severity,
    similarity,
)
from support.review_values import Texts, finding, unit

TEXT = "".join(f"line {n}\n" for n in range(1, 41))
SIDES = Sides([unit("u-1", "a.py")], Texts({}, {"a.py": TEXT}))


def gathered(*findings):
    all_of_them = ReviewFindings()
    for one in findings:
        all_of_them = all_of_them.report(one, SIDES)
    return all_of_them


def about(line, claim, **more):
    return finding(line=line, last_line=line, evidence=(f"line {line}",), claim=claim, **more)


def test_the_same_in_other_words_is_one():
    first = about(5, "The user's input is not validated before it reaches the query.", severity="medium")
    second = about(5, "Input is passed to the query without being validated.", severity="high")
    found = gathered(first, second)
    assert [f.severity for f in found.kept] == ["high"]
    assert len(found.merged) == 1
    assert found.find(next(iter(found.merged))) == found.kept[0]


@pytest.mark.parametrize(
    "other",
    [
        about(5, "The file handle is never closed on this path."),
        about(9, "The user's input is not validated before it reaches the query."),
        about(5, "The user's input is not validated before it reaches the query.", category="style"),
    ],
    ids=["claim", "place", "category"],
)
def test_another_claim_place_or_category_is_another_finding(other):
    first = about(5, "The user's input is not validated before it reaches the query.")
    assert len(gathered(first, other).kept) == 2


def test_a_model_that_sees_what_a_rule_saw_adds_nothing():
    rule = about(5, "A secret is added here (openai).", category="security", rule="secret", severity="high")
    model = about(5, "Hard-coded API secret", category="security", severity="critical")
    found = gathered(rule, model)
    assert [f.severity for f in found.kept] == ["critical"]


def test_the_patch_of_the_lesser_is_taken_over():
    patch = "@@ -5 +5 @@\n-line 5\n+line five\n"
    first = about(5, "Numbers should be words here.", severity="high")
    second = about(5, "Numbers should be words.", severity="low", patch=patch, suggestion="Write it out.")
    found = gathered(first, second)
    assert len(found.kept) == 1
    assert found.kept[0].severity == "high"
    assert "+line five" in found.kept[0].patch
    assert found.kept[0].suggestion == "Write it out."


def test_the_order_of_reports_does_not_decide_what_stays():
    three = (
        about(5, "Input is not validated.", severity="low"),
        about(5, "Input is not validated before use.", severity="high"),
        about(5, "The input is never validated.", severity="medium"),
    )
    assert len({gathered(*order).kept for order in permutations(three)}) == 1


def test_reporting_twice_changes_nothing():
    one = about(5, "Input is not validated.")
    assert gathered(one, one, one) == gathered(one)


def test_what_is_dropped_is_counted_by_reason():
    found = gathered(
        about(5, "x is wrong"),
        finding(evidence=("never",)),
        finding(evidence=("nowhere",)),
        finding(severity="huge"),
    )
    assert len(found.kept) == 1
    assert found.dropped == {"evidence": 2, "severity": 1}
    broken = found.report(about(6, "y is wrong", patch="@@ -1 +1 @@\n-z\n+y\n"), SIDES)
    assert broken.patches == {"does_not_apply": 1}
    assert len(broken.kept) == 2


@given(
    st.lists(
        st.tuples(
            st.integers(1, 6),
            st.sampled_from(["Input is not validated.", "The handle leaks.", "Validated input is not.", "x"]),
            st.sampled_from(SEVERITIES),
        ),
        max_size=8,
    )
)
def test_no_finding_is_lost(reports):
    found = gathered(*(about(line, claim, severity=severity) for line, claim, severity in reports))
    assert highest_severity(found.kept) == max((s for _, _, s in reports), key=SEVERITIES.index, default=None)
    assert {f.id for f in found.kept}.isdisjoint(found.merged)
    assert set(found.merged.values()) <= {f.id for f in found.kept}
    assert not any(
        are_duplicates(a, b)
        for a in found.kept
        for b in found.kept
        if a.id != b.id and a.line == b.line and a.claim == b.claim
    )


def test_a_threshold_is_reached_from_below():
    assert not reaches_severity([], "info")
    assert not reaches_severity([finding(severity="medium")], "high")
    assert reaches_severity([finding(severity="low"), finding(severity="high")], "high")
    assert reaches_severity([finding(severity="critical")], "high")


def test_similarity_is_symmetric_and_bounded():
    assert similarity("inputs are validated", "validate the input") == 1.0
    assert similarity("", "") == 1.0
    assert similarity("", "words") == similarity("words", "") == 0.0


def test_an_outcome_can_be_taken_without_the_files():
    taken = ReviewFindings().add(RejectedFinding("evidence")).add(VerifiedFinding(finding(id="f-1")))
    assert (taken.dropped, [f.id for f in taken.kept]) == ({"evidence": 1}, ["f-1"])
