"""Our own packing as a policy: the same packs as without replay, counted as the scorer counts, ids that resolve."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.events import LogStarted
from holdfast.ids import ALPHABET, text_id
from holdfast.lab.policies.profile_policy import PROFILES, SCORED, profile_policy
from holdfast.lab.policy import Task
from holdfast.packing.counting.tokens import TokenCounter
from holdfast.packing.log_walk import walk_log
from holdfast.packing.pack import pack
from holdfast.packing.profile import BUILT_IN, CODE
from holdfast.tokenizers import load_tokenizer
from holdfast.wire.content_blocks import CallNames
from holdfast.wire.message_lists import events_from_message
from holdfast.wire.openai import to_openai
from support.logs import chained
from support.policy_histories import broken_rules, count, history, requests

ID = re.compile(rf"\ba[{ALPHABET}]{{12}}\b")
each_plan = pytest.mark.parametrize("plan", PROFILES, ids=lambda plan: plan.name)
seeds = st.integers(0, 10**6)


def packs(plan, messages, budget):
    """The policy and its answers, of which none may be an overflow."""
    policy = plan.start(Task(budget, count))
    past, sent = [], []
    for message in messages:
        if message["role"] == "assistant":
            sent.append(policy.pack(past, None))
        past.append(message)
    return policy, sent


@each_plan
def test_a_pack_breaks_no_rule_at_all(plan):
    for _, packed in requests(plan, history(11, steps=40), 8_000):
        assert broken_rules(packed) == []


@pytest.mark.slow
@each_plan
@settings(max_examples=4)
@given(seed=seeds)
def test_layers_are_counted_as_the_scorer_counts(plan, seed):
    for sent in packs(plan, history(seed), 12_000)[1]:
        pictures = any(isinstance(m["content"], list) for m in sent.messages)
        assert count(sent.messages) <= sum(sent.layers.values())
        assert pictures or count(sent.messages) == sum(sent.layers.values())
        assert set(sent.layers) <= {"summary", "window", "round", "tail"}


@each_plan
def test_nothing_differs_from_packing_without_replay(plan):
    messages = [{k: v for k, v in m.items() if k != "reasoning"} for m in history(3, steps=30)]
    messages = [m for m in messages if not isinstance(m["content"], list)]
    last = max(i for i, m in enumerate(messages) if m["role"] == "assistant")
    *_, sent = packs(plan, messages, 6_000)[1]
    events, names = [LogStarted(origin="import")], CallNames()
    for message in messages[:last]:
        found = events_from_message(message, "openai", names=names, opening=False)
        events += found
    profile = replace(BUILT_IN[plan.name].scaled_to(6_000), reply_tokens=0)
    window, folds = walk_log(profile, TokenCounter(load_tokenizer(), SCORED), chained(events))
    expected = to_openai(pack(window.view()).messages).messages
    assert folds
    assert [(m["role"], m["content"]) for m in sent.messages] == [(m["role"], m["content"]) for m in expected]


@each_plan
def test_every_id_on_view_leads_to_its_text(plan):
    policy, sent = packs(plan, history(8, steps=60), 4_000)
    shown = {id_ for one in sent for message in one.messages for id_ in ID.findall(str(message))}
    assert shown
    follow = list(shown)
    seen: set[str] = set()
    while follow:
        id_ = follow.pop()
        text = policy.fetch(id_)
        assert text is not None, id_
        assert text_id(text) == id_
        seen.add(id_)
        if text.startswith(("step ", "user: ", "steps ", "earlier ")):
            follow += [found for found in ID.findall(text) if found not in seen]
    assert policy.fetch("a000000000000") is None


@pytest.mark.slow
def test_marks_are_shares_of_the_whole_budget():
    sizes = [
        sum(sent.layers.values()) for sent in packs(profile_policy(CODE), history(2, steps=80), 10_000)[1]
    ]
    assert max(sizes) > 0.9 * 0.8 * 10_000
    assert max(sizes) <= 10_000


@pytest.mark.slow
def test_a_profile_of_ones_own():
    own = replace(CODE, name="mine", trigger_ratio=0.5, fold_to_ratio=0.2)
    plan = profile_policy(own)
    assert plan.name == "mine"
    assert "from 50% of the budget down to 20%" in plan.about
    messages = history(2, steps=60)
    mean = {
        name: sum(sum(s.layers.values()) for s in packs(p, messages, 10_000)[1])
        for name, p in (("mine", plan), ("code", profile_policy(CODE)))
    }
    assert mean["mine"] < mean["code"]


def test_a_message_is_read_once():
    policy = profile_policy(CODE).start(Task(8_000, count))
    past = history(4, steps=6)
    first = policy.pack(past, None)
    past[0] = {"role": "user", "content": "changed behind its back"}
    assert policy.pack(past, None) == first
