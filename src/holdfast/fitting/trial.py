"""What learned weights keep in a real replay, against the hand-written ones.

Rule: a recording is replayed with weights that never saw its project, or never saw it where there is one project
only; everything else is the same for both, and the difference is paired by recording.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from holdfast.errors import HoldfastError
from holdfast.fitting.gathering import fitted_profile, noting, shortened
from holdfast.fitting.results import Difference, Figures, Learned, Trial, TrialRow
from holdfast.packing.lines.weights import HAND
from holdfast.replay.jobs.pool import Died, run_jobs
from holdfast.replay.jobs.sources import Sources
from holdfast.replay.jobs.work import Job, Outcome, instruments, is_short, read_case, study_case
from holdfast.replay.order import Order
from holdfast.replay.policies.naming import find_plans
from holdfast.replay.policies.profiles import profile_plan
from holdfast.replay.report.figures import mean
from holdfast.replay.request import Scale
from holdfast.replay.results import BASELINE, Row, Score
from holdfast.replay.runs.run import Run
from holdfast.replay.statistics.aggregate import build_comparisons, build_rows
from holdfast.replay.statistics.bootstrap import Bootstrap, Values
from holdfast.tokenizers import load_tokenizer

LEARNED, BY_HAND = "learned", "hand"


class Rehearsal(Struct, frozen=True):
    """What a worker does with a recording; a value, so that the weights travel with it."""

    learned: Learned

    def __call__(self, order: Order, job: Job) -> Outcome:
        try:
            case = read_case(order, job)
        except HoldfastError as error:
            return Outcome(job.number, job.id, error=str(error))
        scale = Scale(load_tokenizer())
        if is_short(order, case, scale):
            return Outcome(job.number, job.id, short=True)
        weights = self.learned.weights_for(case.id, case.project)
        if weights is None:
            return Outcome(job.number, job.id, error="the others teach nothing that it could be judged by")
        studied, tools = study_case(order, case, scale), instruments(order, scale)
        profile = fitted_profile(order)
        everything = Run(studied, find_plans([BASELINE])[0], max(order.budgets), order.budgets, tools)
        scores = everything.go()[0]
        for name, used in ((LEARNED, weights), (BY_HAND, HAND)):
            plan = replace(profile_plan(profile, used), name=name)
            for budget in order.budgets:
                scores += Run(studied, plan, budget, (budget,), tools).go()[0]
        return Outcome(job.number, job.id, (tuple(scores),))


def try_out(
    order: Order,
    sources: Sources,
    learned: Learned,
    *,
    processes: int = 1,
    done: Callable[[int], None] = lambda _: None,
) -> tuple[Trial, list[str]]:
    """Replay every recording with both, and notes on those that could not be. What was too short to learn from is
    left out here too."""
    sizes: dict[int, int] = {}
    scores: list[Score] = []
    notes: list[str] = []
    for outcome in run_jobs(Rehearsal(learned), order, noting(sources.jobs(), sizes), processes):
        done(sizes.pop(outcome.number))
        error = "its process died" if isinstance(outcome, Died) else outcome.error
        if isinstance(outcome, Died) or error:
            notes.append(f"{outcome.id} was not replayed: {error}")
        elif not outcome.short:
            scores += outcome.scores[0]
    return compare(scores, order), shortened(notes)


def compare(scores: Sequence[Score], order: Order) -> Trial:
    prices = order.tables[0].name
    projects = sorted({score.project for score in scores})
    rows: list[TrialRow] = []
    for budget in order.budgets:
        at = [score for score in scores if score.budget == budget]
        for project in projects:
            rows += _row(project, [score for score in at if score.project == project], prices)
        rows += _row("", at, prices)
    return Trial(prices, rows, [_difference(scores, budget, prices) for budget in order.budgets])


def _row(project: str, scores: Sequence[Score], prices: str) -> list[TrialRow]:
    """One row, or none without recordings."""
    found = {row.policy: row for row in build_rows(scores, {}, draws=1)}
    if LEARNED not in found or BY_HAND not in found:
        return []
    learned, hand = found[LEARNED], found[BY_HAND]
    figures = (_figures(learned, prices), _figures(hand, prices))
    return [TrialRow(project, learned.recordings, learned.budget, *figures)]


def _figures(row: Row, prices: str) -> Figures:
    return Figures(mean(row.hard), mean(row.all), mean(row.dollars.get(prices)))


def _difference(scores: Sequence[Score], budget: int, prices: str) -> Difference:
    at = [score for score in scores if score.budget == budget]
    every = Bootstrap().difference(_all_spans(at, LEARNED), _all_spans(at, BY_HAND))
    for found in build_comparisons(at, BY_HAND, prices=prices):
        if found.policy == LEARNED:
            return Difference(budget, found.hard, every, found.dollars)
    return Difference(budget, None, every, None)


def _all_spans(scores: Sequence[Score], policy: str) -> Values:
    values: dict[str, dict[str, float]] = {}
    for score in scores:
        if score.policy == policy and score.all_span is not None:
            values.setdefault(score.project, {})[score.recording] = score.all_span
    return values
