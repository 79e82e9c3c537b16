"""From values to places on a chart, and which values to write beside an axis.

Rule: ticks are round numbers, and every value lands inside the chart, however odd it is.
"""

from collections.abc import Sequence
from math import ceil, floor, isfinite, isnan, log10

from msgspec import Struct

WIDE_SPREAD = 8
"""Largest over smallest from which on a scale is logarithmic."""
LEAST = 1e-6


def clamped(value: float) -> float:
    """A share between 0 and 1, whatever it was."""
    return min(max(value, 0.0), 1.0) if not isnan(value) else 0.0


class AxisScale(Struct, frozen=True):
    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    logarithmic: bool = False

    def at(self, value: float) -> float:
        low, high, value = (self._measure(v) for v in (self.low, self.high, value))
        share = (value - low) / (high - low) if high > low else 0.5
        return self.start + (self.end - self.start) * clamped(share)

    def _measure(self, value: float) -> float:
        return log10(max(value, LEAST)) if self.logarithmic else value


def is_sound(value: float) -> bool:
    """Whether a chart can show it: finite, and not beyond all measure."""
    return isfinite(value) and abs(value) <= 1e9


def fitted(values: Sequence[float], start: float, end: float, *, about: int = 6) -> AxisScale:
    """A scale for positive values: logarithmic where they spread widely, linear else."""
    sound = [v for v in values if is_sound(v) and v >= 0] or [0.0, 1.0]
    low, high = min(sound), max(sound)
    positive = [v for v in sound if v > LEAST]
    if positive and high / min(positive) > WIDE_SPREAD:
        return _logarithmic(min(positive), high, start, end, about)
    return linear(low, high, start, end, about=about)


def linear(low: float, high: float, start: float, end: float, *, about: int = 6) -> AxisScale:
    """Ends at round numbers at or beyond both values."""
    step = _round_step((high - low) / about or abs(high) / about or 1.0)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    last = max(last, first + 1)
    ticks = tuple(round(i * step, 9) for i in range(first, last + 1))
    return AxisScale(ticks[0], ticks[-1], start, end, ticks)


def _logarithmic(low: float, high: float, start: float, end: float, about: int) -> AxisScale:
    low, high = low / 1.15, high * 1.15
    decades = range(floor(log10(low)), ceil(log10(high)) + 1)
    for digits in ((1, 1.5, 2, 3, 4, 5, 6, 8), (1, 2, 3, 5), (1, 2, 5), (1, 3), (1,)):
        ticks = [d * 10.0**e for e in decades for d in digits if low <= d * 10.0**e <= high]
        if len(ticks) <= about + 2:
            break
    return AxisScale(
        low, high, start, end, tuple(ticks[:: max(1, len(ticks) // (about + 2))]), logarithmic=True
    )


def _round_step(step: float) -> float:
    size = 10.0 ** floor(log10(step))
    return size * next(d for d in (1, 2, 2.5, 5, 10) if step <= d * size * (1 + 1e-9))
