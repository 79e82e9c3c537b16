"""Findings that say the same become one, and what gathers can be written and read."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.review.claims import claim_words
from holdfast.review.finding import SEVERITIES
from holdfast.review.findings import (
    RejectedFinding,
    ReviewFindings,
    Sides,
    VerifiedFinding,
    highest_severity,
    reaches_severity,
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


def test_the_same_is_one_and_listed_with_its_text():
    first = about(5, "The user's input is not validated before the query.", severity="medium")
    second = about(5, "User inputs are never validated before a query!", severity="high")
    found = gathered(first, second)
    assert [f.severity for f in found.kept] == ["high"]
    assert [f.claim for f in found.duplicates] == [first.claim]
    assert found.find(next(iter(found.merged))) == found.kept[0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Skips the last element.", "Skips the first element."),
        ("The input is validated.", "The input is not validated."),
        ("The lock is taken after the file is opened.", "The file is opened after the lock is taken."),
        ("Uses `<` where `<=` is meant.", "Uses `<=` where `<` is meant."),
        ("Uses < where <= is meant.", "Uses <= where < is meant."),
        ("Off by 1.", "Off by 2."),
        ("Returns -1 when empty.", "Returns 1 when empty."),
        ("`a` may be None.", "`b` may be None."),
        ("The interrupt is lost.", "The interface is lost."),
        ("Copies from the cache.", "Copies to the cache."),
        ("Fails if x and y are empty.", "Fails if x or y are empty."),
        ("跳过了最后一个元素。", "跳过了第一个元素。"),
        ("没有检查输入是否为空", "没有关闭打开的文件"),
        ("Le dernier élément est ignoré.", "Le premier élément est ignoré."),
    ],
)
def test_what_differs_in_a_word_is_two_findings(one, other):
    found = gathered(about(5, one), about(5, other))
    assert [f.claim for f in found.kept] == [one, other]
    assert (found.merged, found.duplicates) == ({}, ())
    assert gathered(about(5, other), about(5, one)).merged == {}


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
    model = about(5, "A secret is added here: openai!", category="security", severity="critical")
    found = gathered(rule, model)
    assert [f.severity for f in found.kept] == ["critical"]


def test_the_patch_of_the_lesser_is_taken_over():
    patch = "@@ -5 +5 @@\n-line 5\n+line five\n"
    first = about(5, "Numbers should be words here.", severity="high")
    second = about(5, "Numbers should be words", severity="low", patch=patch, suggestion="Write it out.")
    found = gathered(first, second)
    assert len(found.kept) == 1
    assert found.kept[0].severity == "high"
    assert "+line five" in found.kept[0].patch
    assert found.kept[0].suggestion == "Write it out."


def test_the_order_of_reports_does_not_decide_what_stays():
    three = (
        about(5, "Input is not validated.", severity="low"),
        about(5, "Inputs aren't validated!", severity="high"),
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


_CLAIMS = [
    "Input is not validated.",
    "The inputs are never validated",
    "Input is validated.",
    "The handle leaks.",
    "跳过了最后一个元素。",
    "跳过了第一个元素。",
    "x",
]


@given(
    st.lists(
        st.tuples(
            st.integers(1, 4),
            st.one_of(st.sampled_from(_CLAIMS), st.text("ab <=-1`末首", min_size=1, max_size=6)),
            st.sampled_from(SEVERITIES),
            st.sampled_from(["", "Do this.", "Do that."]),
        ),
        max_size=8,
    )
)
def test_no_finding_disappears_without_being_listed(reports):
    told = [about(line, claim, severity=how, suggestion=what) for line, claim, how, what in reports]
    found = gathered(*told)
    verified = [one for one in told if one.claim.strip()]
    assert highest_severity(found.kept) == highest_severity(verified)
    listed = {(f.line, f.claim) for f in (*found.kept, *found.duplicates)}
    assert {(f.line, f.claim.strip()) for f in verified} == listed
    said = {(f.line, f.suggestion) for f in (*found.kept, *found.duplicates)}
    assert {(f.line, f.suggestion) for f in verified if f.suggestion} <= said
    assert {f.id for f in found.kept}.isdisjoint(found.merged)
    assert set(found.merged.values()) <= {f.id for f in found.kept}
    assert all(found.find(f.id) for f in found.duplicates)


@given(st.text(), st.text())
def test_the_same_words_are_the_same_claim_and_no_others(one, other):
    assert claim_words(f"{one} last") != claim_words(f"{one} first")
    assert claim_words(other) == claim_words(f"{other} ")


def test_a_threshold_is_reached_from_below():
    assert not reaches_severity([], "info")
    assert not reaches_severity([finding(severity="medium")], "high")
    assert reaches_severity([finding(severity="low"), finding(severity="high")], "high")
    assert reaches_severity([finding(severity="critical")], "high")


def test_an_outcome_can_be_taken_without_the_files():
    taken = ReviewFindings().add(RejectedFinding("evidence")).add(VerifiedFinding(finding(id="f-1")))
    assert (taken.dropped, [f.id for f in taken.kept]) == ({"evidence": 1}, ["f-1"])
