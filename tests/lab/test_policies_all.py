"""What every policy keeps: the budget, pairs of call and result, its input as it was, and its word."""

import gzip
import json
from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import ContextOverflow
from holdfast.lab.policies.cheats import CHEATS
from holdfast.lab.policies.registry import BUILT_IN_POLICIES
from holdfast.lab.policy import Task
from support.name_dumps import DUMPS
from support.policy_histories import answer, broken_rules, count, history, requests
from support.recording_folder import recording_files

PLANS = [*BUILT_IN_POLICIES.values(), *DUMPS]
BUDGETS = (150, 600, 2_000, 8_000)


def each_plan(plans=PLANS):
    return pytest.mark.parametrize("plan", plans, ids=lambda plan: plan.name)


@pytest.mark.slow
@each_plan()
@settings(max_examples=4)
@given(seed=st.integers(0, 10**6), budget=st.sampled_from(BUDGETS))
def test_a_pack_keeps_budget_and_structure(plan, seed, budget):
    messages = history(seed)
    for past, packed in requests(plan, messages, budget):
        if isinstance(packed, ContextOverflow):
            assert plan.budgeted
            continue
        assert not plan.budgeted or count(packed) <= budget
        # Two replies in a row are the recording's own; only our packing puts something between them.
        assert set(broken_rules(packed)) <= set(broken_rules(past))
        assert bool(packed) == bool(past)


@pytest.mark.slow
@each_plan()
@settings(max_examples=3)
@given(seed=st.integers(0, 10**6), budget=st.sampled_from(BUDGETS))
def test_the_same_history_gives_the_same_packs_and_stays_as_it_was(plan, seed, budget):
    messages = history(seed)
    before = deepcopy(messages)
    first = [str(packed) for _, packed in requests(plan, messages, budget)]
    second = [str(packed) for _, packed in requests(plan, before, budget)]
    assert first == second
    assert messages == before == history(seed)


@each_plan()
@settings(max_examples=3)
@given(seed=st.integers(0, 10**6), budget=st.sampled_from(BUDGETS))
def test_asked_twice_it_answers_alike(plan, seed, budget):
    policy = plan.start(Task(budget, count))
    past = []
    for message in history(seed, steps=12):
        past.append(message)
        if message["role"] == "tool":
            assert str(answer(policy, past)) == str(answer(policy, past))


@each_plan([plan for plan in PLANS if plan not in (*CHEATS, *DUMPS)])
def test_little_is_sent_whole(plan):
    *_, (past, packed) = requests(plan, history(5, steps=4), 400_000)
    assert spoken(packed) == spoken(past)


def spoken(messages):
    """Everything but user messages, which ours puts between replies; results in the order of their ids."""
    return sorted(
        (m["role"], m.get("tool_call_id", ""), m["content"] or "", str(m.get("tool_calls", "")))
        for m in messages
        if m["role"] != "user"
    )


@pytest.mark.slow
@each_plan(BUILT_IN_POLICIES.values())
@pytest.mark.parametrize("path", recording_files("pi-mono*"))
def test_recorded_work(plan, path):
    with gzip.open(path, "rt") as lines:
        recorded = [json.loads(line)["messages"] for line in lines]
    for messages in (messages[:200] for messages in recorded):
        answered = list(requests(plan, messages, 16_000))
        for _, packed in answered:
            if isinstance(packed, ContextOverflow):
                # Made for windows of 200k and more, they keep whole steps that may not fit a small budget.
                assert plan.name in ("init", "execute")
            else:
                assert not plan.budgeted or count(packed) <= 16_000
        past, packed = answered[-1]
        assert set(broken_rules(packed)) <= set(broken_rules(past))
