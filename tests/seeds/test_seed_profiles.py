"""What the profiles of the design documents do with a window that fills: when, with what, and in which order.

Each test names the rows of docs/seeds.md that it stands for.
"""

import pytest

from holdfast.compaction.plan import plan_compaction
from holdfast.events import AssistantReplied, Compacted, OverflowReported, ToolReturned, UserSaid
from holdfast.messages import Text, Thinking, ToolCall, Usage, UserMessage
from holdfast.packing.folding.trigger import forced_trigger
from holdfast.packing.profile import BUILT_IN
from support.seed_rounds import add_round, add_step, result_text, seed_session, shown_results, whole_rounds

SEEDS = ("classic", "draft16k", "review", "init", "execute")
A_NOTE = 400
"""What a plan reserves for a note may be more than the note takes."""
BY_ROUNDS = ("classic", "draft16k", "review")


def reported_trigger(profile, size):
    """The reason to fold where a provider reported so much that usage and new input together are `size`."""
    with seed_session(profile, BUILT_IN[profile].window) as session:
        for number in range(3):
            add_round(session, number, lines=3)
        question = UserSaid((Text("And now the next part, please."),))
        counted = session.window.counter.message(UserMessage(question.parts))
        session.record(AssistantReplied((Text("Done."),), usage=Usage(size - counted - 10, 10)))
        session.record(question)
        due = forced_trigger(session.window.view())
        return due and due.reason


@pytest.mark.parametrize(
    ("profile", "least"),
    [("classic", 160_000), ("draft16k", 8_000), ("review", 140_000), ("init", 150_001), ("execute", 700_001)],
)
def test_the_trigger_is_last_usage_and_what_is_new_and_nothing_else(profile, least):
    """000-40, 000-53, 001-11, 001-48, 001-59, 003-03, 004-06."""
    assert reported_trigger(profile, least - 1) is None
    assert reported_trigger(profile, least) == "pressure"


def test_results_since_the_last_report_count_too():
    """001-11: what a tool answered is new, as what a user says."""
    with seed_session("classic", 200_000) as session:
        add_round(session, 0)
        call = ToolCall("c1", "Read", {"path": "a.py"})
        session.record(AssistantReplied((call,), usage=Usage(155_000, 10)))
        assert forced_trigger(session.window.view()) is None
        session.record(ToolReturned("c1", "Read", (Text(result_text("big", 1_000)),)))
        assert forced_trigger(session.window.view()).reason == "pressure"


def test_two_messages_are_never_folded():
    """001-12: at least three messages, however large the window's report."""
    with seed_session("classic", 200_000) as session:
        session.append({"role": "user", "content": "Hello."})
        session.record(AssistantReplied((Text("Hello."),), usage=Usage(170_000, 10)))
        assert forced_trigger(session.window.view()) is None


@pytest.mark.parametrize("profile", SEEDS)
def test_a_new_result_is_complete_on_first_sight(profile):
    """000-05, 001-09: as far as the window can carry it. A review clips by characters, as document 002 says."""
    with seed_session(profile, 20_000, max_tool_chars=0) as session:
        session.append({"role": "user", "content": "Read it."})
        add_step(session, "all", 900)
        assert session.window.view().total > 11_000
        session.make_room()
        assert shown_results(session)["call"] == result_text("all", 900)


def test_classic_keeps_ten_rounds_whole_and_older_ones_as_digests():
    """000-66, 001-10, 001-13, 001-49, 001-54, 004-01, 004-12, 004-24."""
    with seed_session("classic", 20_000, grep_matches=3) as session:
        for number in range(16):
            add_round(session, number, lines=75)
            session.make_room()
        view = session.window.view()
        folded = [number for number in range(16) if number not in whole_rounds(session)]
        assert folded
        assert folded == [*range(len(folded))]
        assert whole_rounds(session)[-10:] == [*range(6, 16)]
        assert {level for level, _ in view.levels} == {"full", "digest"}
        shown = shown_results(session)
        assert len(shown) == 16, "every step of every round is there"
        for number in folded:
            assert sum(f"part {number}-0, line" in line for line in shown[f"c{number}-0"].splitlines()) == 3


def test_old_rounds_lose_their_thinking_and_kept_ones_do_not():
    """000-33, 001-10."""
    with seed_session("classic", 20_000) as session:
        for number in range(16):
            session.append({"role": "user", "content": f"Do part {number}."})
            session.record(AssistantReplied((Thinking(f"thought {number}"), Text("Well."))))
            add_step(session, str(number), 70)
            session.make_room()
        view = session.window.view()
        text = str([view.blocks[at] for at in view.visible])
        assert "thought 15" in text
        assert "thought 6" in text
        assert "thought 0" not in text


def fill(session, rounds, *, lines, steps=1):
    """Rounds one after the other; before each reply what the window keeps whole, and whether it overflowed."""
    kept = []
    for number in range(rounds):
        add_round(session, number, lines=lines, steps=steps)
        fold = session.make_room()
        kept.append((whole_rounds(session), fold.reason if fold else ""))
    return kept


@pytest.mark.parametrize("profile", BY_ROUNDS)
def test_kept_rounds_stay_while_they_fit_whatever_the_trigger_says(profile):
    """000-31, 000-38, 000-54: rounds give way in an overflow, not at the trigger."""
    keep = BUILT_IN[profile].keep
    with seed_session(profile, 16_000, max_messages=0, max_tool_chars=0, window_cap=0) as session:
        lines = 10_000 // keep // 16
        for whole, _ in fill(session, 3 * keep, lines=lines):
            newest = max(whole, default=-1)
            assert whole[-min(keep, newest + 1) :] == [*range(max(newest - keep + 1, 0), newest + 1)]
        assert session.window.view().total > BUILT_IN[profile].scaled_to(16_000).trigger


@pytest.mark.parametrize("profile", BY_ROUNDS)
def test_kept_rounds_are_given_up_one_at_a_time_down_to_two(profile):
    """000-31, 000-54, 000-56: the newest that went had to go."""
    seen = set()
    for lines in range(40, 400, 20):
        with seed_session(profile, 16_000, max_messages=0, max_tool_chars=0, window_cap=0) as session:
            for number in range(12):
                add_round(session, number, lines=lines)
            whole_size = sum(session.window.view().step_tokens(n) for n in (0, 1))
            session.make_room()
            view, kept = session.window.view(), whole_rounds(session)
            assert kept == [*range(12 - len(kept), 12)]
            seen.add(len(kept))
            if len(kept) < BUILT_IN[profile].keep:
                spare = view.profile.hard_limit - view.profile.min_gain
                assert view.total + whole_size + A_NOTE > spare, "one round more would have fitted"
    assert {2, 3, 4} <= seen
    assert min(seen) == 2


def test_snippets_and_the_summary_give_way_before_a_kept_round():
    """000-41, 000-56."""
    with seed_session("draft16k", 16_000) as session:
        for number in range(8):
            add_round(session, number, lines=40)
        items = session.window.transcript.items
        covered = [i.entry for i in items if i.round == 0]
        long = "- Overall Goal: " + " ".join(f"First sentence {n}. Second one." for n in range(120))
        session.record(Compacted("archive", long, first=covered[0], last=covered[-1]))
        number = 8
        while not session.window.view().summary_sentences:
            add_round(session, number, lines=165)
            session.make_room()
            number += 1
            if not session.window.view().summary_sentences:
                assert len(whole_rounds(session)) >= 5, "a round went before the summary's lines"
        view = session.window.view()
        old = [
            level for step, level in zip(view.transcript.steps, view.levels, strict=True) if step.round < 4
        ]
        assert all(level[0] != "full" for level in old if level)


def test_a_round_larger_than_the_window_is_folded_by_steps_and_said():
    """001-08, 001-60, 004-11."""
    with seed_session("classic", 16_000) as session:
        session.append({"role": "user", "content": "Read everything."})
        folds = []
        for number in range(20):
            add_step(session, str(number), 110)
            fold = session.make_room()
            folds += [fold] if fold else []
        assert folds
        assert all(fold.reason == "overflow" for fold in folds), "a round that fits stays whole"
        assert "do not fit, and are folded by steps" in folds[0].why
        assert session.window.view().levels[-1] == ("full", 0)


@pytest.mark.parametrize(("profile", "lines"), [("classic", 12), ("draft16k", 24)])
def test_an_archive_is_of_whole_rounds_outside_those_kept_and_after_digests(profile, lines):
    """000-40, 001-59, 001-60, 004-11: digests first; what is still above the trigger is archived."""
    keep = BUILT_IN[profile].keep
    with seed_session(profile, 16_000) as session:
        for number in range(40):
            add_round(session, number, lines=lines, steps=2)
            plan = plan_compaction(session.window.view())
            if plan is not None:
                break
            session.make_room()
        view = session.window.view()
        assert plan is not None
        assert plan.end in view.transcript.rounds
        assert plan.rounds == len(view.transcript.rounds) - keep
        steps = zip(view.transcript.steps, view.levels, strict=True)
        assert any(level == "digest" for step, (level, _) in steps if step.position < plan.end)
        assert forced_trigger(view).reason == "pressure"


@pytest.mark.parametrize("profile", BY_ROUNDS)
@pytest.mark.parametrize("lines", [1_450, 1_600, 4_000])
def test_a_result_that_does_not_fit_is_shown_as_far_as_the_window_carries_it(profile, lines):
    """000-05, 001-09."""
    with seed_session(profile, 20_000, max_tool_chars=0, max_messages=0) as session:
        for number in range(6):
            add_round(session, number, lines=20)
        session.append({"role": "user", "content": "Read it."})
        add_step(session, "all", lines)
        fold = session.make_room()
        view = session.window.view()
        assert view.total > 0.8 * view.profile.hard_limit
        assert "the newest results do not fit, and are clipped" in fold.why


@pytest.mark.parametrize("profile", ["classic", "draft16k"])
@pytest.mark.parametrize("lines", [40, 75, 150])
def test_folds_are_rare_where_kept_rounds_fill_the_window(profile, lines):
    """Each makes room for more than the next request."""
    with seed_session(profile, 16_000, max_tool_chars=0, max_messages=0) as session:
        folds = []
        for number in range(40):
            add_round(session, number, lines=lines)
            folds.append(session.make_room())
        made = [fold for fold in folds if fold is not None]
        assert len(made) < 30
        assert all(fold.tokens_before - fold.tokens_after >= 500 for fold in made)


def test_a_refusal_costs_no_more_rounds_than_it_must():
    with seed_session("classic", 200_000) as session:
        for number in range(10):
            add_round(session, number, lines=120)
        before = session.window.view().total
        session.record(OverflowReported())
        session.make_room()
        assert session.window.view().total <= before * 6 // 10
        assert len(whole_rounds(session)) >= 5
