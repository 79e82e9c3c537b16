"""What a fit yields: weights, how good they are where they were not fitted, and what a replay with them keeps
against the hand-written ones.

Rule: results are plain values that JSON can hold, and nothing that differs between two runs on the same recordings.
A recording is replayed with weights that never saw its project, or never saw it where there is one project only;
everything else is the same for both, and the difference is paired by recording.
"""

from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from holdfast.errors import HoldfastError
from holdfast.lab.aggregate import build_comparisons, build_rows, figure_values, group_scores
from holdfast.lab.bootstrap import Bootstrap
from holdfast.lab.jobs import JobOutcome, RecordingSources, ReplayJob, ReplayOptions, prepare
from holdfast.lab.policies.profile_policy import profile_policy
from holdfast.lab.policies.registry import find_policies
from holdfast.lab.replay import shortened
from holdfast.lab.report.figures import mean
from holdfast.lab.results import BASELINE, Interval, PolicyRow, Score
from holdfast.lab.run import PolicyRun
from holdfast.lab.workers import THIS_PROCESS, Workers, run_jobs
from holdfast.packing.lines.weights import HAND_WEIGHTS, Weights

HeldOut = Literal["project", "recording", "nothing"]
"""What is left out of a fit to judge it by."""


class RankingQuality(Struct, frozen=True):
    """How well worth ranks what a fit has not seen. None where nothing there was used later."""

    held_out: str
    """The project or the recordings that were not fitted on."""
    examples: int
    used: int
    """Those of them that later actions used."""
    curve: float | None
    """Area under the curve: how often something used ranks above something unused."""
    hand_curve: float | None
    best: float | None
    """Share of the later use that the best tenth of the tokens holds, over all folds."""
    hand_best: float | None


class LearnedWeights(Struct, frozen=True):
    """`weights` are fitted on everything, those in `blind` without a group: None where the rest teaches nothing."""

    weights: Weights
    held_out: HeldOut
    groups: dict[str, str]
    """The group of each recording that was fitted on."""
    blind: dict[str, Weights | None]
    lines: list[RankingQuality]
    names: list[RankingQuality]

    def weights_for(self, recording: str, project: str) -> Weights | None:
        """Weights that never saw the recording, nor others of its group."""
        group = project if self.held_out == "project" else self.groups.get(recording, "")
        return self.blind.get(group, self.weights)


class TrialFigures(Struct, frozen=True):
    """Recall of hard needs, of all needs, and dollars relative to sending everything."""

    hard: float | None
    all: float | None
    dollars: float | None


class TrialRow(Struct, frozen=True):
    """A project at a budget; an empty `project` is the mean over all."""

    project: str
    recordings: int
    budget: int
    learned: TrialFigures
    hand: TrialFigures


class TrialDifference(Struct, frozen=True):
    """Learned minus hand-written, paired by recording, with its interval."""

    budget: int
    hard: Interval | None
    all: Interval | None
    dollars: Interval | None


class Trial(Struct, frozen=True):
    """Replays with weights that never saw the project, or the recording, they are replayed on."""

    prices: str
    rows: list[TrialRow]
    differences: list[TrialDifference]


class Fit(Struct, frozen=True):
    version: str
    profile: str
    budgets: list[int]
    files: list[str]
    recordings: int
    """All that were read and long enough; those that fold are in `projects`."""
    projects: dict[str, int]
    """Recordings with a fold, by project."""
    folds: int
    held_out: HeldOut
    weights: Weights
    lines: list[RankingQuality]
    names: list[RankingQuality]
    trial: Trial | None = None
    at_least: int = 0
    """Tokens of messages from which on a recording was learned from; 0 if all were."""
    notes: list[str] = []


def mean_quality(rows: Sequence[RankingQuality], title: str) -> RankingQuality:
    """Each project counts once, however large it is."""
    examples, used = sum(row.examples for row in rows), sum(row.used for row in rows)
    figures = ([getattr(row, name) for row in rows] for name in ("curve", "hand_curve", "best", "hand_best"))
    known = ([value for value in values if value is not None] for values in figures)
    return RankingQuality(title, examples, used, *(sum(v) / len(v) if v else None for v in known))


def require_libraries() -> None:
    """Asked before any work. Nothing of them is loaded here, since that takes seconds."""
    if any(find_spec(name) is None for name in ("numpy", "sklearn", "threadpoolctl")):
        raise HoldfastError(
            "fitting needs scikit-learn, which is not installed",
            hint="run `pip install '.[fit]'` in a checkout of Holdfast",
        )


def weights_file(weights: Weights) -> bytes:
    """The file that ships, or that a user keeps: small, readable, the same for the same weights."""
    return msgspec.json.format(msgspec.json.encode(weights), indent=1) + b"\n"


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
    scores = PolicyRun(study, everything, max(options.budgets), options.budgets, setup).run()[0]
    for name, used in ((LEARNED, weights), (BY_HAND, HAND_WEIGHTS)):
        policy = replace(profile_policy(options.fitted_profile, used), name=name)
        for budget in options.budgets:
            scores += PolicyRun(study, policy, budget, (budget,), setup).run()[0]
    return JobOutcome(job.number, job.id, (tuple(scores),))


def run_trial(
    options: ReplayOptions,
    sources: RecordingSources,
    learned: LearnedWeights,
    *,
    workers: Workers = THIS_PROCESS,
    done: Callable[[int], None] = lambda _: None,
) -> tuple[Trial, list[str]]:
    """Replay every recording with both, and notes on those that could not be. What was too short to learn from is
    left out here too."""
    scores: list[Score] = []
    notes: list[str] = []
    for outcome in run_jobs(partial(trial_job, learned), options, sources.jobs(), workers, done):
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
            for project in (*sorted(learned.by_project.keys() & hand.by_project), ""):
                count = learned.by_project[project].recordings if project else learned.recordings
                figures = (_figures(row, project, prices) for row in (learned, hand))
                trial.rows.append(TrialRow(project, count, budget, *figures))
        known = differences.get(budget)
        spans = (
            figure_values(groups.get((policy, budget), {}), lambda score: score.all_span)
            for policy in (LEARNED, BY_HAND)
        )
        every = Bootstrap().difference(*spans)
        hard, dollars = (known.hard, known.dollars) if known else (None, None)
        trial.differences.append(TrialDifference(budget, hard, every, dollars))
    return trial


def _figures(row: PolicyRow, project: str, prices: str) -> TrialFigures:
    if project:
        found = row.by_project[project]
        return TrialFigures(found.hard, found.all, found.dollars.get(prices))
    return TrialFigures(mean(row.hard), mean(row.all), mean(row.dollars.get(prices)))
