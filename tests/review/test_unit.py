"""What the rules suggest, how risky a unit is, and that high risk is never skipped."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.review.diff import ChangeKind
from holdfast.review.unit import (
    LEVELS,
    LevelSuggestion,
    Metrics,
    ReviewLevel,
    Risk,
    Span,
    Symbol,
    Tag,
    decide_level,
    rate_unit,
)
from support.review_values import unit


def rated(change, tags, metrics, is_in_function):
    symbol = Symbol("f", "function", Span(1, 9)) if is_in_function else None
    return rate_unit(unit("u-1", "a.py", change=change, tags=tags, metrics=metrics, symbol=symbol))


def facts(*tags, change="modified", added=3, removed=1, complexity=0, fan_in=-1, is_in_function=True):
    return rated(change, tags, Metrics(added, removed, 1, complexity, fan_in), is_in_function)


@pytest.mark.parametrize(
    ("one", "risk", "level"),
    [
        (facts(), "low", "function"),
        (facts("security"), "high", "file_context"),
        (facts("security", is_in_function=False), "high", "full_file"),
        (facts("security", "comments_only"), "low", "diff"),
        (facts("security", "imports_only"), "medium", "diff"),
        (facts("migration"), "high", "full_file"),
        (facts("routing"), "high", "file_context"),
        (facts("tests", change="deleted", added=0), "high", "diff"),
        (facts("tests", "whole_function", added=0, removed=9), "high", "diff"),
        (facts("tests", "whole_function", removed=0), "low", "diff"),
        (facts("tests"), "low", "function"),
        (facts(complexity=12), "high", "file_context"),
        (facts("whole_function", complexity=12), "medium", "file_context"),
        (facts(fan_in=50), "medium", "file_context"),
        (facts("config", is_in_function=False), "medium", "file_context"),
        (facts("dependencies"), "medium", "full_file"),
        (facts("dependencies", "generated"), "low", "diff"),
        (facts("generated"), "low", "skip"),
        (facts("whitespace_only"), "low", "skip"),
        (facts("moved", added=0, removed=0), "low", "skip"),
        (facts("moved", "security", added=0, removed=0), "high", "diff"),
        (facts("mode", added=0, removed=0), "medium", "diff"),
        (facts("docs"), "low", "diff"),
        (facts(change="added", added=40), "low", "diff"),
        (facts(is_in_function=False), "low", "diff"),
    ],
)
def test_risk_and_suggestion(one, risk, level):
    assert (one.risk, one.suggestion.level) == (risk, level)
    assert one.suggestion.reason


@pytest.mark.parametrize(
    ("confidence", "rule", "asked", "level", "by"),
    [
        (0.9, "function", "diff", "function", "rule"),
        (0.8, "function", "full_file", "full_file", "larger"),
        (0.9, "function", None, "function", "rule"),
        (0.3, "function", "diff", "diff", "model"),
        (0.3, "function", "skip", "skip", "model"),
        (0.1, "diff", "full_file", "full_file", "model"),
        (0.5, "function", "diff", "function", "larger"),
        (0.5, "function", "file_context", "file_context", "larger"),
        (0.79, "diff", "skip", "diff", "larger"),
    ],
)
def test_fusion(confidence, rule, asked, level, by):
    decision = decide_level(LevelSuggestion(rule, confidence, "why"), asked, "low")
    assert (decision.level, decision.by) == (level, by)


WISHES = st.none() | st.sampled_from(LEVELS)
SUGGESTIONS = st.builds(LevelSuggestion, st.sampled_from(LEVELS), st.floats(0, 1), st.just("why"))


@given(SUGGESTIONS, WISHES)
def test_high_risk_is_never_skipped(suggestion, asked):
    assert decide_level(suggestion, asked, "high").level != "skip"


@given(SUGGESTIONS, WISHES, st.sampled_from(get_args(Risk)))
def test_rules_that_are_sure_are_only_raised(suggestion, asked, risk):
    level: ReviewLevel = decide_level(suggestion, asked, risk).level
    if suggestion.confidence > 0.3:
        assert LEVELS.index(level) >= LEVELS.index(suggestion.level)
    elif asked is not None:
        assert level == asked or risk == "high"


@given(
    st.sampled_from(get_args(ChangeKind)),
    st.frozensets(st.sampled_from(get_args(Tag))),
    st.builds(Metrics, *[st.integers(0, 300)] * 3, st.integers(-50, 50), st.integers(-1, 999)),
    st.booleans(),
    WISHES,
)
def test_no_combination_of_facts_skips_high_risk(change, tags, metrics, is_in_function, asked):
    one = rated(change, tuple(tags), metrics, is_in_function)
    assert 0 <= one.suggestion.confidence <= 1
    if one.risk == "high":
        assert one.suggestion.level != "skip"
        assert decide_level(one.suggestion, asked, one.risk).level != "skip"
