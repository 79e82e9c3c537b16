"""Files into the store: our own exports with their ids, and recordings of any agent.

Rule: every file is read to its end before anything is stored, so that a damaged one leaves the store as it was.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from holdfast.cli.progress import tracked
from holdfast.errors import InputError
from holdfast.log import Log, import_log
from holdfast.recordings import read_recordings
from holdfast.recordings.source import Source
from holdfast.store import Store
from holdfast.store.transfer import read_lines

EXPORTED = b'{"holdfast":"log"'
"""How the first line of `holdfast logs export` begins."""


def check_files(paths: Sequence[Path], format_: str | None) -> int:
    """How many logs the files hold; InputError if one cannot be read."""
    count = 0
    with tracked(paths, "checking", total=len(paths)) as files:
        for path in files:
            if is_export(path):
                with _named(path):
                    read_lines(_lines(path))
                count += 1
            else:
                count += sum(1 for _ in read_recordings(path, format_))
    return count


def import_files(store: Store, paths: Sequence[Path], format_: str | None) -> Iterator[Log]:
    """The logs of the files, each stored whole."""
    for path in paths:
        if is_export(path):
            with _named(path):
                log = import_log(store, _lines(path))
            yield log
        else:
            for recording in read_recordings(path, format_):
                yield Log.import_recording(store, recording)


def is_export(path: Path) -> bool:
    first = next((line.raw for line in Source(path).lines() if line.raw.strip()), b"")
    return first.replace(b" ", b"").startswith(EXPORTED)


def _lines(path: Path) -> Iterator[bytes]:
    return (line.raw for line in Source(path).lines())


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """An export's faults are told by line; a person needs the file as well."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path.name}: {error.message}", hint=error.hint) from None
