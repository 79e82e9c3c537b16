"""What learned weights keep in a real replay, against the hand-written ones.

Rule: a recording is replayed with weights that never saw its project, or never saw it where there is one
project only; everything else is the same for both, and the difference is paired by recording.
"""

from collections.abc import Callable, Sequence
from functools import partial

from msgspec.structs import replace

from holdfast.lab.aggregate import build_comparisons, build_rows, figure_values, group_scores
from holdfast.lab.bootstrap import Bootstrap
from holdfast.lab.fit.examples import fitted_profile
from holdfast.lab.fit.fit_results import LearnedWeights, Trial, TrialDifference, TrialFigures, TrialRow
from holdfast.lab.jobs import (
    JobOutcome,
    RecordingSources,
    ReplayJob,
    ReplayOptions,
    prepare,
    run_jobs,
)
from holdfast.lab.policies.profile_policy import profile_policy
from holdfast.lab.policies.registry import find_policies
from holdfast.lab.replay import shortened
from holdfast.lab.report.figures import mean
from holdfast.lab.results import BASELINE, PolicyRow, Score
from holdfast.lab.run import PolicyRun
from holdfast.packing.lines.weights import HAND_WEIGHTS

LEARNED, BY_HAND = "learned", "hand"


def trial_job(learned: LearnedWeights, options: ReplayOptions, job: ReplayJob) -> JobOutcome:
    prepared = prepare(options, job)
    if isinstance(prepared, JobOutcome):
        return prepared
    study, setup = prepared
    weights = learned.weights_for(study.case.id, study.case.project)
    if weights is None:
        return JobOutcome(job.number, job.id, error="the others teach nothing that it could be judged by")
    everything = find_policies([BASELINE])[0]
    scores = PolicyRun(study, everything, max(options.budgets), options.budgets, setup).go()[0]
    for name, used in ((LEARNED, weights), (BY_HAND, HAND_WEIGHTS)):
        policy = replace(profile_policy(fitted_profile(options), used), name=name)
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
    for outcome in run_jobs(partial(trial_job, learned), options, sources.jobs(), processes, done):
        if outcome.error:
            notes.append(f"{outcome.id} was not replayed: {outcome.error}")
        elif not outcome.short:
            scores += outcome.scores[0]
    return compare_trial(scores, options), shortened(notes)


def compare_trial(scores: Sequence[Score], options: ReplayOptions) -> Trial:
    prices = options.tables[0].name
    found = {(row.policy, row.budget): row for row in build_rows(scores, {}, draws=1)}
    compared = build_comparisons(scores, BY_HAND, prices=prices)
    differences = {known.budget: known for known in compared if known.policy == LEARNED}
    groups = group_scores(scores)
    trial = Trial(prices, [], [])
    for budget in options.budgets:
        learned, hand = found.get((LEARNED, budget)), found.get((BY_HAND, budget))
        if learned and hand:
            for project in learned.by_project:
                if project in hand.by_project:
                    trial.rows.append(_row(learned, hand, prices, project))
            trial.rows.append(_row(learned, hand, prices))
        known = differences.get(budget)
        spans = (
            figure_values(groups.get((policy, budget), {}), lambda score: score.all_span)
            for policy in (LEARNED, BY_HAND)
        )
        every = Bootstrap().difference(*spans)
        hard, dollars = (known.hard, known.dollars) if known else (None, None)
        trial.differences.append(TrialDifference(budget, hard, every, dollars))
    return trial


def _row(learned: PolicyRow, hand: PolicyRow, prices: str, project: str = "") -> TrialRow:
    """Of one project, or of all."""
    if not project:
        every = [
            TrialFigures(mean(row.hard), mean(row.all), mean(row.dollars.get(prices)))
            for row in (learned, hand)
        ]
        return TrialRow("", learned.recordings, learned.budget, *every)
    own, other = learned.by_project[project], hand.by_project[project]
    figures = [TrialFigures(found.hard, found.all, found.dollars.get(prices)) for found in (own, other)]
    return TrialRow(project, own.recordings, learned.budget, *figures)
