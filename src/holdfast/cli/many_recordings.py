"""The recordings of a command that reads many: files and folders, here or at a URL, and stored logs.

Rule: a name means the same as where one recording is read: a file if there is one, else the id of a log.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

import click

from holdfast.cli.inputs import RecordingInput, stored_log
from holdfast.cli.options import FilesInput
from holdfast.cli.store_place import store_place
from holdfast.cli.streams import track
from holdfast.errors import InputError
from holdfast.lab.jobs import RecordingSources
from holdfast.lab.stored_logs import StoredLog
from holdfast.recordings.folders import ENDINGS, folder_files
from holdfast.recordings.remote_files import copy_files, is_url


def recording_sources(ctx: click.Context, source: FilesInput) -> RecordingSources:
    """What was named, in its order. Raises InputError for a name that is neither a file nor a log."""
    found = tuple(one for name in source.files for one in _named(ctx, name, source.format))
    return RecordingSources(found, source.format, source.sample)


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
