"""Packs read: every distinct message of a run is read once.

Rule: the same message always has the same reading, so that only what a policy changed costs anything.
"""

from collections.abc import Sequence

from holdfast.replay.evidence.reading import Reading
from holdfast.replay.request import Said


class PackReadings:
    """Readings by message, those of the recording known from the start. What a pack no longer shows is forgotten
    when it grows to more than the recording itself."""

    def __init__(self, recorded: Sequence[Reading]) -> None:
        self._recorded = {reading.said: reading for reading in recorded}
        self._made: dict[Said, Reading] = {}
        self._room = 2 * len(recorded) + 100

    def of(self, pack: Sequence[Said]) -> list[Reading]:
        if len(self._made) > self._room:
            kept = set(pack)
            self._made = {said: reading for said, reading in self._made.items() if said in kept}
        return [self._recorded.get(said) or self._read(said) for said in pack]

    def _read(self, said: Said) -> Reading:
        reading = self._made.get(said)
        if reading is None:
            reading = self._made[said] = Reading(said)
        return reading
