"""A view of a window is frozen: packing and planning change nothing in it, and neither does what is added later."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import ContextOverflow
from holdfast.events import Entry
from holdfast.packing.folding.fold_plan import plan_fold
from holdfast.packing.log_walk import InMemoryRecorder
from holdfast.packing.pack import pack
from holdfast.packing.profile import BUILT_IN, CODE
from holdfast.packing.view import WindowView
from holdfast.packing.visibility import visibility_of
from holdfast.packing.window import Window
from support.logs import AgentWork, chained, result, step, user
from support.packing_runs import counter

SEEDS = st.integers(0, 2**32 - 1)
PROFILES = st.sampled_from(sorted(BUILT_IN))
BUDGETS = st.sampled_from([1_500, 4_000, 16_000])


def work(seed: int) -> list[Entry]:
    return chained(AgentWork(seed, steps=8).events)


def packed(view: WindowView) -> object:
    """A pack as bytes, or what the overflow says."""
    try:
        made = pack(view)
    except ContextOverflow as overflow:
        return str(overflow), overflow.parts
    return msgspec.json.encode((made.layers, made.cuts, made.notes, made.tokens))


def planned(view: WindowView) -> object:
    try:
        return plan_fold(view)
    except ContextOverflow as overflow:
        return str(overflow), overflow.parts


def state_of(view: WindowView) -> object:
    """Everything that can be seen of a view, as values that nobody can change."""
    transcript = view.transcript
    sequences = (transcript.items, transcript.steps, transcript.rounds, transcript.repairs)
    mappings = (transcript.recaps, transcript.rules, transcript.contexts, transcript.unplaced)
    return (
        [repr([*one]) for one in (*sequences, view.levels, view.blocks, view.visible, view.cut_groups)],
        [repr({**one}) for one in (*mappings, view.notes, view.displays, view.repeats)],
        repr((transcript.todos, transcript.compactions, transcript.waiting_users, transcript.tools)),
        repr((view.economics, view.stable, view.body_tokens, view.message_count, sorted(view.hidden))),
        (view.refused, view.fresh, view.last_entry, view.recap_lines, view.summary_sentences, view.total),
        [(view.files.stale_calls(one), view.files.edited_since(one)) for one in transcript.steps],
    )


def views_of(entries: list[Entry], profile: str, budget: int):
    """A view after every entry, and one after every fold, each while it is the newest."""
    window = Window(BUILT_IN[profile].scaled_to(budget), counter())
    for entry in entries:
        window.add(entry)
        yield window
        fold = planned(window.view()) if window.transcript.has_all_results else None
        if isinstance(fold, msgspec.Struct):
            InMemoryRecorder(window).record(fold)
            yield window


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(SEEDS, PROFILES, BUDGETS)
def test_packing_and_planning_twice_gives_the_same_and_changes_nothing(seed, profile, budget):
    for window in views_of(work(seed), profile, budget):
        view = window.view()
        before = state_of(view)
        assert packed(view) == packed(view)
        assert planned(view) == planned(view)
        assert visibility_of(view) == visibility_of(view)
        assert state_of(view) == before
        assert state_of(window.view()) == before


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(SEEDS, PROFILES, BUDGETS)
def test_a_view_stays_as_it_was_whatever_is_added_later(seed, profile, budget):
    taken = []
    for window in views_of(work(seed), profile, budget):
        view = window.view()
        taken.append((view, state_of(view), packed(view), visibility_of(view)))
    for view, state, pack_then, visibility in taken:
        assert state_of(view) == state
        assert packed(view) == pack_then
        assert visibility_of(view) == visibility


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(SEEDS, BUDGETS)
def test_taking_views_on_the_way_changes_no_pack(seed, budget):
    entries = work(seed)
    profile = CODE.scaled_to(budget)
    watched = Window(profile, counter())
    for entry in entries:
        watched.add(entry)
        packed(watched.view())
    assert packed(watched.view()) == packed(Window(profile, counter(), entries).view())


def test_a_fold_is_planned_with_a_view_of_now_and_no_older_one():
    window = Window(CODE.scaled_to(4_000), counter(), chained([user("go"), step("", ("a", "Read", {}))]))
    older = window.view()
    assert older.line_index is window.view().line_index
    window.add(chained([user("go"), step("", ("a", "Read", {})), result("a", "alpha_beta = 1")])[-1])
    assert window.view().line_index
    with pytest.raises(AssertionError, match="the log has grown"):
        _ = older.line_index
