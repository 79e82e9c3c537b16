"""Writing summaries: whatever a model does, the agent goes on and what the user said stays."""

import asyncio

import pytest

from holdfast.compaction.compact import compact, preview, undo
from holdfast.events import Compacted, CompactionFailed, ContextSet, Folded, UsageReported
from holdfast.messages import Text
from holdfast.models.errors import NetworkFailed, Overflowed
from holdfast.models.model import ModelReply
from holdfast.models.scripted import ScriptedModel
from holdfast.packing.profile import BUILT_IN
from holdfast.recall import answer_recall
from holdfast.session import Session
from support.command_steps import GOOD, RULE, events_of, started, steps
from support.logs import result, step, user


def test_a_models_summary_is_used_and_billed():
    session, model = started(), ScriptedModel(GOOD)
    done = asyncio.run(compact(session, model))
    assert done is not None
    assert done.written.by == "scripted/model"
    assert "part_5 needs care" in done.written.text
    assert [event.purpose for event in events_of(session, UsageReported)] == ["summary"]
    assert done.tokens_after < done.tokens_before


def test_what_a_model_invents_goes_and_what_it_forgets_is_added():
    lying = GOOD.replace("part_5 needs care", "see src/made_up.py and commit deadbeef99").replace(RULE, "")
    done = asyncio.run(compact(started(), ScriptedModel(lying)))
    assert done is not None
    assert "made_up" not in done.written.text
    assert "deadbeef99" not in done.written.text
    assert RULE in done.written.text
    assert done.written.removed
    assert done.written.added


def test_what_the_static_context_names_is_not_invented():
    """A review's diff stands in the stable layer, and in no message."""
    session = Session(profile="review", budget="8k")
    session.record(ContextSet("diff", "+++ b/src/only_in_the_diff.py\n+x = 1"))
    session.record(user(f"Review it. {RULE}"), *steps(0, 40))
    told = "## Conclusions\n- src/only_in_the_diff.py is sound; src/made_up.py is not\n"
    done = asyncio.run(compact(session, ScriptedModel(told)))
    assert done is not None
    assert "src/only_in_the_diff.py is sound" in done.written.text
    assert "made_up" not in done.written.text


def test_who_is_asked_behind_the_live_messages_may_name_the_newest_of_them():
    session = started("init")
    told = '<compact_summary>{"pending_actions": ["see to part_39", "see to part_77"]}</compact_summary>'
    done = asyncio.run(compact(session, ScriptedModel(told, repeat_last=True)))
    assert done is not None
    assert done.plan.steps < 39
    assert "see to part_39" in done.written.text
    assert "part_77" not in done.written.text


FAILING = {
    "empty": "  ",
    "no form": "I would rather talk about something else.",
    "cut off": ModelReply(parts=(Text(GOOD),), stop="length"),
    "refused": ModelReply(parts=(Text("I cannot help with that."),), stop="refused"),
    "too long for the provider": Overflowed("prompt is too long"),
    "network": NetworkFailed("connection lost"),
    "inflated": GOOD + "- " + "part_5 needs care, as was said. " * 4_000,
}


@pytest.mark.parametrize("reply", FAILING.values(), ids=FAILING)
def test_a_failure_costs_one_retry_and_then_the_rule_half_stands_in(reply):
    session, model = started(), ScriptedModel(reply, reply)
    done = asyncio.run(compact(session, model))
    assert done is not None
    assert len(model.requests) == 2
    assert done.written.by == "rule"
    assert RULE in done.written.text
    (failed,) = events_of(session, CompactionFailed)
    assert failed.why
    assert any("so it was written by rule" in note for note in done.notes)


def test_a_second_try_that_works_is_no_failure():
    session, model = started(), ScriptedModel("", GOOD)
    done = asyncio.run(compact(session, model))
    assert done is not None
    assert done.written.by == "scripted/model"
    assert not events_of(session, CompactionFailed)


@pytest.mark.parametrize("profile", ["init", "execute", "code"])
def test_a_profile_that_asks_a_person_says_so(profile):
    done = asyncio.run(compact(started(profile), ScriptedModel("", repeat_last=True)))
    assert done is not None
    assert done.asks == (profile != "code")
    assert any("please read the summary" in note for note in done.notes) == done.asks
    assert not asyncio.run(compact(started(profile))).asks, "no model, no failure"


@pytest.mark.parametrize("profile", ["init", "execute"])
def test_a_state_that_stands_for_everything_never_shrinks_to_a_mark(profile):
    """The new steps may be shorter than all that it must go on saying."""
    session = started(profile)
    session.record(user("Then the lexer. Always run `make lint` first."), *steps(40, 80))
    asyncio.run(compact(session))
    for start in range(80, 100, 4):
        session.record(user(f"And part {start}. Never rename part_{start}."), *steps(start, start + 4))
        assert asyncio.run(compact(session)) is not None
    state = session.window.transcript.compactions.state.text
    assert RULE in state
    assert "Always run `make lint` first." in state
    assert "Never rename part_80." in state


@pytest.mark.parametrize("profile", ["init", "execute"])
def test_a_state_is_recorded_even_where_it_is_no_shorter(profile):
    """Many short demands: said again one by one they take more than they took, and have no other place."""
    session = Session(profile=profile, budget="8k")
    demands = [f"Never do {n}." for n in range(60)]
    session.record(user(" ".join(demands)), step("Well."), step("So."), user("Go on."))
    session.record(*steps(0, session.profile.keep))
    done = asyncio.run(compact(session))
    assert done is not None
    assert all(demand in done.written.text for demand in demands)


SEEN = [f"word{i % 15}x{i % 50} stood in part {i % 15}, as was seen" for i in range(100)]
WORDY = {
    "code": GOOD + "".join(f"- {line}\n" for line in SEEN),
    "draft16k": "[History Summary]\n- Overall Goal: parts\n- Key Knowledge / Insights: " + "; ".join(SEEN),
}


@pytest.mark.parametrize("profile", WORDY)
def test_what_a_model_writes_keeps_to_the_budget(profile):
    session = started(profile, 24)
    count = session.window.counter.text
    done = asyncio.run(compact(session, ScriptedModel(WORDY[profile])))
    assert done is not None
    assert done.written.by == "scripted/model"
    assert count(WORDY[profile]) > done.plan.budget >= count(done.written.text)
    assert RULE in done.written.text
    assert any(why == "the summary was too long" for _, why in done.written.removed)


@pytest.mark.parametrize("profile", ["code", "review", "init"])
def test_what_the_rule_half_writes_keeps_to_the_budget(profile):
    session = Session(profile=profile, budget="8k")
    session.record(user(f"Read it all. {RULE}"))
    for i in range(60):
        path = f"src/part_{i}/a_module_with_a_name_{i}.py"
        session.record(step("", (f"c{i}", "Read", {"file_path": path})), result(f"c{i}", "x = 1"))
    done = asyncio.run(compact(session))
    assert done is not None
    assert session.window.counter.text(done.written.text) <= done.plan.budget
    assert RULE in done.written.text


@pytest.mark.slow
def test_three_failures_in_a_row_end_a_models_tries_with_one_line():
    session, model = started(), ScriptedModel("", repeat_last=True)
    notes = []
    for start in range(40, 200, 40):
        done = asyncio.run(compact(session, model, manual=False))
        notes.append(done.notes if done else None)
        session.record(*steps(start, start + 40))
    assert len(model.requests) == 3 * 2, "each failure is two tries, and then nobody is asked"
    assert [any("failures in a row" in note for note in each) for each in notes] == [
        False,
        False,
        True,
        False,
    ]
    assert len(events_of(session, CompactionFailed)) == 3
    again = asyncio.run(compact(session, ScriptedModel(GOOD)))
    assert again is not None
    assert again.written.by == "scripted/model", "a person may ask again"


@pytest.mark.parametrize("profile", BUILT_IN)
def test_undo_gives_back_the_very_same_pack(profile):
    session = started(profile, 30)
    session.record(user("and now the lexer"), *steps(30, 60))
    before = session.pack().messages
    done = asyncio.run(compact(session))
    assert done is not None
    assert session.pack().messages != before
    assert undo(session)
    assert session.pack().messages == before
    assert undo(session) == ()


@pytest.mark.slow
def test_undo_takes_back_one_compaction_and_no_more():
    """Also where nothing stands between two, and where a bill or a failure was recorded with one."""
    session = started(count=30)
    asyncio.run(compact(session, ScriptedModel("", GOOD)))
    session.record(*steps(30, 60))
    before = session.pack().messages
    asyncio.run(compact(session, ScriptedModel("", repeat_last=True)))
    narrower = Session(profile="code", budget="2k", store=session.store, log=session.log.id)
    assert asyncio.run(compact(narrower)) is not None
    assert len(undo(narrower)) == 3
    assert len(undo(session)) == 3
    assert session.pack().messages == before
    assert len(events_of(session, CompactionFailed)) == 1
    assert session.window.transcript.compactions.failures == 1, "that a model failed stays true"


def test_a_compaction_that_nothing_pressed_for_makes_the_window_smaller_too():
    """Lines that are kept do not fill the room it makes."""
    session = Session(budget="64k")
    session.record(user(f"Fix the parser. {RULE}"), *steps(0, 100))
    done = asyncio.run(compact(session))
    assert done is not None
    profile = session.profile
    assert done.tokens_before < profile.low_water
    size = done.tokens_before + profile.reply_room
    assert done.tokens_after + profile.reply_room <= size * profile.low_water // profile.trigger


def test_a_compaction_is_recorded_whole_or_not_at_all():
    session = started()
    count = len(session.log.entries())
    done = asyncio.run(compact(session))
    assert done is not None
    kinds = [type(entry.event) for entry in session.log.entries()[count:]]
    assert kinds == [Compacted, Compacted, Folded]
    fold = session.log.entries()[-1].event
    assert session.window.view().total <= fold.tokens_after, (
        "it reckons with the summary that it makes room for"
    )


def test_a_preview_changes_nothing():
    session = started()
    entries = len(session.log.entries())
    assert preview(session, focus="the lexer") is not None
    assert len(session.log.entries()) == entries


def test_a_focus_reaches_the_model_and_the_log():
    session, model = started(), ScriptedModel(GOOD)
    asyncio.run(compact(session, model, focus="mind the LEXER"))
    asked = model.requests[0].messages[-1]
    assert "mind the LEXER" in asked.parts[0].text
    assert events_of(session, Compacted)[0].focus == "mind the LEXER"


def test_each_line_can_be_expanded_to_its_sources():
    session = started()
    done = asyncio.run(compact(session))
    assert done is not None
    line = next(line for line in done.written.content.lines() if RULE in line.text)
    text, _ = answer_recall(session.store, {"id": line.sources[0]}, log=session.log.id)
    assert RULE in text


@pytest.mark.slow
def test_no_secret_gets_into_a_summary():
    key = "sk-ant-api03-" + "Zk4" * 30
    session = started()
    done = asyncio.run(compact(session, ScriptedModel(GOOD + f"- the key is {key}\n")))
    assert done is not None
    assert key not in done.written.text
    assert all(key not in str(event) for event in events_of(session, Compacted))
