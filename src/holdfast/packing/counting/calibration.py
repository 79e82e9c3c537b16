"""Correcting counts by what a provider reports: reported ≈ slope · tokens + each · messages + constant.

Rule: a calibration is a value. Observing returns a new one. Without observations an estimate is the count
itself and with few it stays near that, so at no moment does it jump from one rule to another.
"""

from functools import cached_property
from itertools import product
from math import ceil, inf

from msgspec import Struct

LAST = 60
FADE = 0.9
"""The weight of an observation against the one after it: half after seven."""

NOISE = 0.001
NOISE_TOKENS = 1
"""What a report may miss the line by, relative and in tokens, without the line having to bend."""

Coefficients = tuple[float, float, float]

IDENTITY: Coefficients = (1.0, 0.0, 0.0)
SPREAD: Coefficients = (0.25, 25.0, 20_000.0)
"""How far slope, tokens of each message and constant are expected from `IDENTITY` before reports say so.
The constant is wide because a recording may hide its system prompt and tools."""

LOW: Coefficients = (0.5, 0.0, 0.0)
HIGH: Coefficients = (3.0, 50.0, inf)

Matrix = tuple[Coefficients, Coefficients, Coefficients]


class Observation(Struct, frozen=True):
    tokens: int
    messages: int
    reported: int


class Calibration(Struct, frozen=True, dict=True):
    """The last responses of one provider's model."""

    observations: tuple[Observation, ...] = ()

    def observe(self, tokens: int, messages: int, reported: int) -> "Calibration":
        """With one response more. A report of nothing, as some providers send, teaches nothing."""
        if tokens <= 0 or messages < 0 or reported <= 0:
            return self
        return Calibration((*self.observations, Observation(tokens, messages, reported))[-LAST:])

    def estimate(self, tokens: int, messages: int) -> int:
        """What the provider will likely report."""
        slope, each, constant = self.line
        # A billionth above a whole number comes from the arithmetic, not from the data.
        return ceil(max(slope * tokens + each * messages + constant, 1.0) * (1 - 1e-9))

    @cached_property
    def line(self) -> Coefficients:
        """Slope, tokens of each message, constant."""
        return _fit(self.observations)


def _fit(observations: tuple[Observation, ...]) -> Coefficients:
    """The weighted least-squares line within the bounds.

    At the best point each unknown is either free or at a bound. There are eighteen such ways, and as the
    problem is convex the cheapest one that keeps the bounds is the answer: no iteration, no tolerance.
    """
    matrix, vector = _moments(observations)
    low = _steps(LOW)
    high = _steps(HIGH)
    best, least = (0.0, 0.0, 0.0), inf
    for fixed in product((None, low[0], high[0]), (None, low[1], high[1]), (None, low[2])):
        point = _solved(matrix, vector, fixed)
        if all(a - 1e-9 <= p <= b + 1e-9 for a, p, b in zip(low, point, high, strict=True)):
            cost = _cost(matrix, vector, point)
            if cost < least:
                best, least = point, cost
    slope, each, constant = (
        min(max(i + p * s, lo), hi) for i, p, s, lo, hi in zip(IDENTITY, best, SPREAD, LOW, HIGH, strict=True)
    )
    return slope, each, constant


def _steps(line: Coefficients) -> Coefficients:
    """A line as steps of `SPREAD` away from `IDENTITY`."""
    a, b, c = ((x - i) / s for x, i, s in zip(line, IDENTITY, SPREAD, strict=True))
    return a, b, c


def _moments(observations: tuple[Observation, ...]) -> tuple[Matrix, Coefficients]:
    """Normal equations in steps. The one on the diagonal is the pull towards `IDENTITY`."""
    rows = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    sums = [0.0, 0.0, 0.0]
    weight = 1.0
    for seen in reversed(observations):
        noise = NOISE_TOKENS + NOISE * max(seen.reported, seen.tokens)
        x = [s * v / noise for s, v in zip(SPREAD, (seen.tokens, seen.messages, 1), strict=True)]
        y = (seen.reported - seen.tokens) / noise
        for i in range(3):
            sums[i] += weight * x[i] * y
            for j in range(3):
                rows[i][j] += weight * x[i] * x[j]
        weight *= FADE
    first, second, third = ((r[0], r[1], r[2]) for r in rows)
    return (first, second, third), (sums[0], sums[1], sums[2])


def _solved(
    matrix: Matrix, vector: Coefficients, fixed: tuple[float | None, float | None, float | None]
) -> Coefficients:
    """The cheapest point with the given unknowns fixed, by elimination; the matrix is positive definite."""
    point = [0.0 if f is None else f for f in fixed]
    free = [i for i in range(3) if fixed[i] is None]
    left = [[matrix[i][j] for j in free] for i in free]
    right = [vector[i] - sum(matrix[i][j] * point[j] for j in range(3) if j not in free) for i in free]
    for k in range(len(free)):
        for i in range(k + 1, len(free)):
            ratio = left[i][k] / left[k][k]
            right[i] -= ratio * right[k]
            left[i] = [a - ratio * b for a, b in zip(left[i], left[k], strict=True)]
    for k in reversed(range(len(free))):
        known = sum(left[k][j] * point[free[j]] for j in range(k + 1, len(free)))
        point[free[k]] = (right[k] - known) / left[k][k]
    return point[0], point[1], point[2]


def _cost(matrix: Matrix, vector: Coefficients, point: Coefficients) -> float:
    curve = sum(matrix[i][j] * point[i] * point[j] for i in range(3) for j in range(3))
    return curve - 2 * sum(v * p for v, p in zip(vector, point, strict=True))
