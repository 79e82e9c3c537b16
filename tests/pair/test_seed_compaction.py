"""Compaction of the two agents as it was designed, with its own numbers: 155 000 tokens to about 70 000 for Init,
720 000 to about 200 000 for Execute. The texts are made up, their tokens are counted."""

import asyncio
import json
import re

import pytest
from msgspec.structs import replace

from holdfast.agents.pairing.desk import DECISIONS
from holdfast.compacting import compact
from holdfast.compaction.plan import plan_compaction
from holdfast.errors import ConfigError, ContextOverflow
from holdfast.events import AssistantReplied, RecapSet, ToolReturned, UserSaid
from holdfast.messages import AssistantMessage, Text, ToolCall, ToolMessage, UserMessage, joined_text
from holdfast.models.protocol import Request
from holdfast.models.scripted import ScriptedModel
from holdfast.models.wire.anthropic import AnthropicWire
from holdfast.packing.fold import plan_fold
from holdfast.packing.pack import pack
from holdfast.packing.profile import BUILT_IN, MOCK_PROMPT
from holdfast.packing.trigger import estimate
from holdfast.packing.validator import check
from holdfast.packing.window import Window
from holdfast.pair.handover import Handover, Problem, handover_text
from holdfast.pair.roles import built_in
from holdfast.session import Session
from holdfast.views import path

INIT, EXECUTE = built_in().roles
LINE = "the sample was evaluated and its trace says what was compared with what, step by step"
SUMMARIES = {
    "init": {
        "current_design_summary": {
            "unified_scenario_design": "refunds of a shop",
            "business_rules_key_points": ["R4 comes first"],
            "format_specifications": "JSON lists",
        },
        "execute_feedback_summary": {
            "execution_output_dir": "execution_outputs/iteration_12",
            "total_failure_samples": 15,
            "layer1_problems_summary": ["R4 contradicts R7"],
        },
        "analysis_conclusions": ["s05 shows it"],
        "pending_actions": ["change R7"],
        "key_paths": {
            "execution_output_dir": "execution_outputs/iteration_12",
            "layer1_problems_report": "execution_outputs/iteration_12/layer1_problems_report.json",
        },
    },
    "execute": {
        "generated_components": {"tools": ["tool1.py: refunds"], "checkers": [], "samples": "15, of 3 kinds"},
        "evaluation_progress": {
            "current_iteration": 12,
            "success_rate": "12/15 (80%)",
            "layer_status": "layer 3 is done, layer 4 in work",
        },
        "identified_issues": {"layer2_problems": [], "layer3_problems": ["too strict"], "fix_attempts": []},
        "pending_work": ["go on below 85 %"],
        "key_paths": {"execution_output_dir": "execution_outputs/iteration_12"},
    },
}
KEPT = "execution_outputs/iteration_12"
REPORT = f"{KEPT}/layer1_problems_report.json"


def opened(role):
    return Session(profile=role.profile, system=role.prompt, model="anthropic/claude-opus-5-5")


def feedback(role, n):
    problem = Problem(f"R4 contradicts R7 in round {n}", 1, "high", ("s05", "s11"))
    handover = Handover(
        summary=f"Round {n} was evaluated.", asks="Look at tool1.py and s05.", problems=(problem,)
    )
    about = {"execution_output_dir": KEPT, "layer1_problems_report": REPORT}
    name = "execute_to_init_context" if role is INIT else "init_to_execute_context"
    return UserSaid((Text(handover_text(name, handover, about)),), "agent")


def work(role, n, results, lines):
    """A round: what the other said, one step that reads some files, each of so many lines."""
    calls = [
        ToolCall(f"c{n}_{i}", "Read", {"path": f"{KEPT}/execution_traces/s{n}_{i}.json"})
        for i in range(results)
    ]
    yield feedback(role, n)
    yield AssistantReplied((Text(f"I look at the traces of round {n}."), *calls))
    for i, call in enumerate(calls):
        text = "\n".join(f"{k} s{n}_{i} {LINE}" for k in range(lines))
        yield ToolReturned(call.id, "Read", (Text(text),))


def filled(role, rounds, old, newest):
    """A session of so many rounds; the newest ones, which stay, are read at more length: results and lines each."""
    session = opened(role)
    for n in range(rounds):
        session.record(*work(role, n, *(newest if n >= rounds - session.profile.keep else old)))
    return session


def told(role, words="I have done this so far."):
    summary = json.dumps(SUMMARIES[role.name])
    return ScriptedModel(f"{words}\n<compact_summary>{summary}</compact_summary>")


def summary_in(packed):
    question, answer = packed.layer("summary").messages
    written = re.fullmatch(r"(?s).*<compact_summary>\s*(\{.*\})\s*</compact_summary>\s*", answer.text)
    assert written, answer.text[:200]
    return question, json.loads(written[1])


def keys_of(value, above=""):
    if not isinstance(value, dict):
        return {above}
    return {key for name, below in value.items() for key in keys_of(below, f"{above}.{name}".strip("."))}


def assert_valid(packed):
    sent = AnthropicWire().body("claude", Request(messages=packed.messages, tools=packed.tools))
    assert check(sent["messages"], "anthropic", system=sent.get("system"), tools=sent.get("tools")) == ()


CASES = [
    pytest.param(INIT, 10, (9, 44), (16, 43), 155_000, 70_000, 3, id="init"),
    pytest.param(EXECUTE, 100, (4, 43), (28, 45), 720_000, 200_000, 5, id="execute"),
]


@pytest.mark.parametrize(("role", "rounds", "old", "newest", "before", "after", "steps"), CASES)
def test_before_and_after_as_the_seed_has_them(role, rounds, old, newest, before, after, steps):
    session = filled(role, rounds, old, newest)
    assert session.window.total() == pytest.approx(before, rel=0.02)
    done = asyncio.run(compact(session, told(role), manual=False))
    assert done is not None
    packed = pack(session.window)
    assert done.tokens_after == pytest.approx(after, rel=0.05)
    question, summary = summary_in(packed)
    assert joined_text(question.parts) == MOCK_PROMPT
    assert keys_of(SUMMARIES[role.name]) <= keys_of(summary), "every key, and not any"
    whole = [m for m in packed.messages if isinstance(m, AssistantMessage) and m.calls]
    assert len(whole) == steps
    results = [m for m in packed.messages if isinstance(m, ToolMessage)]
    assert len(results) == steps * newest[0]
    assert all(len(m.text.splitlines()) == newest[1] for m in results), "nothing of them is cut"
    first = packed.messages[1]
    assert isinstance(first, UserMessage), "behind the system message a user speaks first"
    assert_valid(packed)


@pytest.mark.parametrize("role", [INIT, EXECUTE], ids=["init", "execute"])
def test_it_begins_strictly_above_the_threshold(role):
    """At the very threshold nothing is due; with one token more it is."""
    session = filled(role, *((10, (9, 45), (16, 45)) if role is INIT else (100, (4, 45), (30, 45))))
    size = estimate(session.window)
    profile = session.profile
    assert size > profile.trigger
    assert plan_compaction(session.window) is not None
    exact = Window(replace(profile, trigger_tokens=size), session.window.scene.counter, entries_of(session))
    assert plan_compaction(exact) is None
    below = Window(
        replace(profile, trigger_tokens=size - 1), session.window.scene.counter, entries_of(session)
    )
    assert plan_compaction(below) is not None


def entries_of(session):
    return path(session.log.entries())


@pytest.mark.parametrize("role", [INIT, EXECUTE], ids=["init", "execute"])
def test_two_in_a_row_leave_one_pair_and_keep_what_was_planted(role):
    small = BUILT_IN[role.profile].scaled_to(16_000)
    session = Session(profile=small, system="You work.", model="anthropic/claude-opus-5-5")
    session.record(UserSaid((Text("Write rules for refunds. Never change cases.json."),)))
    waiting = "waits for a person (question `q1`): may R7 win over R4?"
    session.record(RecapSet(DECISIONS, "Decisions of a person", (waiting,)))
    done = 0
    for n in range(40):
        session.record(*work(role, n, 2, 20))
        if asyncio.run(compact(session, told(role), manual=False)) is not None:
            done += 1
        fold = plan_fold(session.window)
        if fold is not None:
            session.record(fold)
        packed = pack(session.window)
        assert_valid(packed)
        assert waiting in joined_text(packed.messages[-1].parts), "it stands in every request"
        if done == 2:
            break
    assert done == 2
    _, summary = summary_in(packed)
    text = json.dumps(summary)
    assert "Never change cases.json." in text, "what a person forbade"
    assert KEPT in text
    shown = [m for m in packed.messages if isinstance(m, UserMessage) and joined_text(m.parts) == MOCK_PROMPT]
    assert len(shown) == 1
    full = [level for level, _ in session.window.levels if level in ("full", "clipped")]
    assert len(full) >= session.profile.keep, "N does not shrink"


def test_case_1_the_first_context_is_over_the_threshold():
    """It never is by one message, whose middle can be brought back; by many, a summary says what was received."""
    session = opened(INIT)
    given = joined_text(feedback(INIT, 0).parts) + f"\n{LINE}" * 12_000
    session.record(UserSaid((Text(given),), "agent"))
    assert session.window.scene.counter.text(given) > session.profile.trigger
    packed = pack(session.window)
    assert packed.tokens < session.profile.trigger
    assert "<execute_to_init_context>" in joined_text(packed.messages[1].parts)
    assert 'Recall(id="' in joined_text(packed.messages[1].parts)
    for n in range(6):
        session.record(*work(INIT, n, 10, 45))
    done = asyncio.run(compact(session, told(INIT), manual=False))
    assert done is not None
    assert done.tokens_after < session.profile.trigger
    assert KEPT in json.dumps(summary_in(pack(session.window))[1])


def test_case_3_recent_steps_alone_are_too_much():
    """First long results are clipped; short ones stay whole up to the hard limit; then a person is asked."""
    long = opened(INIT)
    for n in range(5):
        long.record(*work(INIT, n, 1, 2_200))
    assert estimate(long.window) > long.profile.trigger
    assert asyncio.run(compact(long, told(INIT), manual=False)) is not None
    assert pack(long.window).tokens < long.profile.low_water
    short = opened(INIT)
    for n in range(3):
        short.record(*work(INIT, n, 40, 45))
    profile = short.profile
    assert profile.trigger < estimate(short.window), "over the threshold"
    assert short.window.total() <= profile.hard_limit, "and below the hard limit"
    assert plan_compaction(short.window) is None, "nothing lies before the steps that stay"
    assert short.make_room() is None
    assert pack(short.window).tokens > profile.trigger - profile.reply_room
    short.record(*work(INIT, 3, 90, 45))
    with pytest.raises(ContextOverflow, match="what may not be cut"):
        short.make_room()


def test_item_15_a_trigger_above_the_hard_limit_is_refused_at_start():
    """The ancestor's Init would have begun at 300 000 in a window of 200 000."""
    with pytest.raises(ConfigError, match="lies above the hard limit") as error:
        replace(BUILT_IN["init"], trigger_tokens=300_000)
    assert "lower `trigger_tokens`" in error.value.hint


def test_item_16_a_summary_with_one_word_of_the_form_is_no_summary():
    """The seed's own check passed where any one of some words was there."""
    session = filled(INIT, 10, (9, 45), (16, 45))
    one = ScriptedModel("current progress pending execution_output_dir", repeat_last=True)
    done = asyncio.run(compact(session, one, manual=False))
    assert done is not None
    assert done.written.by == "rule"
    assert done.asks, "a person is to look at it"
    _, summary = summary_in(pack(session.window))
    assert keys_of(SUMMARIES["init"]) <= keys_of(summary)
