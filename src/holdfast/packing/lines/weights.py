"""Weights: what each feature multiplies a worth by, learned from recordings or written by hand.

Rule: a worth is the exponential of a weighted sum: how many later actions will use a line or a name, each counted
by its share of the action. Learned weights ship with the package; they are data with a version, never code.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, reduce
from importlib.resources import files
from math import exp
from operator import add, mul

import msgspec
from msgspec import Struct

from holdfast.errors import ConfigError
from holdfast.packing.lines.features import (
    FIXED_LINE,
    FIXED_NAME,
    LINE_FEATURES,
    NAME_FEATURES,
    SEEN_NAME,
    VERSION,
)
from holdfast.packing.profile import WeightSource

RETIRED = frozenset({"short", "structure"})
"""Features that older files still weigh; they are ignored."""
HINT = "write such a file with `holdfast fit --out`"
HEAVIEST = 50
"""No weight of a sensible fit is beyond it."""
LARGEST_SCORE = 700.0
"""Beyond it the exponential is no number any more; strange weights can add up to that."""


class Weights(Struct, frozen=True):
    """Weights by the names of the features; one that is not named weighs nothing."""

    version: int
    lines: dict[str, float]
    names: dict[str, float]
    about: dict[str, str | float | list[str]] = {}
    """Where they come from: projects, counts, quality."""


class WeightVectors(Struct, frozen=True):
    """The same, in the order of the features: what never changes apart from what does."""

    fixed_line: tuple[float, ...]
    moving_line: tuple[float, ...]
    fixed_name: tuple[float, ...]
    seen_name: tuple[float, ...]
    moving_name: tuple[float, ...]


def weight_vectors(weights: Weights) -> WeightVectors:
    lines = _in_order(weights.lines, LINE_FEATURES)
    names = _in_order(weights.names, NAME_FEATURES)
    cut, seen, moving = len(FIXED_LINE), len(FIXED_NAME), len(FIXED_NAME) + len(SEEN_NAME)
    return WeightVectors(lines[:cut], lines[cut:], names[:seen], names[seen:moving], names[moving:])


def worth_of(score: float) -> float:
    """The worth that a weighted sum means."""
    return exp(min(score, LARGEST_SCORE))


def worths_of(scores: Iterable[float]) -> "array[float]":
    """The worth of each; a fold asks for those of every line and name of a log."""
    listed = array("d", scores)
    try:
        return array("d", map(exp, listed))
    except OverflowError:
        return array("d", map(worth_of, listed))


def dot(weights: Sequence[float], values: Sequence[float]) -> float:
    """Added up one after the other, as `LineRater` does: from Python 3.12 on `sum` would round otherwise."""
    return reduce(add, map(mul, weights, values), 0.0)


def _in_order(weights: Mapping[str, float], features: Sequence[str]) -> tuple[float, ...]:
    return tuple(weights.get(feature, 0.0) for feature in features)


def read_weights(data: bytes, where: str) -> Weights:
    """Weights from a file that `holdfast fit` wrote."""
    try:
        weights = msgspec.json.decode(data, type=Weights)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{where} holds no weights: {error}", hint=HINT) from None
    if weights.version != VERSION:
        raise ConfigError(
            f"{where} has weights of version {weights.version}, and this holdfast reads version {VERSION}",
            hint="fit them again with `holdfast fit`",
        )
    unknown = sorted({*weights.lines} - {*LINE_FEATURES} - RETIRED | {*weights.names} - {*NAME_FEATURES})
    if unknown:
        raise ConfigError(f"{where} weighs features that do not exist: {', '.join(unknown[:5])}", hint=HINT)
    heavy = [
        name for name, weight in {**weights.lines, **weights.names}.items() if not abs(weight) <= HEAVIEST
    ]
    if heavy:
        raise ConfigError(f"{where} gives `{heavy[0]}` a weight beyond {HEAVIEST}", hint=HINT)
    return weights


@cache
def built_in_weights(source: WeightSource) -> Weights:
    if source == "hand":
        return HAND_WEIGHTS
    data = files("holdfast.packing.lines").joinpath("learned.json").read_bytes()
    return read_weights(data, "learned.json")


@cache
def built_in_vectors(source: WeightSource) -> WeightVectors:
    return weight_vectors(built_in_weights(source))


HAND_WEIGHTS = Weights(
    VERSION,
    lines={
        "always": -5.5,
        "call": 1.0,
        "said": -0.3,
        "definition": 0.7,
        "trouble": 0.6,
        "log_age": -0.3,
        "in_goal": 0.5,
    },
    names={"always": -5.0, "in_user": 0.5, "log_age": -0.3, "log_count": -0.25},
    about={"source": "written by hand: failures, definitions, rare names and names of the goal stay longest"},
)
