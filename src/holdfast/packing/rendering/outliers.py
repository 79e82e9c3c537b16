"""Outliers: rows with a value that its column hardly ever holds, or with a number far from the others.

Rule: few rows are outliers, or none are. A column in which much differs has no usual value.
"""

from collections import Counter
from collections.abc import Sequence
from statistics import median

USUAL = 0.8
"""The share of a column from which a value is what the column holds."""
FEWEST = 5
"""Rows below which nothing is usual."""
OUTLIER_SHARE = 0.2
"""The share of rows that may stand out."""
FAR = 12.0
"""How many times the usual distance from the middle makes a number stand out."""
_UNITS = {"": 1.0, "%": 1.0, "s": 1.0, "B": 1.0, "b": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_LONGEST_NUMBER = 24


def outlier_rows(rows: Sequence[Sequence[str]]) -> set[int]:
    """Numbers of the rows that stand out in some column. Most rows say how many columns there are."""
    if len(rows) < FEWEST:
        return set()
    width = Counter(map(len, rows)).most_common(1)[0][0]
    out: set[int] = set()
    for at in range(width):
        column = [row[at] if at < len(row) else "" for row in rows]
        odd = _odd(column)
        if len(odd) <= len(rows) * OUTLIER_SHARE:
            out |= odd
    return out if len(out) <= len(rows) * OUTLIER_SHARE else set()


def _odd(column: Sequence[str]) -> set[int]:
    usual, times = Counter(column).most_common(1)[0]
    if times >= len(column) * USUAL:
        return {at for at, value in enumerate(column) if value != usual}
    numbers = [_number(value) for value in column]
    known = [n for n in numbers if n is not None]
    if len(known) < len(column) * USUAL:
        return set()
    middle = median(known)
    spread = median(abs(n - middle) for n in known)
    if not spread:
        return set()
    return {at for at, n in enumerate(numbers) if n is not None and abs(n - middle) > FAR * spread}


def _number(text: str) -> float | None:
    """The number that a cell is, its unit included; None if it is none."""
    bare = text.strip().replace(",", "") if len(text) <= _LONGEST_NUMBER else ""
    end = len(bare)
    while end and not bare[end - 1].isdigit():
        end -= 1
    unit = bare[end:].removesuffix("iB").removesuffix("B")[:1]
    try:
        return float(bare[:end]) * _UNITS.get(unit, 1.0)
    except ValueError:
        return None
