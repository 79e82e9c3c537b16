"""What a compaction is planned for: whole rounds, or whole steps of a long one, and never the same twice."""

import asyncio

import pytest
from msgspec.structs import replace

from holdfast.compaction.compact import compact
from holdfast.compaction.plan import is_stale, plan_compaction
from holdfast.events import AssistantReplied, Compacted, Folded, LogStarted, OverflowReported, SystemSet
from holdfast.messages import Text, Usage
from holdfast.packing.log_walk import InMemoryRecorder, fold_if_due
from holdfast.packing.pack import pack
from holdfast.packing.profile import BUILT_IN, CODE, EXECUTE, INIT
from holdfast.packing.window import Window
from holdfast.views.transcript import Step
from support.command_steps import steps
from support.logs import chained, user
from support.packing_runs import counter

A6 = replace(CODE, name="a6", trigger_ratio=0.8, fold_for_profit=False, reply_tokens=0).scaled_to(10_000)
"""Seeds 001 and 004: 0.8 of the window, at least three messages. The reply's room is ours, and left out here."""


def window_of(profile, *events):
    return Window(profile, counter(), chained([LogStarted(), *events]))


@pytest.mark.parametrize(
    ("reported", "said", "is_due"),
    [
        (7_900, 80, False),
        (7_900, 100, True),
        (8_000, 1, True),
        (9_000, 1, True),
        (7_000, 900, False),
        (7_000, 1_000, True),
    ],
    ids=str,
)
def test_seeds_a6_at_its_boundary(reported, said, is_due):
    """Usage of the last call and the input since, in tokens: at 0.8 of the window it is due, and not below it."""
    reply = AssistantReplied((Text("so far"),), usage=Usage(prompt=reported - 10, completion=10))
    events = [user("go"), *steps(0, 16), reply, user(" a" * said)]
    due = window_of(A6, *events)
    assert (plan_compaction(due.view()) is not None) == is_due


def test_seeds_a6_needs_three_messages():
    huge = Usage(prompt=9_000, completion=10)
    two = [user("go"), AssistantReplied((Text("done"),), usage=huge)]
    assert plan_compaction(window_of(A6, *two).view()) is None


@pytest.mark.parametrize("profile", BUILT_IN.values(), ids=BUILT_IN)
def test_a_range_ends_where_a_round_or_a_step_does(profile):
    window = window_of(profile.scaled_to(8_000), user("one"), *steps(0, 20), user("two"), *steps(20, 40))
    plan = plan_compaction(window.view(), manual=True)
    assert plan is not None
    items = window.transcript.items
    assert items[plan.start].entry == plan.first
    assert items[plan.end - 1].entry == plan.last
    assert isinstance(items[plan.end], Step) or plan.end in window.transcript.rounds
    assert not any(step.waiting for step in window.transcript.steps if step.position < plan.end)
    assert plan.budget < plan.replaced


def test_one_long_round_is_summed_up_by_its_steps():
    window = window_of(CODE.scaled_to(8_000), user("all in one"), *steps(0, 60))
    plan = plan_compaction(window.view(), manual=True)
    assert plan is not None
    assert plan.rounds == 0
    assert plan.steps > 40


def test_fault_04_what_was_summed_up_is_never_summed_up_again():
    window = window_of(CODE.scaled_to(8_000), user("go"), *steps(0, 40))
    rehearsal = InMemoryRecorder(window)
    first = asyncio.run(compact(rehearsal))
    assert first is not None
    assert plan_compaction(window.view(), manual=True) is None, "nothing is new"
    rehearsal.record(*steps(40, 80))
    second = plan_compaction(window.view(), manual=True)
    assert second is not None
    assert second.start == first.plan.end
    archived = [*window.transcript.compactions.archive.values()]
    assert [one.last for one in archived] == [first.plan.last]


def test_an_archive_entry_is_never_changed():
    window = window_of(CODE.scaled_to(8_000), user("go"), *steps(0, 40))
    rehearsal = InMemoryRecorder(window)
    seen: list[str] = []
    for start in range(40, 160, 40):
        asyncio.run(compact(rehearsal))
        texts = [one.text for one in window.transcript.compactions.archive.values()]
        assert texts[: len(seen)] == seen
        seen = texts
        rehearsal.record(*steps(start, start + 40))
    assert len(seen) == 3


def test_rounds_that_a_profile_keeps_are_summed_up_last():
    """Seeds 001 and 004 keep ten rounds: they go only where what lies before them does not free enough."""
    rounds = [event for n in range(16) for event in (user(f"task {n}"), *steps(2 * n, 2 * n + 2))]
    roomy = window_of(CODE.scaled_to(40_000), *rounds)
    plan = plan_compaction(roomy.view(), manual=True)
    assert plan is not None
    assert plan.end == roomy.transcript.rounds[6]
    assert plan.rounds == 6
    tight = window_of(CODE.scaled_to(8_000), *rounds)
    plan = plan_compaction(tight.view())
    assert plan is not None
    assert plan.end > tight.transcript.rounds[6]


def test_where_nothing_more_can_give_way_compactions_stay_rare_and_the_floor_is_named():
    settings = CODE.scaled_to(8_000)
    prompt = SystemSet(" ".join(f"rule{i}" for i in range(2_400)))
    window = window_of(settings, prompt, user("go"), *steps(0, 12))
    rehearsal = InMemoryRecorder(window)
    done = asyncio.run(compact(rehearsal, manual=False))
    assert done is not None
    assert done.tokens_after > settings.low_water
    (note,) = done.notes
    assert "tokens remain" in note
    assert "system prompt" in note
    assert plan_compaction(window.view()) is None, "nothing new has happened"
    count = 0
    for start in range(12, 36):
        rehearsal.record(*steps(start, start + 1))
        count += asyncio.run(compact(rehearsal, manual=False)) is not None
        fold_if_due(window)
    assert count <= 2, "a fold frees what is new, and a summary would free no more"


def test_right_after_the_window_was_made_smaller_nothing_is_due():
    window = window_of(CODE.scaled_to(8_000), user("go"), *steps(0, 40))
    rehearsal = InMemoryRecorder(window)
    assert plan_compaction(window.view()) is not None
    rehearsal.record(Folded("boundary"))
    assert plan_compaction(window.view()) is None
    rehearsal.record(*steps(40, 41))
    assert plan_compaction(window.view()) is not None


def test_what_a_provider_refused_is_answered_by_a_fold():
    window = window_of(CODE.scaled_to(8_000), user("go"), *steps(0, 40))
    rehearsal = InMemoryRecorder(window)
    assert plan_compaction(window.view()) is not None
    rehearsal.record(OverflowReported(6_000))
    assert plan_compaction(window.view()) is None
    assert fold_if_due(window)


def test_the_end_of_a_round_is_no_reason_to_sum_up():
    settings = replace(CODE, name="by rounds", fold_at_round_end=True)
    window = window_of(settings, user("one"), *steps(0, 20), user("two"))
    assert plan_compaction(window.view()) is None


def test_a_plan_is_stale_when_another_summary_came_first():
    window = window_of(CODE.scaled_to(8_000), user("go"), *steps(0, 40))
    plan = plan_compaction(window.view(), manual=True)
    assert plan is not None
    assert not is_stale(plan, window.view())
    asyncio.run(compact(InMemoryRecorder(window)))
    assert is_stale(plan, window.view())


@pytest.mark.parametrize("profile", [INIT, EXECUTE], ids=["init", "execute"])
def test_seed_003_case_1_the_first_context_is_over_the_threshold(profile):
    """What comes first is itself too long: the state says what was received, and the newest steps stay."""
    settings = profile.scaled_to(8_000)
    given = (
        "<execute_to_init_context>"
        + " ".join(f"finding_{i}" for i in range(1_500))
        + "</execute_to_init_context>"
    )
    window = window_of(settings, user(given), *steps(0, settings.keep + 3, 10))
    done = asyncio.run(compact(InMemoryRecorder(window)))
    assert done is not None
    assert "execute_to_init_context" in done.written.text


@pytest.mark.parametrize("profile", [INIT, EXECUTE], ids=["init", "execute"])
def test_seed_003_case_2_one_pair_remains_and_n_is_constant(profile):
    settings = profile.scaled_to(8_000)
    window = window_of(settings, user("design it"), *steps(0, 30))
    rehearsal = InMemoryRecorder(window)
    for start in (30, 60, 90):
        asyncio.run(compact(rehearsal))
        summary = pack(window.view()).layer("summary").messages
        assert len(summary) == 2, "a question and its answer"
        full = [n for n, (level, _) in enumerate(window.view().levels) if level == "full"]
        assert len(full) == settings.keep
        rehearsal.record(*steps(start, start + 30))
        fold_if_due(window)


def test_seed_003_case_3_recent_steps_alone_exceed_the_threshold():
    """Long results of the steps that always stay are clipped at compaction, and then it fits."""
    settings = INIT.scaled_to(8_000)
    window = window_of(settings, user("go"), *steps(0, 10, 20), *steps(10, 13, 1_000))
    asyncio.run(compact(InMemoryRecorder(window)))
    fold_if_due(window)
    assert pack(window.view()).tokens <= settings.hard_limit
    assert [level for level, _ in window.view().levels[-3:]] == ["clipped"] * 3


@pytest.mark.slow
def test_when_the_archive_grows_too_long_a_second_level_stands_for_the_older_entries():
    settings = replace(CODE, name="small archive", summary_cap=20_000).scaled_to(8_000)
    window = window_of(settings, user("go, and never touch src/legacy/."), *steps(0, 40))
    rehearsal = InMemoryRecorder(window)
    merged = []
    for start in range(40, 360, 40):
        asyncio.run(compact(rehearsal))
        archive = window.transcript.compactions.archive
        merged += [one for one in archive.values() if one.above]
        rehearsal.record(*steps(start, start + 40))
    assert merged, "it came to a second level"
    assert merged[-1].first == next(iter(window.transcript.compactions.archive.values())).first
    assert "never touch src/legacy/." in merged[-1].text
    taken = sum(counter().text(one.text) for one in window.transcript.compactions.archive.values())
    assert taken < 2 * settings.summary_cap


@pytest.mark.slow
def test_an_archive_that_came_with_a_recording_is_never_merged():
    """It does not say what it stands for."""
    settings = replace(CODE, name="small archive", summary_cap=4_000).scaled_to(8_000)
    foreign = [Compacted("archive", f"- what was before, part {n}") for n in range(3)]
    window = window_of(settings, *foreign, user("go"), *steps(0, 40))
    rehearsal = InMemoryRecorder(window)
    for start in range(40, 200, 40):
        asyncio.run(compact(rehearsal))
        rehearsal.record(*steps(start, start + 40))
    texts = [archived.text for archived in window.transcript.compactions.archive.values()]
    assert {event.text for event in foreign} <= set(texts)
    assert any(archived.above for archived in window.transcript.compactions.archive.values())
