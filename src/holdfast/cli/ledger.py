"""`holdfast show --ledger`: what is left in the window of every result and every file, to find out why an agent
read something again.

Rule: whatever takes tokens has a line of its own; only runs of what is gone are drawn together, and JSON has all.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any, TypeVar

import click
import msgspec
from msgspec import Struct

from holdfast.cli.inputs import (
    RecordingChoice,
    build_window,
    chain_path,
    choose_profile,
    entries_before_step,
    import_notes,
    open_log,
    recorded_model,
)
from holdfast.cli.options import profile_option
from holdfast.cli.streams import format_count, format_number, note, printable, write, write_json
from holdfast.cli.tables import Cell, name, number, print_heading, print_table, wrapped
from holdfast.errors import InputError
from holdfast.log import Log
from holdfast.messages import Json
from holdfast.packing.pack import pack
from holdfast.packing.profile import Profile
from holdfast.packing.visibility import TextVisibility, Visibility, visibility_of

LONGEST_CALL = 60
"""Characters of a call that its line shows; JSON has the whole label."""

F = TypeVar("F", bound=Callable[..., Any] | click.Command)


class LedgerOptions(Struct, frozen=True):
    """What of a recording to look at, and under which settings."""

    model: str | None = None
    step: int | None = None
    budget: str | None = None
    profile: str = ""
    path: str = ""


class LedgerReport(Struct, frozen=True):
    """A ledger with all that is said about it. `step` is the one before whose reply it was taken."""

    log: Log
    ledger: Visibility
    settings: Profile
    model: str
    tokens: int
    step: int
    rows: list[TextVisibility]


def ledger_options(function: F) -> F:
    step = click.option(
        "--at",
        "step",
        metavar="STEP",
        type=click.IntRange(min=1),
        help="The ledger as before the reply of this step.",
    )
    budget = click.option(
        "--budget", metavar="TOKENS", help="The window of the ledger, such as 32k; else the profile's."
    )
    path = click.option(
        "--path", metavar="TEXT", default="", help="Only files of the ledger whose path has this in it."
    )
    return step(budget(profile_option(path(function))))


def refuse(look: LedgerOptions) -> None:
    """Say of an option that it means nothing without `--ledger`."""
    given = {"--at": look.step, "--budget": look.budget, "--profile": look.profile, "--path": look.path}
    for option, value in given.items():
        if value not in (None, ""):
            raise InputError(f"`{option}` goes with `--ledger`", hint="add `--ledger`, or leave it out")


def show_ledger(ctx: click.Context, choice: RecordingChoice, look: LedgerOptions, as_json: bool) -> None:
    settings = choose_profile(look.profile, look.budget)
    log = open_log(ctx, choice, redact=None if settings.redact else str)
    entries = log.entries()
    whole = chain_path(entries, choice.chain)
    model = look.model if look.model is not None else recorded_model(whole)
    window, _ = build_window(entries_before_step(whole, look.step), settings, model)
    tokens = pack(window).tokens
    found = visibility_of(window)
    rows = [row for row in found.rows if look.path in row.path and (row.path or not look.path)]
    account = LedgerReport(log, found, settings, model, tokens, len(window.transcript.steps) + 1, rows)
    if as_json:
        write_json(_as_json(account, choice))
    else:
        _show(account, is_whole=not look.path)
    for sentence in import_notes(entries):
        note(f"import: {sentence}")
    if choice.file is not None and rows:
        note("nothing was stored; after `holdfast pack` each id can be recalled")


def _as_json(account: LedgerReport, choice: RecordingChoice) -> Json:
    found = account.ledger
    return {
        "log": account.log.id if choice.file is None else "",
        "model": account.model,
        "profile": account.settings.name,
        "budget": account.settings.window,
        "step": account.step,
        "tokens": account.tokens,
        "rows": msgspec.to_builtins(account.rows),
        "files": [
            {
                "path": path,
                "seen": _steps(rows),
                "changed": list(found.changed.get(path, ())),
                "on_view": [list(span) for span in found.on_view(path)],
                "whole_on_view": found.resident(path),
                "outdated": found.seen_before_edit(path),
            }
            for path, rows in _by_path(account.rows).items()
        ],
        "states": msgspec.to_builtins(_only(account).totals()),
    }


def _only(account: LedgerReport) -> Visibility:
    """The ledger of the rows that were asked for."""
    return msgspec.structs.replace(account.ledger, rows=tuple(account.rows))


def _show(account: LedgerReport, *, is_whole: bool) -> None:
    profile = account.settings
    write(
        f"what is sent for the reply of step {account.step}, profile {printable(profile.name)}\n"
        f"{format_count(account.tokens, 'token')} of a budget of {format_number(profile.window)}\n"
    )
    if not account.rows:
        write("no results\n" if is_whole else "no file has this in its path\n")
        return
    base = _base({row.path for row in account.ledger.rows if row.path})
    if base:
        write(f"relative paths are below {printable(base)}\n")
    print_heading("results, and files as they were written")
    columns = [name("steps"), name("state"), number("now"), number("whole"), name("id"), wrapped("what")]
    print_table(columns, list(_lines(account.rows, base, draw_together=is_whole)))
    _show_files(account, base)
    print_heading("tokens by state")
    totals = [(state, t.rows, t.tokens, t.size) for state, t in _only(account).totals().items() if t.rows]
    sums = [sum(column) for column in zip(*(row[1:] for row in totals), strict=True)]
    columns = [name("state"), number("rows"), number("now"), number("whole")]
    print_table(columns, [*totals, ("total", *map(int, sums))], totals=1)


def _lines(rows: Sequence[TextVisibility], base: str, *, draw_together: bool) -> Iterator[tuple[Cell, ...]]:
    """A line for each row; for several that are gone one after another, only one if they are drawn together."""
    for is_gone, group in groupby(rows, key=lambda row: draw_together and row.state == "gone"):
        run = list(group)
        if not is_gone or len(run) == 1:
            for row in run:
                yield str(row.step), row.state, row.tokens, row.size, row.id, _what(row, base)
            continue
        first, last = run[0].step, run[-1].step
        steps = str(first) if first == last else f"{first}-{last}"
        files = len({row.path for row in run if row.path})
        among = f", {format_count(files, 'file')} among them" if files else ""
        what = f"{format_count(len(run), 'row')}{among}"
        yield steps, "gone", 0, sum(row.size for row in run), "", what


def _what(row: TextVisibility, base: str) -> str:
    if not row.path:
        call = row.call if len(row.call) <= LONGEST_CALL else f"{row.call[:LONGEST_CALL]}…"
        return "; ".join(filter(None, (call, row.note)))
    tool = row.call.split(" ", 1)[0]
    place = f"{_short(row.path, base)} {_range(row)}".strip()
    copy = "as written" if row.part == "argument" else ""
    return "; ".join(filter(None, (f"{tool} {place}", copy, row.note)))


def _range(row: TextVisibility) -> str:
    if not row.first:
        return ""
    return f"{row.first}-{row.last or ''}"


def _show_files(account: LedgerReport, base: str) -> None:
    """Files that the agent saw more than once: when, when they changed, and what of them is on view."""
    found = account.ledger
    rows: list[tuple[Cell, ...]] = []
    for path, seen in _by_path(account.rows).items():
        steps = _steps(seen)
        if len(steps) > 1:
            changed = found.changed.get(path, ())
            rows.append((_short(path, base), _listed(steps), _listed(changed), _on_view(found, path, seen)))
    if rows:
        print_heading("files seen more than once")
        print_table(
            [wrapped("file"), wrapped("seen in steps"), wrapped("changed in"), wrapped("on view")], rows
        )


def _on_view(found: Visibility, path: str, seen: Sequence[TextVisibility]) -> str:
    if found.resident(path):
        return "all"
    spans = ", ".join(f"{a}-{b}" if b > a else str(a) for a, b in found.on_view(path))
    return spans or ("stale" if any(row.state == "stale" for row in seen) else "nothing")


def _by_path(rows: Sequence[TextVisibility]) -> dict[str, list[TextVisibility]]:
    """Rows that show files, or showed them when they came, by path."""
    found: dict[str, list[TextVisibility]] = {}
    for row in rows:
        if row.path and row.is_copy:
            found.setdefault(row.path, []).append(row)
    return found


def _steps(rows: Sequence[TextVisibility]) -> list[int]:
    return list(dict.fromkeys(row.step for row in rows))


def _listed(steps: Sequence[int]) -> str:
    return ", ".join(map(str, steps))


def _base(paths: set[str]) -> str:
    """The deepest folder that holds two in three of the absolute paths: the work's own, named once."""
    absolute = [PurePosixPath(path) for path in paths if path.startswith("/")]
    counts = Counter(str(folder) for path in absolute for folder in path.parents)
    shared = [folder for folder, count in counts.items() if count * 3 >= len(absolute) * 2 and folder != "/"]
    return max(shared, key=len, default="") if len(absolute) > 1 else ""


def _short(path: str, base: str) -> str:
    return path.removeprefix(f"{base}/") if base else path
