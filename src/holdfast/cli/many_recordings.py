"""The recordings of a command that reads many: files, folders, URLs and stored logs. And who works on them.

Rule: a name means the same as where one recording is read: a file if there is one, else the id of a log.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

import click

from holdfast.cli.inputs import RecordingInput, stored_log
from holdfast.cli.options import PROCESSES, FilesInput
from holdfast.cli.store_place import store_place
from holdfast.cli.streams import show_activity, track
from holdfast.errors import InputError
from holdfast.lab.jobs import RecordingSources
from holdfast.lab.ray_cluster import connected
from holdfast.lab.stored_logs import StoredLog
from holdfast.lab.workers import LocalWorkers, Workers, available_processors
from holdfast.recordings.folders import ENDINGS, folder_files
from holdfast.recordings.remote_files import copy_files, is_url

RAY = "ray"


def recording_sources(ctx: click.Context, source: FilesInput) -> RecordingSources:
    """What was named, in its order. Raises InputError for a name that is neither a file nor a log."""
    found = tuple(one for name in source.files for one in _named(ctx, name, source.format))
    return RecordingSources(found, source.format, source.sample)


@contextmanager
def open_workers(source: FilesInput) -> Iterator[Workers]:
    """Who does the jobs, as `--engine` and `--jobs` say. Data is printed after that, not meanwhile."""
    engine, _, address = source.engine.partition(":")
    processors = available_processors()
    if source.engine == PROCESSES:
        yield LocalWorkers(source.jobs or processors)
        return
    if engine != RAY or source.engine == f"{RAY}:":
        raise InputError(
            f"`--engine {source.engine}` is not an engine",
            hint=f"write `{PROCESSES}`, `{RAY}` or `{RAY}:HOST:PORT`",
        )
    with ExitStack() as stack:
        with show_activity("connecting to Ray"):
            count = stack.enter_context(connected(address, source.jobs or 0, processors))
        # Imported late: it imports Ray.
        from holdfast.lab.ray_workers import RayWorkers  # noqa: PLC0415

        yield RayWorkers(count)


def _named(ctx: click.Context, name: str, format: str | None) -> Iterator[Path | StoredLog]:  # noqa: A002
    if is_url(name):
        folder = TemporaryDirectory(prefix="holdfast-recordings-", ignore_cleanup_errors=True)
        yield from copy_files(name, Path(ctx.with_resource(folder)), partial(track, what="copying"))
        return
    named = RecordingInput(name, format=format)
    if named.file is None:
        yield StoredLog.choose(stored_log(ctx, named), store_place(ctx))
    elif named.file.is_dir():
        yield from _files_below(named.file)
    else:
        yield named.file


def _files_below(folder: Path) -> list[Path]:
    """In the order of their names, which does not depend on the file system."""
    found = sorted(file.path for file in folder_files(folder, _refuse))
    if not found:
        raise InputError(f"there is no recording in `{folder}`", hint=f"they end with {', '.join(ENDINGS)}")
    return found


def _refuse(place: Path, error: OSError) -> NoReturn:
    raise InputError(f"`{place}` cannot be read: {error.strerror}", hint="check the folder")
