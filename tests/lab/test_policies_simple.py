"""The simple policies, each by the one thing that makes it what it is."""

from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import ContextOverflow
from holdfast.lab.policies.registry import find_policies
from holdfast.lab.policies.simple import CLEARED, Cap, Clear, Mask, Newest
from holdfast.lab.policy import NamedPolicy, Task
from support.policy_histories import broken_rules, count, history, requests

seeds = st.integers(0, 10**6)
budgets = st.sampled_from((300, 1_000, 4_000))


def plan(start) -> NamedPolicy:
    return NamedPolicy("tried", start)


def step(number: int, words: int) -> list[dict]:
    call = {"id": f"c{number}", "name": "Read", "arguments": {"path": f"src/f{number}.py"}}
    text = " ".join(f"w{number}x{i}" for i in range(words))
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": text},
    ]


def conversation(*words: int) -> list[dict]:
    """One question and steps whose results have so many words."""
    asked = {"role": "user", "content": "Find the fault."}
    return [asked, *(message for number, size in enumerate(words) for message in step(number, size))]


def only_pack(start, messages, budget):
    return start(Task(budget, count)).pack(messages, None)


@settings(max_examples=12)
@given(seed=seeds, budget=budgets)
def test_newest_never_loses_the_last_step_if_it_fits(seed, budget):
    for past, packed in requests(plan(Newest), history(seed), budget):
        start = max((i for i, m in enumerate(past) if m["role"] != "tool"), default=0)
        if count(past[start:]) <= budget:
            assert packed[len(packed) - len(past[start:]) :] == past[start:]


@settings(max_examples=12)
@given(seed=seeds, budget=budgets)
def test_newest_is_a_suffix_behind_a_user_message(seed, budget):
    for past, packed in requests(plan(Newest), history(seed), budget):
        if not packed or isinstance(packed, ContextOverflow):
            continue
        asked = [m for m in past[: -len(packed)] if m["role"] == "user"][-1:]
        assert packed[0]["role"] == "user" or not asked or count(asked + packed) > budget
        assert packed[1:] == past[len(past) - len(packed) + 1 :]


def test_newest_puts_the_question_in_front_of_the_steps_that_answer_it():
    messages = conversation(200, 200, 200, 200)
    packed = only_pack(Newest, messages, 2 * count(messages[-2:]) + count(messages[:1]))
    assert packed == [messages[0], *messages[-4:]]


def test_a_step_larger_than_the_budget_leaves_the_question_alone():
    messages = conversation(10, 4_000)
    assert only_pack(Newest, messages, 500) == messages[:1]


def test_a_question_larger_than_the_budget_leaves_the_steps():
    messages = [{"role": "user", "content": "why " * 1_000}, *conversation(10)[1:]]
    assert only_pack(Newest, messages, 200) == messages[1:]


def test_where_nothing_fits_it_says_so():
    with pytest.raises(ContextOverflow, match=r"newest step takes .* the budget is 50"):
        only_pack(Newest, [{"role": "user", "content": "why " * 100}], 50)


def test_a_result_that_comes_late_stays_with_its_call():
    late, said = conversation(50, 50), {"role": "user", "content": "And hurry."}
    late.insert(-1, said)
    packed = only_pack(Newest, late, count(late[-3:]))
    assert packed == late[-3:]


@settings(max_examples=10)
@given(seed=seeds, keep=st.integers(0, 6))
def test_mask_shows_the_newest_results_only(seed, keep):
    for past, packed in requests(plan(partial(Mask, keep=keep)), history(seed), 400_000):
        results = [m for m in past if m["role"] == "tool"]
        shown = [m for m in packed if m["role"] == "tool"]
        newest = len(results) - keep
        for i, (result, seen) in enumerate(zip(results, shown, strict=True)):
            if i >= newest or count([result]) <= count([{**result, "content": CLEARED}]):
                assert seen is result
            else:
                assert seen == {**result, "content": CLEARED}


@settings(max_examples=12)
@given(seed=seeds, budget=st.sampled_from((1_000, 4_000, 8_000)))
def test_between_batches_clear_only_appends(seed, budget):
    before: list = []
    known = 0
    for past, packed in requests(plan(Clear), history(seed, steps=40), budget):
        if isinstance(packed, ContextOverflow):
            before = []
        elif before and packed[: len(before)] != before:
            assert count(before) + count(past[known:]) > 0.9 * budget
            before = packed
        else:
            before = packed
        known = len(past)


def test_clear_works_in_batches():
    messages = conversation(*[150] * 60)
    packs = [packed for _, packed in requests(plan(Clear), messages, 8_000)]
    moved = sum(b[: len(a)] != a for a, b in pairwise(packs))
    rolled = [packed for _, packed in requests(plan(Newest), messages, 8_000)]
    assert 2 <= moved < sum(b[: len(a)] != a for a, b in pairwise(rolled)) / 5
    assert all(packed[0] == messages[0] for packed in packs[1:])


def test_cleared_stays_cleared():
    cleared: set[str] = set()
    for _, packed in requests(plan(Clear), conversation(*[150] * 60), 8_000):
        results = {m["tool_call_id"]: m["content"] for m in packed if m["role"] == "tool"}
        assert all(results.get(id_, CLEARED) == CLEARED for id_ in cleared)
        cleared |= {id_ for id_, text in results.items() if text == CLEARED}
    assert len(cleared) > 20


@settings(max_examples=10)
@given(seed=seeds, budget=st.sampled_from((1_000, 4_000, 16_000)))
def test_cap_cuts_a_result_when_first_seen_and_never_again(seed, budget):
    first: dict[str, str] = {}
    for past, packed in requests(plan(partial(Cap, share=1 / 8)), history(seed), budget):
        whole = {m["tool_call_id"]: m["content"] for m in past if m["role"] == "tool"}
        for result in packed if not isinstance(packed, ContextOverflow) else ():
            if result["role"] == "tool":
                assert count([result]) <= budget // 8
                assert first.setdefault(result["tool_call_id"], result["content"]) == result["content"]
                if count([{**result, "content": whole[result["tool_call_id"]]}]) <= budget // 8:
                    assert result["content"] == whole[result["tool_call_id"]]


def test_cap_keeps_head_and_tail():
    result = only_pack(Cap, conversation(2_000), 16_000)[-1]["content"]
    assert result.startswith("w0x0 w0x1 ")
    assert result.endswith(" w0x1999")
    assert "characters cut" in result


def test_each_says_its_settings():
    everything, newest, mask, clear, cap = find_policies(["everything", "newest", "mask", "clear", "cap"])
    assert not everything.budgeted
    assert newest.budgeted
    assert "newest 10" in mask.about
    assert "90%" in clear.about
    assert "newest 5" in clear.about
    assert "6.2%" in cap.about
    assert broken_rules(only_pack(everything.start, conversation(5), 1)) == []
