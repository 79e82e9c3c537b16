"""Compaction of the two agents as it was designed, with its own numbers: 155 000 tokens to about 70 000 for Init,
720 000 to about 200 000 for Execute. The texts are made up, their tokens are counted."""

import asyncio
import json

import pytest
from msgspec.structs import replace

from holdfast.agents.pair.role_session import DECISIONS
from holdfast.compaction.compact import compact
from holdfast.compaction.plan import plan_compaction
from holdfast.errors import ConfigError, ContextOverflow
from holdfast.events import RecapSet, UserSaid
from holdfast.messages import AssistantMessage, Text, ToolMessage, UserMessage, joined_text
from holdfast.models.scripted import ScriptedModel
from holdfast.packing.folding.fold_plan import plan_fold
from holdfast.packing.folding.trigger import estimate_request
from holdfast.packing.pack import pack
from holdfast.packing.profile import BUILT_IN, MOCK_PROMPT
from holdfast.packing.window import Window
from holdfast.session import Session
from holdfast.views import path
from support.pair_compactions import (
    EXECUTE,
    INIT,
    KEPT,
    LINE,
    SUMMARIES,
    assert_valid,
    feedback,
    filled,
    keys_of,
    opened,
    summary_in,
    told,
    work,
)

CASES = [
    pytest.param(INIT, 10, (9, 44), (16, 43), 155_000, 70_000, 3, id="init"),
    pytest.param(EXECUTE, 100, (4, 43), (28, 45), 720_000, 200_000, 5, id="execute"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("role", "rounds", "old", "newest", "before", "after", "steps"), CASES)
def test_before_and_after_as_the_seed_has_them(role, rounds, old, newest, before, after, steps):
    session = filled(role, rounds, old, newest)
    assert session.window.view().total == pytest.approx(before, rel=0.02)
    done = asyncio.run(compact(session, told(role), manual=False))
    assert done is not None
    packed = pack(session.window.view())
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


@pytest.mark.slow
@pytest.mark.parametrize("role", [INIT, EXECUTE], ids=["init", "execute"])
def test_it_begins_strictly_above_the_threshold(role):
    """At the very threshold nothing is due; with one token more it is."""
    session = filled(role, *((10, (9, 45), (16, 45)) if role is INIT else (100, (4, 45), (30, 45))))
    size = estimate_request(session.window.view())
    profile = session.profile
    assert size > profile.trigger
    assert plan_compaction(session.window.view()) is not None
    exact = Window(replace(profile, trigger_tokens=size), session.window.counter, entries_of(session))
    assert plan_compaction(exact.view()) is None
    below = Window(replace(profile, trigger_tokens=size - 1), session.window.counter, entries_of(session))
    assert plan_compaction(below.view()) is not None


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
        fold = plan_fold(session.window.view())
        if fold is not None:
            session.record(fold)
        packed = pack(session.window.view())
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
    full = [level for level, _ in session.window.view().levels[-session.profile.keep :]]
    assert full == ["full"] * session.profile.keep, "N does not shrink"


@pytest.mark.slow
def test_case_1_the_first_context_is_over_the_threshold():
    """It never is by one message, whose middle can be brought back; by many, a summary says what was received."""
    session = opened(INIT)
    given = joined_text(feedback(INIT, 0).parts) + f"\n{LINE}" * 12_000
    session.record(UserSaid((Text(given),), "agent"))
    assert session.window.counter.text(given) > session.profile.trigger
    packed = pack(session.window.view())
    assert packed.tokens < session.profile.trigger
    assert "<execute_to_init_context>" in joined_text(packed.messages[1].parts)
    assert 'Recall(id="' in joined_text(packed.messages[1].parts)
    for n in range(7):
        session.record(*work(INIT, n, 10, 45))
    done = asyncio.run(compact(session, told(INIT), manual=False))
    assert done is not None
    assert done.tokens_after < session.profile.trigger
    assert KEPT in json.dumps(summary_in(pack(session.window.view()))[1])


def test_case_3_recent_steps_alone_are_too_much():
    """First long results are clipped; short ones stay whole up to the hard limit; then a person is asked."""
    long = opened(INIT)
    for n in range(5):
        long.record(*work(INIT, n, 1, 2_200))
    assert estimate_request(long.window.view()) > long.profile.trigger
    assert asyncio.run(compact(long, told(INIT), manual=False)) is not None
    assert pack(long.window.view()).tokens < long.profile.low_water
    short = opened(INIT)
    for n in range(3):
        short.record(*work(INIT, n, 40, 45))
    profile = short.profile
    assert profile.trigger < estimate_request(short.window.view()), "over the threshold"
    assert short.window.view().total <= profile.hard_limit, "and below the hard limit"
    assert plan_compaction(short.window.view()) is None, "nothing lies before the steps that stay"
    assert short.make_room() is None
    assert pack(short.window.view()).tokens > profile.trigger - profile.reply_room
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
    _, summary = summary_in(pack(session.window.view()))
    assert keys_of(SUMMARIES["init"]) <= keys_of(summary)
