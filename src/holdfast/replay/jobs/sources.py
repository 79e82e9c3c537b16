"""Which recordings to replay.

Rule: the same choice gives the same recordings in the same order, however often it is read.
"""

from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path

from msgspec import Struct

from holdfast.errors import InputError
from holdfast.recordings.reading import Unread, unread_recordings
from holdfast.replay.jobs.work import Job


class Load(Struct, frozen=True):
    """How much there is to do."""

    recordings: int
    size: int


class Sources(Struct, frozen=True):
    """All recordings of some files, or `sample` of each, spread evenly from the first to the last."""

    files: tuple[Path, ...]
    format: str | None = None
    sample: int = 0

    def load(self) -> Load:
        """Reads every file once, so that a bad one is refused before any work and time left can be told."""
        sizes = [job.unread.size for job in self.jobs()]
        if not sizes:
            raise InputError(f"there is no recording in {', '.join(path.name for path in self.files)}")
        return Load(len(sizes), sum(sizes))

    def jobs(self) -> Iterator[Job]:
        seen: set[str] = set()
        number = 0
        for path in self.files:
            for unread in self._unread(path):
                # The same id again is another recording all the same: figures are paired by id.
                again = (f"{unread.id} ({turn})" for turn in count(2))
                id_ = next(id_ for id_ in chain((unread.id,), again) if id_ not in seen)
                seen.add(id_)
                yield Job(number, id_, path.name, unread)
                number += 1

    def _unread(self, path: Path) -> Iterator[Unread]:
        if not self.sample:
            yield from unread_recordings(path, self.format)
            return
        found = sum(1 for _ in unread_recordings(path, self.format))
        chosen = _spread(found, self.sample)
        yield from (u for at, u in enumerate(unread_recordings(path, self.format)) if at in chosen)


def _spread(found: int, wanted: int) -> set[int]:
    if wanted >= found:
        return set(range(found))
    if wanted == 1:
        return {0}
    return {round(place * (found - 1) / (wanted - 1)) for place in range(wanted)}
