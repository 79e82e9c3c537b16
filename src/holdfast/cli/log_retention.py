"""`holdfast logs sizes`, `prune` and `vacuum`: what logs take on the disk, and how they come to take less.

Rule: what was written to in the last hour may belong to an agent at work and is left alone, and so is what the
gateway sent in place of results, unless it is named. A text is deleted with the last log that refers to it.
"""

import re
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import click
from msgspec import Struct

from holdfast.cli.inputs import readable_store
from holdfast.cli.options import common_options, complete_with, json_option
from holdfast.cli.streams import note, show_activity, track, write_json
from holdfast.cli.tables import Column, format_date, identifier, name, print_table, say_table, text
from holdfast.errors import InputError
from holdfast.gateway.settings import REPLACEMENTS
from holdfast.log import Log
from holdfast.numbers import counted, format_size
from holdfast.store import LogInfo, Store
from holdfast.store.protocol import LogSize, StoreSize

AT_WORK = timedelta(hours=1)
AGES = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
SIZES = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}

SIZES_EXAMPLES = """\b
Examples:
  holdfast logs sizes
  holdfast logs sizes --json"""

PRUNE_EXAMPLES = """\b
Examples:
  holdfast logs prune --older-than 90d
  holdfast logs prune --max-size 2GB --dry-run
  holdfast logs prune --older-than 30d --source claude-code --yes && holdfast logs vacuum"""

VACUUM_EXAMPLES = """\b
Examples:
  holdfast logs vacuum"""


class _Amount(click.ParamType[Any]):
    """A number with a unit, such as `90d` or `2GB`."""

    def __init__(self, what: str, pattern: str, example: str) -> None:
        self.name = what
        self._pattern = re.compile(rf"(\d{{1,9}}(?:\.\d{{1,3}})?)\s?{pattern}", re.IGNORECASE | re.ASCII)
        self._example = example

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        match = self._pattern.fullmatch(value.strip())
        if match is None:
            self.fail(f"`{value[:40]}` is no {self.name}: write it like {self._example}", param, ctx)
        unit = match[2].lower()
        return float(match[1]) * AGES[unit] if unit in AGES else int(float(match[1]) * SIZES[unit])


class KnownLog(Struct, frozen=True):
    info: LogInfo
    size: LogSize

    @property
    def last_at(self) -> float:
        return self.info.last_at or 0.0


class LogChoice(Struct, frozen=True):
    """Which logs go. `oldest` is the earliest last activity that stays, `most` the bytes that the rest may take."""

    ids: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()
    source: str = ""
    oldest: float | None = None
    most: int | None = None


@click.command(epilog=SIZES_EXAMPLES)
@json_option
@common_options
@click.pass_context
def sizes(ctx: click.Context, as_json: bool) -> None:
    """Show what each log takes on the disk, the largest first.

    `alone` is what would be free if only that log were deleted: a text that several logs share is stored once.
    """
    store = readable_store(ctx)
    with show_activity("measuring"):
        size, logs = measure_logs(store)
    logs.sort(key=lambda log: -log.size.all)
    if as_json:
        write_json(
            {
                "disk": size.disk,
                "unused": size.unused,
                "logs": [
                    {
                        "id": log.info.head.id,
                        "last_at": log.info.last_at,
                        "bytes": log.size.all,
                        "own": log.size.own,
                    }
                    for log in logs
                ],
            }
        )
        return
    print_table(_columns("log"), [_row(log) for log in logs])
    note(f"{counted(len(logs), 'log')}; the store takes {format_size(size.disk)}, {_unused(size)}")


@click.command(epilog=PRUNE_EXAMPLES)
@click.argument("ids", metavar="[ID]...", nargs=-1, shell_complete=complete_with("logs"))
@click.option(
    "--older-than",
    "age",
    metavar="AGE",
    type=_Amount("age", "([hdw])", "`12h`, `90d` or `8w`"),
    help="Choose logs without activity for this long, such as 90d.",
)
@click.option(
    "--max-size",
    "most",
    metavar="SIZE",
    type=_Amount("size", "([kmgt])b?", "`500MB` or `2GB`"),
    help="Choose the logs that were quiet the longest, until the others take this much at most.",
)
@click.option(
    "--source", metavar="NAME", default="", help="Choose only logs of this agent, such as claude-code."
)
@click.option(
    "--keep",
    "kept",
    metavar="ID",
    multiple=True,
    shell_complete=complete_with("logs"),
    help="Leave this log alone.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be deleted, and delete nothing.")
@click.option("--yes", is_flag=True, help="Delete without asking.")
@json_option
@common_options
@click.pass_context
def prune(
    ctx: click.Context,
    ids: tuple[str, ...],
    age: timedelta | None,
    most: int | None,
    source: str,
    kept: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Delete logs by age, by what the store takes, or by id; several conditions hold together.

    A text goes with the last log that refers to it. Logs with activity in the last hour stay unless named by ID,
    and so does what the gateway sent in place of results. `holdfast logs vacuum` gives the space back to the disk.
    """
    if not (ids or age or most is not None or source):
        raise InputError(
            "nothing says which logs are to go", hint="give --older-than, --max-size, --source or an ID"
        )
    store = readable_store(ctx)
    choice = LogChoice(
        frozenset(Log.open(store, id_).id for id_ in ids),
        frozenset(Log.open(store, id_).id for id_ in kept),
        source,
        None if age is None else time.time() - age.total_seconds(),
        most,
    )
    with show_activity("measuring"):
        size, logs = measure_logs(store)
    chosen = choose_logs(size, logs, choice, now=time.time())
    deleted = bool(chosen) and not dry_run and _is_confirmed(chosen, yes)
    if deleted:
        with track([log.info.head.id for log in chosen], "deleting", total=len(chosen)) as going:
            store.delete(*going)
    if as_json:
        write_json({"deleted": deleted, "logs": [log.info.head.id for log in chosen]})
    elif dry_run:
        print_table(_columns("to delete"), [_row(log) for log in chosen])
    freed = format_size(sum(log.size.last for log in chosen))
    said = "deleted" if deleted else "would be deleted" if dry_run and chosen else "to delete"
    note(f"{counted(len(chosen), 'log')} {said}" + (f", {freed} of texts and entries" if chosen else ""))
    if choice.most is not None and not dry_run:
        _say_what_stays(store, choice.most)


@click.command(epilog=VACUUM_EXAMPLES)
@json_option
@common_options
@click.pass_context
def vacuum(ctx: click.Context, as_json: bool) -> None:
    """Compress texts that an earlier version stored plain, and give unused space back to the disk.

    It may need as much free space as the store takes, and other processes wait meanwhile.
    """
    store = readable_store(ctx)
    before = store.size().disk
    with show_activity("vacuuming"):
        store.vacuum()
    after = store.size().disk
    if as_json:
        write_json({"before": before, "after": after})
    note(f"the store takes {format_size(after)}, before {format_size(before)}")


def choose_logs(
    size: StoreSize, logs: Sequence[KnownLog], choice: LogChoice, *, now: float
) -> list[KnownLog]:
    """The logs that go, those that were quiet the longest first."""
    candidates = [log for log in logs if _may_go(log, choice, now)]
    if choice.most is None:
        return candidates
    # Deleting a log also frees its share of what the store needs besides texts and entries.
    content = sum(log.size.last for log in logs)
    share = (size.disk - size.unused) / content if content else 1.0
    left = size.disk - size.unused
    chosen = []
    for log in candidates:
        if left <= choice.most:
            break
        chosen.append(log)
        left -= round(log.size.last * share)
    return chosen


def _may_go(log: KnownLog, choice: LogChoice, now: float) -> bool:
    id_ = log.info.head.id
    if id_ in choice.kept or (choice.ids and id_ not in choice.ids):
        return False
    if choice.source and choice.source not in (log.info.head.source, log.info.head.origin):
        return False
    if choice.oldest is not None and (log.info.last_at is None or log.info.last_at >= choice.oldest):
        return False
    return id_ in choice.ids or (id_ != REPLACEMENTS and log.last_at < now - AT_WORK.total_seconds())


def measure_logs(store: Store) -> tuple[StoreSize, list[KnownLog]]:
    """The size of the store, and of its logs, those that were quiet the longest first."""
    infos = {info.head.id: info for info in store.logs()}
    size = store.size()
    return size, [KnownLog(infos[one.log], one) for one in size.logs if one.log in infos]


def _is_confirmed(chosen: Sequence[KnownLog], yes: bool) -> bool:
    say_table(_columns("to delete"), [_row(log) for log in chosen])
    if yes:
        return True
    if not sys.stdin.isatty():
        raise InputError("nothing was deleted: there is no terminal to confirm it on", hint="add `--yes`")
    return click.confirm(f"Delete {counted(len(chosen), 'log')}?", err=True)


def _say_what_stays(store: Store, most: int) -> None:
    size = store.size()
    used = size.disk - size.unused
    note(
        f"the others take {format_size(used)}; `holdfast logs vacuum` gives {_unused(size)} back to the disk"
    )
    if used > most:
        note(f"that is more than {format_size(most)}: what stays is kept, at work, or needed by the gateway")


def _unused(size: StoreSize) -> str:
    return f"{format_size(size.unused)} of it unused"


def _columns(title: str) -> list[Column]:
    return [
        identifier(title),
        name("last activity"),
        name("source"),
        name("size"),
        name("alone"),
        text("title"),
    ]


def _row(log: KnownLog) -> tuple[str, ...]:
    head = log.info.head
    return (
        head.id,
        format_date(log.info.last_at),
        head.source or head.origin,
        format_size(log.size.all),
        format_size(log.size.own),
        head.title,
    )
