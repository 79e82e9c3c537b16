"""How numbers and names are written, the same in every form of the report.

Rule: what is missing is a dash, never a zero; a name is one line of printable characters.
"""

from collections.abc import Mapping
from math import isfinite

from holdfast.lab.results import Interval
from holdfast.numbers import grouped

NONE = "–"
MINUS = "−"
UNITS = (("M", 1_000_000), ("k", 1_000))
LONGEST = 400
"""Characters of a name."""


def plain(text: str, longest: int = LONGEST) -> str:
    """A name from a recording or a policy, cut where it is too long to have been made for people."""
    text = cleaned(text).strip()
    return text if len(text) <= longest else text[: longest - 1] + "…"


def cleaned(text: str) -> str:
    """Fit to be shown: no line breaks, no bidi tricks, no half characters."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c.isspace() else "\ufffd" for c in text)


def decimal(value: float | None, places: int = 2) -> str:
    """A recall, a price or a ratio."""
    if value is None or not isfinite(value):
        return NONE
    written = f"{abs(value):.1e}" if abs(value) >= 1e6 else f"{abs(value):.{places}f}"
    return MINUS + written if value < 0 and float(written) else written


def milliseconds(value: float | None) -> str:
    """One decimal, none from 10 on."""
    if value is None or not isfinite(value):
        return NONE
    return decimal(value, 1) if round(value, 1) < 10 else grouped(round(value))


def amount(value: float | None) -> str:
    """A count or a size without decimals."""
    return NONE if value is None or not isfinite(value) else grouped(round(value))


def signed(value: float | None) -> str:
    written = decimal(value)
    return f"+{written}" if value is not None and isfinite(value) and round(value, 2) > 0 else written


def bounds(interval: Interval | None) -> str:
    if interval is None or interval.is_single or not (isfinite(interval.low) and isfinite(interval.high)):
        return NONE
    return f"{decimal(interval.low)}–{decimal(interval.high)}"


def signed_bounds(interval: Interval | None) -> str:
    """With `to`, since a dash beside a minus misleads."""
    if interval is None or interval.is_single:
        return NONE
    return f"{signed(interval.low)} to {signed(interval.high)}"


def mean(interval: Interval | None) -> float | None:
    return None if interval is None or not isfinite(interval.mean) else interval.mean


def budget(tokens: int) -> str:
    """16000 as `16k`."""
    unit, size = next((u for u in UNITS if tokens and tokens % u[1] == 0), ("", 1))
    return f"{tokens // size}{unit}"


def tokens_short(tokens: float) -> str:
    """For axes: 1500 as `1.5k`."""
    unit, size = next((u for u in UNITS if tokens >= u[1]), ("", 1))
    return f"{tokens / size:.3g}{unit}"


def listed(counts: Mapping[str, int]) -> str:
    """`orphan result 3, no user message 1`, the most frequent first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{plain(what, 120)} {grouped(count)}" for what, count in ordered)
