"""What could not be carried over as it was, counted.

Rule: nothing is lost in silence; every kind of change becomes one sentence with its number.
"""


class Tally:
    """Counts by what was done (`left out`, `kept as reminders`) and to what, in the order first seen."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}

    def add(self, what: str, things: str, count: int = 1) -> None:
        if count:
            key = (what, things)
            self._counts[key] = self._counts.get(key, 0) + count

    def sentences(self) -> tuple[str, ...]:
        return tuple(f"{what}: {things} ({count})" for (what, things), count in self._counts.items())
