"""Summaries of the two agents as they were designed: every key, what waits for a person, and what a decision rests
on; each builds on the one before."""

import asyncio
import json
from copy import deepcopy

import pytest

from holdfast.agents.pair.role_session import DECISIONS, PROGRESS
from holdfast.compaction.compact import compact
from holdfast.events import RecapSet, UserSaid
from holdfast.messages import Text, ToolMessage, joined_text
from holdfast.models.scripted import ScriptedModel
from holdfast.packing.pack import pack
from holdfast.packing.profile import BUILT_IN
from holdfast.session import Session
from support.pair_compactions import (
    EXECUTE,
    INIT,
    KEPT,
    SUMMARIES,
    answer,
    filled,
    keys_of,
    opened,
    summary_in,
    told,
    work,
)

ROLES = pytest.mark.parametrize("role", [INIT, EXECUTE], ids=["init", "execute"])
LINES = 400
QUESTION = (
    "waits for a person (question `q11e50da335c`): “may R7 win over R4 in `rules/late.md` after 45 days?”"
)
ANSWERED = "decided by a person (`q77`): keep `formats/v2.json` until 2027-05-31"
TARGET = "the target is 85% of the samples: below it another iteration begins"
MEASURED = "iteration 12: 9/15 (60%) passed; failures: 4 of layer 1, 2 of layer 3"


def small(role):
    profile = BUILT_IN[role.profile].scaled_to(16_000)
    session = Session(profile=profile, system="You work.", model="anthropic/claude-opus-5-5")
    session.record(UserSaid((Text("Write rules for refunds. Never change cases.json."),)))
    return session


def up_to_a_compaction(session, role, model, start=0):
    """What came of the first compaction that is due, and the number of the next round."""
    for n in range(start, start + 60):
        session.record(*work(role, n, 2, 20))
        done = asyncio.run(compact(session, model, manual=False))
        session.make_room()
        if done is not None:
            return done, n + 1
    raise AssertionError("nothing was ever due")


def shown(session):
    return summary_in(pack(session.window.view()))[1]


def pending(role, summary):
    return summary["pending_actions" if role is INIT else "pending_work"]


def without(value, key):
    """The value without what a path of keys leads to."""
    left = deepcopy(value)
    *above, last = key.split(".")
    inner = left
    for name in above:
        inner = inner[name]
    del inner[last]
    return left


EVERY_KEY = [(role, key) for role in (INIT, EXECUTE) for key in sorted(keys_of(SUMMARIES[role.name]))]


@pytest.mark.parametrize(("role", "key"), EVERY_KEY, ids=[f"{role.name}-{key}" for role, key in EVERY_KEY])
def test_a_summary_that_lacks_any_one_key_is_not_simply_taken(role, key):
    """Where the log says what belongs there the rule half does; else the model is told and asked again, then a
    person."""
    session = small(role)
    model = ScriptedModel(answer(without(SUMMARIES[role.name], key)), repeat_last=True)
    done, _ = up_to_a_compaction(session, role, model)
    value = shown(session)
    for name in key.split("."):
        value = value[name]
    if value in ("", [], None):
        assert len(model.requests) == 2
        assert f"the answer lacks `{key}`" in joined_text(model.requests[1].messages[-1].parts)
        assert done.written.lacking == (key,)
        assert done.asks
        assert any(key in note for note in done.notes)
    else:
        assert len(model.requests) == 1
        assert any(
            line.text and str(line.text) in json.dumps(value, ensure_ascii=False)
            for line in done.written.added
        )


@ROLES
def test_the_second_answer_is_taken_where_it_has_every_key(role):
    session = small(role)
    lacking = without(SUMMARIES[role.name], next(iter(SUMMARIES[role.name])))
    model = ScriptedModel(answer(lacking), answer(SUMMARIES[role.name]))
    done, _ = up_to_a_compaction(session, role, model)
    assert done.written.by == "scripted/model"
    assert not done.written.lacking
    assert not done.asks


@ROLES
def test_what_waits_for_a_person_stands_in_the_summary_whether_or_not_a_model_says_so(role):
    silent, careful = small(role), small(role)
    for session in (silent, careful):
        session.record(RecapSet(DECISIONS, "Decisions of a person", (ANSWERED, QUESTION), whole=True))
    up_to_a_compaction(silent, role, told(role))
    told_of = pending(role, shown(silent))
    assert QUESTION in told_of
    assert ANSWERED in told_of
    copied = deepcopy(SUMMARIES[role.name])
    own = "a person must decide q11e50da335c: may R7 win over R4 in rules/late.md after 45 days?"
    pending(role, copied).append(own)
    done, _ = up_to_a_compaction(careful, role, ScriptedModel(answer(copied)))
    assert own in pending(role, shown(careful)), "what stands at the end of every request is not invented"
    assert not [line for line, _ in done.written.removed if "q11e50da335c" in line.text]


@ROLES
@pytest.mark.parametrize("model", ["a model that fails", "a model that forgets"])
def test_case_2_what_only_the_first_summary_knew_is_in_the_second(role, model):
    first = deepcopy(SUMMARIES[role.name])
    fact = "R4 has no exception for damaged goods"
    if role is INIT:
        first["analysis_conclusions"] = [fact]
        emptied = without(first, "analysis_conclusions") | {"analysis_conclusions": []}
    else:
        first["identified_issues"]["fix_attempts"] = [fact]
        emptied = deepcopy(first)
        emptied["identified_issues"]["fix_attempts"] = []
    session = small(role)
    _, rounds = up_to_a_compaction(session, role, ScriptedModel(answer(first)))
    second = ScriptedModel("no" if model.endswith("fails") else answer(emptied), repeat_last=True)
    done, rounds = up_to_a_compaction(session, role, second, rounds)
    assert (done.written.by == "rule") == model.endswith("fails")
    assert fact in json.dumps(shown(session))
    assert "Build on the summary before" in joined_text(second.requests[0].messages[-1].parts)
    assert fact in joined_text(second.requests[0].messages[-1].parts)
    up_to_a_compaction(session, role, ScriptedModel("no", repeat_last=True), rounds)
    text = json.dumps(shown(session))
    assert text.count(fact) == 1, "and in the third, once"


def test_the_grounds_to_stop_to_return_or_to_go_on_are_in_the_summary_of_execute():
    session = small(EXECUTE)
    session.record(RecapSet(PROGRESS, "Measured on the disk", (TARGET, MEASURED)))
    goes_on = deepcopy(SUMMARIES["execute"])
    goes_on["pending_work"] = ["go on: 60 % is below 85 %"]
    goes_on["evaluation_progress"] |= {"success_rate": "", "layer_status": ""}
    done, _ = up_to_a_compaction(session, EXECUTE, ScriptedModel(answer(goes_on)))
    summary = shown(session)
    assert TARGET in summary["pending_work"]
    assert "go on: 60 % is below 85 %" in summary["pending_work"], "the target is no invention"
    assert summary["evaluation_progress"]["success_rate"] == "9/15 (60%)"
    assert "4 of layer 1" in summary["evaluation_progress"]["layer_status"]
    assert done.written.by == "scripted/model"


def test_feedback_reaches_the_summary_of_init_also_where_no_model_writes_it():
    session = small(INIT)
    up_to_a_compaction(session, INIT, ScriptedModel("no", repeat_last=True))
    summary = shown(session)
    feedback = summary["execute_feedback_summary"]
    assert feedback["execution_output_dir"] == KEPT
    assert feedback["total_failure_samples"] == 3, "12 of 15 passed"
    assert any("R4 contradicts R7" in line and "s05" in line for line in feedback["layer1_problems_summary"])
    design = summary["current_design_summary"]["unified_scenario_design"]
    assert "Latest request: “Look at tool1.py and s05.”" in design, (
        "what was asked, and not the JSON around it"
    )


@ROLES
def test_what_was_handed_over_stands_whatever_a_model_remembers(role):
    """Old values that were true once."""
    old = json.loads(json.dumps(SUMMARIES[role.name]).replace("iteration_12", "iteration_1"))
    if role is INIT:
        old["execute_feedback_summary"]["total_failure_samples"] = 14
    session = small(role)
    for n in range(3):
        session.record(UserSaid((Text(f"`execution_outputs/iteration_1` had 14 failures in round {n}."),)))
    done, _ = up_to_a_compaction(session, role, ScriptedModel(answer(old), repeat_last=True))
    summary = shown(session)
    assert done.written.by == "scripted/model"
    assert summary["key_paths"]["execution_output_dir"] == KEPT
    if role is INIT:
        assert summary["execute_feedback_summary"]["execution_output_dir"] == KEPT
        assert summary["execute_feedback_summary"]["total_failure_samples"] == 3
        assert summary["key_paths"]["layer1_problems_report"].startswith(KEPT)
    assert any("something else was handed over" in why for _, why in done.written.removed)


@pytest.mark.parametrize("rate", ["9/15 (60%)", "11/13 (84.6%)", "15/15 (100%)"])
def test_the_rate_that_stands_is_read_however_it_is_rounded(rate):
    session = small(EXECUTE)
    session.record(RecapSet(PROGRESS, "Measured on the disk", (TARGET, f"iteration 12: {rate} passed")))
    up_to_a_compaction(session, EXECUTE, ScriptedModel("no", repeat_last=True))
    assert shown(session)["evaluation_progress"]["success_rate"] == rate


@ROLES
def test_the_newest_steps_stay_whole_where_they_fit(role):
    """Their results are far longer than what is clipped where they do not."""
    rounds = 12 if role is INIT else 60
    session = filled(role, rounds, (1, LINES), (1, LINES))
    assert asyncio.run(compact(session, told(role), manual=True)) is not None
    results = [m for m in pack(session.window.view()).messages if isinstance(m, ToolMessage)]
    assert [len(m.text.split("\n")) for m in results] == [LINES] * session.profile.keep
    assert len(results[0].text) > session.profile.compaction_clip_chars


def test_case_3_a_long_result_is_left_with_its_first_and_last_thousand_characters():
    session = opened(INIT)
    for n in range(5):
        session.record(*work(INIT, n, 1, 2_200))
    whole = session.window.transcript.steps[-1].results["c4_0"].text
    assert asyncio.run(compact(session, told(INIT), manual=False)) is not None
    (*_, clipped) = [m.text for m in pack(session.window.view()).messages if isinstance(m, ToolMessage)]
    head, tail = clipped[:1000], clipped[-1000:]
    assert (head, tail) == (whole[:1000], whole[-1000:])
    assert len(clipped) < 2_200
