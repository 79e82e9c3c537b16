"""`holdfast mcp`: an MCP server with which any client searches and reads back logs and recordings.

Rule: nothing is written. A store is opened for reading only; recordings are held in memory, without their secrets.
stdout belongs to the protocol.
"""

from collections.abc import Sequence
from pathlib import Path

import click

from holdfast.cli.options import STORE, common_options
from holdfast.cli.store_place import store_place
from holdfast.cli.streams import note, track, warn
from holdfast.errors import InputError
from holdfast.log import Log
from holdfast.numbers import counted
from holdfast.recordings.folders import ENDINGS, folder_files
from holdfast.recordings.json_lines import RecordingFile
from holdfast.recordings.recording_files import scan_recordings
from holdfast.store import MemoryStore, Store, open_read_only

NAMED_FILES = 5
SDK = ("mcp", "mcp_types", "anyio")

EXAMPLES = """\b
Examples:
  holdfast mcp
  holdfast mcp --store work.db
  holdfast mcp session.jsonl
  holdfast mcp ~/.claude/projects

\b
In the configuration of a client:
  {"mcpServers": {"holdfast": {"command": "holdfast", "args": ["mcp"]}}}"""


@click.command(epilog=EXAMPLES)
@click.argument("recordings", metavar="[RECORDING]...", nargs=-1, type=click.Path(path_type=Path))
@common_options
@click.pass_context
def command(ctx: click.Context, recordings: tuple[Path, ...]) -> None:
    """Serve logs and recordings to an MCP client, to search and read them.

    Serves the store, or else each RECORDING: a file, or a folder with all recordings below it. A client starts this
    command and talks to it on stdin and stdout. It has two tools, Recall and ListLogs, and changes nothing.
    """
    if recordings and STORE in ctx.meta:
        raise InputError("`--store` and recordings do not go together", hint="leave one of them out")
    _check_sdk()
    # No shell has expanded what a client's configuration says.
    places = [path.expanduser() for path in recordings]
    store = import_recordings(places) if places else ctx.with_resource(open_read_only(store_place(ctx)))
    # Imported late: it loads the SDK.
    from holdfast.cli.mcp_server import serve  # noqa: PLC0415

    note(f"serving {counted(len(store.logs()), 'log')} to an MCP client on stdin and stdout; Ctrl-C ends it")
    serve(store)


def _check_sdk() -> None:
    """Before recordings are read, which may take a while."""
    try:
        import mcp.server.stdio  # noqa: F401, PLC0415 - late: it takes a second
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in SDK:
            raise
        raise InputError(
            "`holdfast mcp` needs the MCP SDK, which is not installed",
            hint="run `pip install '.[mcp]'` in a checkout of Holdfast",
        ) from None


def import_recordings(places: Sequence[Path]) -> Store:
    """All recordings of the files and folders, in memory. Other files of a folder are left out and named."""
    store = MemoryStore()
    left_out: list[str] = []

    def refuse(path: Path, _: OSError) -> None:
        left_out.append(path.name)

    files = [(place, False) for place in places if not place.is_dir()]
    files += [(f.path, True) for place in places if place.is_dir() for f in folder_files(place, refuse)]
    with track(files, "reading recordings", total=len(files)) as found:
        for path, is_in_folder in found:
            try:
                _import_file(store, path)
            except InputError:
                if not is_in_folder:
                    raise
                left_out.append(path.name)
    if left_out:
        more = ", …" if len(left_out) > NAMED_FILES else ""
        named = ", ".join(left_out[:NAMED_FILES]) + more
        note(f"{counted(len(left_out), 'file')} could not be read as a recording: {named}")
    if not store.logs():
        raise InputError(
            f"there is no recording in {', '.join(map(str, places))}",
            hint=f"files in a folder are read if they end with {', '.join(ENDINGS)}",
        )
    return store


def _import_file(store: Store, path: Path) -> None:
    file = RecordingFile(path)
    for recording in scan_recordings(file):
        Log.import_recording(store, recording.read())
    if file.notes:
        warn(f"{file.name}: {'; '.join(file.notes)}")
