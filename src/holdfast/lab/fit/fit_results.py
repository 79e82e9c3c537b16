"""What a fit yields: weights, how good they are where they were not fitted, and what a replay with them keeps.

Rule: plain values that JSON can hold, and nothing that differs between two runs on the same recordings.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Literal

import msgspec
from msgspec import Struct

from holdfast.errors import HoldfastError
from holdfast.lab.results import Interval
from holdfast.packing.lines.weights import Weights

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
    """Everything `holdfast fit` found out."""

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
            "fitting needs scikit-learn, which is not installed", hint="pip install 'holdfast[fit]'"
        )


def weights_file(weights: Weights) -> bytes:
    """The file that ships, or that a user keeps: small, readable, the same for the same weights."""
    return msgspec.json.format(msgspec.json.encode(weights), indent=1) + b"\n"
