"""When a fold pays, and how deep it goes."""

import pytest
from msgspec.structs import replace

from holdfast.events import SystemSet
from holdfast.packing.folding.economics import FoldEconomics, estimate_fold, expected_steps
from holdfast.packing.folding.trigger import fold_estimate, profit_trigger
from holdfast.packing.folding.zones import divide_steps, fold_depth
from holdfast.packing.log_walk import fold_if_due
from holdfast.packing.pack import pack
from holdfast.packing.profile import CODE, LEAN
from holdfast.packing.window import Window
from support.logs import chained, result, step, user
from support.packing_runs import counter, pack_each_request

UNCACHED = replace(CODE, cache_seconds=0)


def work(steps, size=40):
    events = [user("Fix the parser.")]
    for i in range(steps):
        body = "\n".join(f"row_{i}_{j} = value_{i * j} of source_{j}" for j in range(size))
        events += [step("", (f"c{i}", "Bash", {"command": f"./run {i}"})), result(f"c{i}", body)]
    return events


def reasons(profile, events):
    return [fold.reason for request in pack_each_request(chained(events), profile) for fold in request.folds]


def test_a_warm_cache_makes_a_fold_cost_what_it_rewrites():
    figures = estimate_fold(CODE, freed=10_000, rewritten=20_000, further=30, idle=10)
    assert (figures.costs, figures.saves) == (1.15 * 20_000, 1_000)
    assert (figures.steps, figures.pays) == (23, True)
    assert "saves 1000 tokens a step, costs 23000, pays back in 23 steps" in str(figures)


def test_a_cold_cache_makes_it_free():
    figures = estimate_fold(CODE, freed=10_000, rewritten=20_000, further=30, idle=301)
    assert (figures.costs, figures.is_cold, figures.pays) == (0, True, True)
    assert "the cache is cold" in str(figures)


def test_without_a_cache_every_token_freed_is_saved_with_each_step():
    figures = estimate_fold(UNCACHED, freed=10_000, rewritten=20_000, further=30, idle=None)
    assert (figures.costs, figures.saves) == (0, 10_000)
    assert "pays at once" in str(figures)


def test_a_fold_that_frees_nothing_never_pays():
    assert not estimate_fold(CODE, freed=0, rewritten=100, further=1_000, idle=None).pays


def test_further_steps_are_as_many_as_there_were_within_bounds():
    assert [expected_steps(n) for n in (0, 25, 400)] == [10, 25, 40]


@pytest.mark.slow
def test_without_a_cache_folds_come_before_the_trigger():
    cached, uncached = (reasons(p.scaled_to(16_000), work(60)) for p in (CODE, UNCACHED))
    assert "profit" in uncached
    assert len(uncached) > len(cached)


@pytest.mark.slow
def test_a_long_system_prompt_makes_no_fold_free():
    """It leaves less room than a fold goes down to: what stays is then more, and is written again."""
    prompt = SystemSet(" ".join(f"rule {n}" for n in range(2_950)))
    events = [prompt, *work(40, size=30)]
    assert 10_400 < Window(CODE.scaled_to(16_000), counter(), chained([prompt])).view().total < 12_000
    assert set(reasons(CODE.scaled_to(16_000), events)) == {"pressure"}


@pytest.mark.slow
def test_a_cold_cache_is_an_opportunity_to_fold():
    entries = chained(work(60))
    for idle, expected in ((1.0, 0), (1_000.0, 1)):
        window = Window(CODE.scaled_to(48_000), counter())
        made = []
        for at, entry in enumerate(entries):
            window.add(replace(entry, at=at * idle))
            made += fold_if_due(window) if window.transcript.has_all_results else []
        profits = [fold for fold in made if fold.reason == "profit"]
        assert bool(profits) == bool(expected)
        assert all("the cache is cold" in fold.why for fold in profits)


@pytest.mark.slow
def test_a_fold_for_profit_is_made_once_carrying_on_costs_as_much():
    profile = LEAN.scaled_to(64_000)
    folds = [f for r in pack_each_request(chained(work(300)), profile) for f in r.folds]
    profits = [f for f in folds if f.reason == "profit"]
    assert profits
    assert all("pays back in" in f.why for f in profits)


@pytest.mark.slow
def test_between_two_tasks_a_fold_is_made_from_half_of_its_cost_on():
    profile = CODE.scaled_to(200_000)
    inside = Window(profile, counter(), chained(work(250))).view()
    between = Window(profile, counter(), chained([*work(250), user("Now the lexer.")])).view()
    for view, reason, share in ((inside, "profit", 1.0), (between, "boundary", 0.5)):
        depth = fold_depth(view, divide_steps(view))
        cost = fold_estimate(view, depth.freed, depth.rewritten).costs
        assert cost > 0
        for carried, due in ((share * cost * 0.99, None), (share * cost * 1.01, reason)):
            economics = replace(view.economics, carry_cost=carried)
            trigger = profit_trigger(replace(view, economics=economics), depth)
            assert (trigger.reason if trigger else None) == due


@pytest.mark.slow
def test_a_fold_that_adds_leaves_all_before_it_as_it_was():
    added = 0
    window = Window(CODE.scaled_to(16_000), counter())
    for entry in chained(work(120)):
        window.add(entry)
        if not window.transcript.has_all_results:
            continue
        before = pack(window.view()).prefix if window.view().total <= window.profile.hard_limit else ()
        notes = [note for note, _ in window.view().notes.values()]
        if fold_if_due(window) and window.view().economics.appended:
            added += 1
            after = pack(window.view()).prefix
            assert notes == [note for note, _ in window.view().notes.values()][: len(notes)]
            common = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
            assert common >= len(notes), "notes that stand are not written again"
    assert added > 3


@pytest.mark.slow
def test_notes_are_rewritten_after_several_folds_that_only_appended():
    most = 0
    for request in pack_each_request(chained(work(200)), CODE.scaled_to(16_000)):
        most = max(most, request.window.view().economics.appended)
    assert most == 4
    plain = replace(CODE, append_folds=False).scaled_to(16_000)
    assert all(r.window.view().economics.appended <= 1 for r in pack_each_request(chained(work(60)), plain))


def test_how_long_nothing_was_asked_is_known_from_two_times():
    assert FoldEconomics(CODE, 0).tick(100.0).idle is None, "no request was made yet"
    assert FoldEconomics(CODE, 0).tick(100.0).ask().tick(130.0).idle == 30.0
