"""Means over projects and how sure of them one can be: a two-level bootstrap.

Rule: an interval depends on the values, the names and the number of draws and on nothing else. Names are sorted and
the seed is fixed, so neither the order of the input nor the hash seed matters; all policies share the same draws.

Projects are drawn with replacement, then recordings within each drawn project; 95% intervals are percentiles. With
one project only its recordings are drawn, and the interval says nothing of other projects.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from math import floor
from operator import itemgetter, mul
from random import Random

from holdfast.lab.results import Interval

Values = Mapping[str, Mapping[str, float]]
"""By project, by recording."""

Layout = tuple[tuple[str, tuple[str, ...]], ...]
"""Projects with their recordings, both sorted: what is drawn from."""

DRAWS = 2000
SEED = 20_261_115
BOUNDS = (0.025, 0.975)
REMEMBERED = 8
"""What is divided by differs little: the ones of a mean, and what the baseline costs in each price table."""

Weighing = tuple[Callable[[Sequence[float]], tuple[float, ...]], tuple[float, ...]]
"""How to pick a draw's recordings, and the weight of each."""


class Bootstrap:
    """Intervals over any number of policies and figures; each set of recordings is drawn from once."""

    def __init__(self, draws: int = DRAWS, seed: int = SEED) -> None:
        assert draws > 0
        self.draws = draws
        self._seed = seed
        self._known: dict[Layout, BootstrapDraws] = {}

    def mean(self, values: Values) -> Interval | None:
        """Mean over recordings in a project, then over projects; None without values."""
        return self.ratio(values, _ones(values))

    def difference(self, one: Values, other: Values) -> Interval | None:
        """The mean of one minus that of the other, paired on the recordings that both have."""
        return self.mean(_minus(one, other))

    def ratio(self, above: Values, below: Values) -> Interval | None:
        """The ratio of totals in a project, then the mean over projects, on recordings that both have.

        For money: a recording weighs what it costs. Recordings with nothing below are left out.
        """
        below = _positive(below)
        layout = layout_of(above, below)
        if not layout:
            return None
        if layout not in self._known:
            self._known[layout] = BootstrapDraws(layout, self.draws, self._seed)
        top, base = _flat(above, layout), _flat(below, layout)
        drawn = sorted(self._known[layout].ratios(top, base))
        low, high = (percentile(drawn, share) for share in BOUNDS)
        return Interval(_ratio(top, base, layout), low, high, is_single=len(top) == 1)

    def ratio_difference(self, one: Values, other: Values, below: Values) -> Interval | None:
        """The ratio of one minus that of the other, paired on the recordings that all three have.

        It is the ratio of the differences, since in every draw both have the same totals below.
        """
        return self.ratio(_minus(one, other), below)


class BootstrapDraws:
    """Which recordings each draw takes, by their place in the layout read from first to last."""

    def __init__(self, layout: Layout, draws: int, seed: int) -> None:
        ends = accumulate(len(recordings) for _, recordings in layout)
        projects = [list(range(end - len(names), end)) for end, (_, names) in zip(ends, layout, strict=True)]
        # Python promises the same `random()` for a seed in every version, and of no other method.
        chance = Random(seed).random  # noqa: S311
        self._picks: list[list[list[int]]] = []
        for _ in range(draws):
            drawn = [projects[floor(chance() * len(projects))] for _ in projects]
            self._picks.append([[places[floor(chance() * len(places))] for _ in places] for places in drawn])
        self._weighings = lru_cache(REMEMBERED)(self._weigh)

    def ratios(self, above: Sequence[float], below: Sequence[float]) -> list[float]:
        """For each draw the mean over the drawn projects of their ratio of totals."""
        padded = [*above, 0.0]
        return [sum(map(mul, pick(padded), weights)) for pick, weights in self._weighings(tuple(below))]

    def _weigh(self, below: tuple[float, ...]) -> list[Weighing]:
        # Few weights differ. Kept once each, they take a third of the memory and stay in the processor's cache.
        kept: dict[float, float] = {}
        return [_weighing(picks, below, kept) for picks in self._picks]


def _weighing(picks: list[list[int]], below: tuple[float, ...], kept: dict[float, float]) -> Weighing:
    """A draw as a weight for each recording in it, by which the figures of every policy are multiplied.

    `itemgetter` is several times faster than a loop, but gives no tuple for a single place: one more place, behind
    the last recording, is always taken, and has no weight.
    """
    weights: dict[int, float] = {}
    get = weights.get
    for pick in picks:
        share = 1 / (sum([below[place] for place in pick]) * len(picks))
        for place in pick:
            weights[place] = get(place, 0.0) + share
    return itemgetter(*weights, len(below)), tuple([kept.setdefault(w, w) for w in weights.values()])


def mean_of(values: Values) -> float | None:
    """The mean that `Bootstrap.mean` gives, without an interval."""
    return ratio_of(values, _ones(values))


def ratio_of(above: Values, below: Values) -> float | None:
    """The ratio that `Bootstrap.ratio` gives, without an interval."""
    below = _positive(below)
    layout = layout_of(above, below)
    return _ratio(_flat(above, layout), _flat(below, layout), layout) if layout else None


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share lies, between neighbours in proportion. `values` are sorted."""
    place = share * (len(values) - 1)
    low = floor(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)


def layout_of(*values: Values) -> Layout:
    """The recordings that all of these have."""
    first, *rest = values
    layout = []
    for project in sorted(first):
        shared = set(first[project]).intersection(*(other.get(project, ()) for other in rest))
        if shared:
            layout.append((project, tuple(sorted(shared))))
    return tuple(layout)


def _flat(values: Values, layout: Layout) -> list[float]:
    return [values[project][recording] for project, recordings in layout for recording in recordings]


def _ones(values: Values) -> Values:
    """What a mean is a ratio to: every recording counts 1."""
    return {project: dict.fromkeys(by, 1.0) for project, by in values.items()}


def _minus(one: Values, other: Values) -> Values:
    return {
        project: {name: one[project][name] - other[project][name] for name in recordings}
        for project, recordings in layout_of(one, other)
    }


def _positive(values: Values) -> Values:
    return {project: {name: v for name, v in by.items() if v > 0} for project, by in values.items()}


def _ratio(above: Sequence[float], below: Sequence[float], layout: Layout) -> float:
    ratios = []
    start = 0
    for _, recordings in layout:
        end = start + len(recordings)
        ratios.append(sum(above[start:end]) / sum(below[start:end]))
        start = end
    return sum(ratios) / len(ratios)
