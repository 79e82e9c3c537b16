"""`holdfast logs`: list, export, import, delete and verify the logs in the store; `log_retention.py` has the rest.

Rule: nothing is deleted that was not named and confirmed. Every file is read to its end before any of it is
stored, so that a damaged one changes nothing; a file is replaced only when its new content is complete.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import click

from holdfast.cli import log_retention
from holdfast.cli.inputs import readable_store, writable_store
from holdfast.cli.options import common_options, complete_with, format_option, json_option
from holdfast.cli.streams import note, replace_file, show_activity, track, write, write_json
from holdfast.cli.tables import format_date, identifier, name, number, print_table, say_table, text
from holdfast.errors import InputError
from holdfast.log import Log, export_log, import_log
from holdfast.messages import Json
from holdfast.numbers import counted
from holdfast.recordings import read_recordings
from holdfast.recordings.json_lines import RecordingFile, check_complete
from holdfast.recordings.recording_files import scan_recordings
from holdfast.store import LogInfo, Store, verify
from holdfast.store.log_file import read_log_lines

T = TypeVar("T")

EXPORTED = b'{"holdfast":"log"'
"""The start of what `holdfast logs export` writes."""
DAMAGED = 1

EXAMPLES = """\b
Examples:
  holdfast logs
  holdfast logs export l0123456789ab -o work.jsonl
  holdfast logs import work.jsonl recordings/*.jsonl.gz
  holdfast logs delete l0123456789ab --yes
  holdfast logs prune --older-than 90d
  holdfast logs verify"""

EXPORT_EXAMPLES = """\b
Examples:
  holdfast logs export l0123456789ab > work.jsonl
  holdfast logs export l0123456789ab -o work.jsonl"""

IMPORT_EXAMPLES = """\b
Examples:
  holdfast logs import work.jsonl
  holdfast logs import sessions/*.jsonl --from claude-code"""

DELETE_EXAMPLES = """\b
Examples:
  holdfast logs delete l0123456789ab
  holdfast logs delete l0123456789ab l0123456789cd --yes"""

VERIFY_EXAMPLES = """\b
Examples:
  holdfast logs verify
  holdfast logs verify l0123456789ab --json"""

log_id = click.argument("id_", metavar="ID", shell_complete=complete_with("logs"))


@click.group(invoke_without_command=True, epilog=EXAMPLES)
@json_option
@common_options
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """List, export, import, delete, prune and verify logs.

    Without a command, lists them, oldest first. Six or more characters of an ID are enough.
    """
    if ctx.invoked_subcommand is not None:
        return
    infos = readable_store(ctx).logs()
    if as_json:
        write_json([_as_json(info) for info in infos])
        return
    rows = [
        (i.head.id, format_date(i.head.at), i.head.source or i.head.origin, i.entries, i.head.title)
        for i in infos
    ]
    print_table([identifier("id"), name("began"), name("source"), number("entries"), text("title")], rows)
    note(counted(len(rows), "log"))


@command.command(epilog=EXPORT_EXAMPLES)
@log_id
@click.option("-o", "--output", metavar="FILE", default="-", help="Write to FILE instead of stdout.")
@common_options
@click.pass_context
def export(ctx: click.Context, id_: str, output: str) -> None:
    """Write a log as JSONL, with all its texts."""
    log = Log.open(readable_store(ctx), id_)
    lines = export_log(log)
    if output == "-":
        for line in lines:
            write(line)
        return
    replace_file(Path(output), lines, mode=0o600)
    note(f"{counted(log.info.entries, 'entry', 'entries')} of log `{log.id}` are in {output}")


@command.command("import", epilog=IMPORT_EXAMPLES)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@format_option("Read recordings in this format.")
@json_option
@common_options
@click.pass_context
def import_(ctx: click.Context, files: tuple[Path, ...], format: str | None, as_json: bool) -> None:  # noqa: A002
    """Import what `export` wrote, or recordings of any agent.

    Logs that are already there are not stored again. If one file cannot be read, nothing is stored.
    """
    checked = [RecordingFile(path) for path in files]
    total = _count_logs(checked, format)
    with track(_import_files(writable_store(ctx), files, format), "importing", total=total) as found:
        logs = [(log, log.info) for log in found]
    if as_json:
        write_json([{**_as_json(info), "existed": log.existed} for log, info in logs])
    else:
        rows = [(i.head.id, i.entries, "known" if log.existed else "new", i.head.title) for log, i in logs]
        print_table([name("id"), number("entries"), name("state"), text("title")], rows)
    new = sum(not log.existed for log, _ in logs)
    note(f"{counted(new, 'log')} stored, {len(logs) - new} already there")
    for file in checked:
        if file.notes and not file.lost_recordings:
            note(f"{file.name}: {'; '.join(file.notes)}")
    check_complete(checked)


@command.command(epilog=DELETE_EXAMPLES)
@click.argument("ids", metavar="ID...", nargs=-1, required=True, shell_complete=complete_with("logs"))
@click.option("--yes", is_flag=True, help="Delete without asking.")
@common_options
@click.pass_context
def delete(ctx: click.Context, ids: tuple[str, ...], yes: bool) -> None:
    """Delete logs, with every text that no other log refers to."""
    store = readable_store(ctx)
    infos = {log.id: log.info for log in (Log.open(store, id_) for id_ in ids)}
    say_table(
        [identifier("to delete"), number("entries"), text("title")],
        [(i.head.id, i.entries, i.head.title) for i in infos.values()],
    )
    if not yes and not sys.stdin.isatty():
        raise InputError("nothing was deleted: there is no terminal to confirm it on", hint="add `--yes`")
    if not yes and not click.confirm(f"Delete {counted(len(infos), 'log')}?", err=True):
        note("nothing was deleted")
        return
    store.delete(*infos)
    note(f"{counted(len(infos), 'log')} deleted")


@command.command("verify", epilog=VERIFY_EXAMPLES)
@click.argument("id_", metavar="[ID]", required=False, shell_complete=complete_with("logs"))
@json_option
@common_options
@click.pass_context
def verify_(ctx: click.Context, id_: str | None, as_json: bool) -> None:
    """Compare every entry and text with its id.

    Exit code 1 if something is damaged.
    """
    store = readable_store(ctx)
    with show_activity("verifying"):
        checked = [Log.open(store, id_).info] if id_ is not None else list(store.logs())
        found = verify(store, checked[0].head.id if id_ is not None else None)
    if as_json:
        write_json(found)
    elif found:
        rows = [(d.log, d.entry, d.what) for d in found]
        print_table([identifier("log"), identifier("entry"), text("what is wrong")], rows)
    entries = counted(sum(info.entries for info in checked), "entry", "entries")
    note(f"{counted(len(found), 'fault')} in {counted(len(checked), 'log')}, {entries}")
    if found:
        ctx.exit(DAMAGED)


def _count_logs(files: Sequence[RecordingFile], format_: str | None) -> int:
    """How many logs are in the files; InputError if one cannot be read."""
    count = 0
    with track(files, "checking", total=len(files)) as checked:
        for file in checked:
            if _is_export(file.path):
                _read_export(file.path, read_log_lines)
                count += 1
                continue
            for recording in scan_recordings(file, format_):
                recording.read()
                count += 1
    return count


def _import_files(store: Store, paths: Sequence[Path], format_: str | None) -> Iterator[Log]:
    """The logs of the files, each stored whole."""
    for path in paths:
        if _is_export(path):
            yield _read_export(path, partial(import_log, store))
        else:
            yield from (Log.import_recording(store, one) for one in read_recordings(path, format_))


def _is_export(path: Path) -> bool:
    first = next((line for line in _raw_lines(path) if line.strip()), b"")
    return first.replace(b" ", b"").startswith(EXPORTED)


def _raw_lines(path: Path) -> Iterator[bytes]:
    return (line.raw for line in RecordingFile(path).lines())


def _read_export(path: Path, read: Callable[[Iterator[bytes]], T]) -> T:
    """Errors in an export name the line; this adds the file."""
    try:
        return read(_raw_lines(path))
    except InputError as error:
        raise InputError(f"{path.name}: {error.message}", hint=error.hint) from None


def _as_json(info: LogInfo) -> Json:
    head = {name: getattr(info.head, name) for name in ("id", "title", "source", "origin", "at")}
    return {**head, "last_at": info.last_at, "entries": info.entries}


for retention in (log_retention.sizes, log_retention.prune, log_retention.vacuum):
    command.add_command(retention)
