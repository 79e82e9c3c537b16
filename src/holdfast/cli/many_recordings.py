"""The recordings of a command that reads many: all of some files, and logs in the store.

Rule: a name means the same as where one recording is read: a file if there is one, else the id of a log.
"""

import click

from holdfast.cli.inputs import RecordingInput, stored_log
from holdfast.cli.options import FilesInput
from holdfast.cli.store_place import store_place
from holdfast.lab.jobs import RecordingSources
from holdfast.lab.stored_logs import StoredLog


def recording_sources(ctx: click.Context, source: FilesInput) -> RecordingSources:
    """What was named, in its order. Raises InputError for a name that is neither a file nor a log."""
    found = []
    for path in source.files:
        named = RecordingInput(str(path), format=source.format)
        found.append(named.file or StoredLog.choose(stored_log(ctx, named), store_place(ctx)))
    return RecordingSources(tuple(found), source.format, source.sample)
