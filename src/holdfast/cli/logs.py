"""Files into the store: our own exports with their ids, and recordings of any agent.

Rule: every file is read to its end before anything is stored, so that a damaged one leaves the store as it was.
"""

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

import click

from holdfast.cli.inputs import readable_store, writable_store
from holdfast.cli.options import common_options, complete_with, json_option
from holdfast.cli.streams import format_count, note, show_activity, track, write, write_json
from holdfast.cli.tables import name, number, print_table, say_table, text
from holdfast.errors import InputError
from holdfast.log import Log, export_log, import_log
from holdfast.messages import Json
from holdfast.recordings import read_recordings
from holdfast.recordings.json_lines import RecordingFile, check_complete
from holdfast.recordings.recording_files import scan_recordings
from holdfast.store import LogInfo, Store, verify
from holdfast.store.log_file import read_log_lines

EXPORTED = b'{"holdfast":"log"'
"""How the first line of `holdfast logs export` begins."""


def check_files(files: Sequence[RecordingFile], format_: str | None) -> int:
    """How many logs the files hold; InputError if one cannot be read."""
    count = 0
    with track(files, "checking", total=len(files)) as checked:
        for file in checked:
            if is_export(file.path):
                with _named(file.path):
                    read_log_lines(_raw_lines(file.path))
                count += 1
            else:
                for recording in scan_recordings(file, format_):
                    recording.read()
                    count += 1
    return count


def import_files(store: Store, paths: Sequence[Path], format_: str | None) -> Iterator[Log]:
    """The logs of the files, each stored whole."""
    for path in paths:
        if is_export(path):
            with _named(path):
                log = import_log(store, _raw_lines(path))
            yield log
        else:
            for recording in read_recordings(path, format_):
                yield Log.import_recording(store, recording)


def is_export(path: Path) -> bool:
    first = next((line.raw for line in RecordingFile(path).lines() if line.raw.strip()), b"")
    return first.replace(b" ", b"").startswith(EXPORTED)


def _raw_lines(path: Path) -> Iterator[bytes]:
    return (line.raw for line in RecordingFile(path).lines())


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """An export's faults are told by line; a person needs the file as well."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path.name}: {error.message}", hint=error.hint) from None


# `holdfast logs`: what the store holds.
#
# Rule: a file is replaced only when its new content is complete; nothing is deleted that was not named and agreed to.

DAMAGED = 1

EXAMPLES = """\b
Examples:
  holdfast logs
  holdfast logs export l0123456789ab -o work.jsonl
  holdfast logs import work.jsonl recordings/*.jsonl.gz
  holdfast logs delete l0123456789ab --yes
  holdfast logs verify"""

log_id = click.argument("id_", metavar="ID", shell_complete=complete_with("logs"))


@click.group(invoke_without_command=True, epilog=EXAMPLES)
@json_option
@common_options
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """List, export, import, delete and verify logs.

    Without a command it lists them, oldest first. An ID may be shortened to its first six or more characters.
    """
    if ctx.invoked_subcommand is not None:
        return
    infos = readable_store(ctx).logs()
    if as_json:
        write_json([_as_json(info) for info in infos])
        return
    rows = [
        (i.head.id, _date(i.head.at), i.head.source or i.head.origin, i.entries, i.head.title) for i in infos
    ]
    print_table([name("id"), name("began"), name("source"), number("entries"), text("title")], rows)
    note(format_count(len(rows), "log"))


@command.command()
@log_id
@click.option("-o", "--output", metavar="FILE", default="-", help="A file instead of stdout.")
@common_options
@click.pass_context
def export(ctx: click.Context, id_: str, output: str) -> None:
    """Write a log as JSONL, with all its texts.

    \b
    Examples:
      holdfast logs export l0123456789ab > work.jsonl
      holdfast logs export l0123456789ab -o work.jsonl
    """
    log = Log.open(readable_store(ctx), id_)
    lines = export_log(log)
    if output == "-":
        for line in lines:
            write(line)
        return
    _replace_file(Path(output), lines)
    note(f"{format_count(log.info.entries, 'entry', 'entries')} of log `{log.id}` are in {output}")


@command.command("import")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--from",
    "format_",
    metavar="FORMAT",
    shell_complete=complete_with("formats"),
    help="Format of recordings.",
)
@json_option
@common_options
@click.pass_context
def import_(ctx: click.Context, files: tuple[Path, ...], format_: str | None, as_json: bool) -> None:
    """Store what `export` wrote, or recordings of any agent.

    What is there already is not stored again. If one file cannot be read, nothing is stored.

    \b
    Examples:
      holdfast logs import work.jsonl
      holdfast logs import sessions/*.jsonl --from claude-code
    """
    checked = [RecordingFile(path) for path in files]
    total = check_files(checked, format_)
    with track(import_files(writable_store(ctx), files, format_), "importing", total=total) as found:
        logs = [(log, log.info) for log in found]
    if as_json:
        write_json([{**_as_json(info), "existed": log.existed} for log, info in logs])
    else:
        rows = [(i.head.id, i.entries, "there" if log.existed else "new", i.head.title) for log, i in logs]
        print_table([name("id"), number("entries"), name("state"), text("title")], rows)
    new = sum(not log.existed for log, _ in logs)
    note(f"{format_count(new, 'log')} stored, {len(logs) - new} there already")
    for file in checked:
        if file.notes and not file.lost_recordings:
            note(f"{file.name}: {'; '.join(file.notes)}")
    check_complete(checked)


@command.command()
@click.argument("ids", metavar="ID...", nargs=-1, required=True, shell_complete=complete_with("logs"))
@click.option("--yes", is_flag=True, help="Do not ask.")
@common_options
@click.pass_context
def delete(ctx: click.Context, ids: tuple[str, ...], yes: bool) -> None:
    """Delete logs, with every text that no other log refers to.

    \b
    Examples:
      holdfast logs delete l0123456789ab
      holdfast logs delete l0123456789ab l0123456789cd --yes
    """
    store = readable_store(ctx)
    infos = {log.id: log.info for log in (Log.open(store, id_) for id_ in ids)}
    say_table(
        [name("to delete"), number("entries"), text("title")],
        [(i.head.id, i.entries, i.head.title) for i in infos.values()],
    )
    if not yes and not _agreed(len(infos)):
        note("nothing was deleted")
        return
    for id_ in infos:
        store.delete(id_)
    note(f"{format_count(len(infos), 'log')} deleted")


@command.command("verify")
@click.argument("id_", metavar="[ID]", required=False, shell_complete=complete_with("logs"))
@json_option
@common_options
@click.pass_context
def verify_(ctx: click.Context, id_: str | None, as_json: bool) -> None:
    """Compare every entry and text with its id.

    Exit code 1 if something is not what was written.

    \b
    Examples:
      holdfast logs verify
      holdfast logs verify l0123456789ab --json
    """
    store = readable_store(ctx)
    with show_activity("verifying"):
        checked = [Log.open(store, id_).info] if id_ is not None else list(store.logs())
        found = verify(store, checked[0].head.id if id_ is not None else None)
    if as_json:
        write_json(found)
    elif found:
        rows = [(d.log, d.entry, d.what) for d in found]
        print_table([name("log"), name("entry"), text("what is wrong")], rows)
    note(f"{format_count(len(found), 'fault')} in {format_count(len(checked), 'log')}, {_entries(checked)}")
    if found:
        ctx.exit(DAMAGED)


def _entries(infos: Sequence[LogInfo]) -> str:
    return format_count(sum(info.entries for info in infos), "entry", "entries")


def _agreed(count: int) -> bool:
    if not sys.stdin.isatty():
        raise InputError("nothing was deleted, as nobody can be asked here", hint="say `--yes`")
    return click.confirm(f"Delete {format_count(count, 'log')}?", err=True)


def _replace_file(path: Path, lines: Iterable[bytes]) -> None:
    """The whole file or none of it."""
    try:
        handle, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines(lines)
            Path(draft).replace(path)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}", hint="check the folder") from None


def _as_json(info: LogInfo) -> Json:
    head = info.head
    return {
        "id": head.id,
        "title": head.title,
        "source": head.source,
        "origin": head.origin,
        "at": head.at,
        "last_at": info.last_at,
        "entries": info.entries,
    }


def _date(at: float | None) -> str:
    """In the reader's own time zone; JSON has the number. A recording may claim a year that no calendar has."""
    with suppress(ValueError, OverflowError, OSError):
        if at is not None:
            return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")
    return ""
