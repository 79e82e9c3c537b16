"""What learned weights keep in a real replay, against the hand-written ones.

Rule: a recording is replayed with weights that never saw its project, or never saw it where there is one
project only; everything else is the same for both, and the difference is paired by recording.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from holdfast.lab.aggregate import build_comparisons, build_rows
from holdfast.lab.bootstrap import Bootstrap, Values
from holdfast.lab.fit.examples import fitted_profile
from holdfast.lab.fit.fit_results import (
    LearnedWeights,
    Trial,
    TrialDifference,
    TrialFigures,
    TrialRow,
)
from holdfast.lab.jobs import JobOutcome, RecordingSources, ReplayJob, prepare
from holdfast.lab.options import ReplayOptions
from holdfast.lab.policies.profile_policy import profile_policy
from holdfast.lab.policies.registry import find_policies
from holdfast.lab.pool import WorkerDied, run_jobs
from holdfast.lab.replay import shortened
from holdfast.lab.report.figures import mean
from holdfast.lab.results import BASELINE, PolicyRow, Score
from holdfast.lab.run import PolicyRun
from holdfast.packing.lines.weights import HAND_WEIGHTS

LEARNED, BY_HAND = "learned", "hand"


class TrialJob(Struct, frozen=True):
    """What a worker does with a recording; a value, so that the weights travel with it."""

    learned: LearnedWeights

    def __call__(self, options: ReplayOptions, job: ReplayJob) -> JobOutcome:
        prepared = prepare(options, job)
        if isinstance(prepared, JobOutcome):
            return prepared
        study, setup = prepared
        weights = self.learned.weights_for(study.case.id, study.case.project)
        if weights is None:
            return JobOutcome(job.number, job.id, error="the others teach nothing that it could be judged by")
        profile = fitted_profile(options)
        everything = find_policies([BASELINE])[0]
        scores = PolicyRun(study, everything, max(options.budgets), options.budgets, setup).go()[0]
        for name, used in ((LEARNED, weights), (BY_HAND, HAND_WEIGHTS)):
            policy = replace(profile_policy(profile, used), name=name)
            for budget in options.budgets:
                scores += PolicyRun(study, policy, budget, (budget,), setup).go()[0]
        return JobOutcome(job.number, job.id, (tuple(scores),))


def run_trial(
    options: ReplayOptions,
    sources: RecordingSources,
    learned: LearnedWeights,
    *,
    processes: int = 1,
    done: Callable[[int], None] = lambda _: None,
) -> tuple[Trial, list[str]]:
    """Replay every recording with both, and notes on those that could not be. What was too short to learn from is
    left out here too."""
    scores: list[Score] = []
    notes: list[str] = []
    for outcome in run_jobs(TrialJob(learned), options, sources.jobs(), processes, done):
        if isinstance(outcome, WorkerDied) or outcome.error:
            notes.append(f"{outcome.id} was not replayed: {outcome.error}")
        elif not outcome.short:
            scores += outcome.scores[0]
    return compare_trial(scores, options), shortened(notes)


def compare_trial(scores: Sequence[Score], options: ReplayOptions) -> Trial:
    prices = options.tables[0].name
    projects = sorted({score.project for score in scores})
    rows: list[TrialRow] = []
    for budget in options.budgets:
        at = [score for score in scores if score.budget == budget]
        for project in projects:
            rows += _row(project, [score for score in at if score.project == project], prices)
        rows += _row("", at, prices)
    return Trial(prices, rows, [_difference(scores, budget, prices) for budget in options.budgets])


def _row(project: str, scores: Sequence[Score], prices: str) -> list[TrialRow]:
    """One row, or none without recordings."""
    found = {row.policy: row for row in build_rows(scores, {}, draws=1)}
    if LEARNED not in found or BY_HAND not in found:
        return []
    learned, hand = found[LEARNED], found[BY_HAND]
    figures = (_figures(learned, prices), _figures(hand, prices))
    return [TrialRow(project, learned.recordings, learned.budget, *figures)]


def _figures(row: PolicyRow, prices: str) -> TrialFigures:
    return TrialFigures(mean(row.hard), mean(row.all), mean(row.dollars.get(prices)))


def _difference(scores: Sequence[Score], budget: int, prices: str) -> TrialDifference:
    at = [score for score in scores if score.budget == budget]
    every = Bootstrap().difference(_all_spans(at, LEARNED), _all_spans(at, BY_HAND))
    for found in build_comparisons(at, BY_HAND, prices=prices):
        if found.policy == LEARNED:
            return TrialDifference(budget, found.hard, every, found.dollars)
    return TrialDifference(budget, None, every, None)


def _all_spans(scores: Sequence[Score], policy: str) -> Values:
    values: dict[str, dict[str, float]] = {}
    for score in scores:
        if score.policy == policy and score.all_span is not None:
            values.setdefault(score.project, {})[score.recording] = score.all_span
    return values
