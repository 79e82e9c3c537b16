"""`holdfast show --ledger`: what is left in the window of every result and every file, to find out why an agent
read something again.

Rule: whatever takes tokens has a line of its own; only runs of what is gone are drawn together, and JSON has all.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import PurePosixPath

import click
from msgspec.structs import replace

from holdfast.cli.inputs import RecordingInput, RecordingWindow, note_import, walk_recording
from holdfast.cli.streams import note, printable, write, write_json
from holdfast.cli.tables import Cell, name, number, print_table, wrapped
from holdfast.numbers import counted
from holdfast.packing.pack import pack
from holdfast.packing.visibility import TextVisibility, Visibility, visibility_of

LONGEST_CALL = 60
"""Characters of a call that its line shows; JSON has the whole label."""


def show_ledger(
    ctx: click.Context, source: RecordingInput, model: str | None, path: str, *, as_json: bool
) -> None:
    """Show the ledger of a recording, of files with `path` in their paths if it is not empty."""
    walked = walk_recording(ctx, source, model)
    whole = visibility_of(walked.window.view())
    rows = tuple(row for row in whole.rows if path in row.path and (row.path or not path))
    shown, tokens = replace(whole, rows=rows), pack(walked.window.view()).tokens
    if as_json:
        write_json(_as_json(walked, shown, tokens, is_stored=source.file is None))
    else:
        base = _base({row.path for row in whole.rows if row.path})
        _show(walked, shown, tokens, base, is_whole=not path)
    note_import(walked.notes)
    if source.file is not None and rows:
        note("nothing was stored; after `holdfast pack` each id can be recalled")


def _as_json(
    walked: RecordingWindow, shown: Visibility, tokens: int, *, is_stored: bool
) -> dict[str, object]:
    return {
        "log": walked.log.id if is_stored else "",
        "model": walked.model,
        "profile": walked.profile.name,
        "budget": walked.profile.window,
        "step": len(walked.window.transcript.steps) + 1,
        "tokens": tokens,
        "rows": shown.rows,
        "files": [
            {
                "path": path,
                "seen": _steps(rows),
                "changed": shown.changed.get(path, ()),
                "on_view": shown.visible_lines(path),
                "whole_on_view": shown.is_visible(path),
                "outdated": shown.outdated_note(path),
            }
            for path, rows in _by_path(shown.rows).items()
        ],
        "states": shown.totals(),
    }


def _show(walked: RecordingWindow, shown: Visibility, tokens: int, base: str, *, is_whole: bool) -> None:
    profile, step = walked.profile, len(walked.window.transcript.steps) + 1
    write(
        f"what is sent for the reply of step {step}, profile {printable(profile.name)}\n"
        f"{counted(tokens, 'token')} of a budget of {profile.window:,}\n"
    )
    if not shown.rows:
        write("no results\n" if is_whole else "no file has this in its path\n")
        return
    if base:
        write(f"relative paths are below {printable(base)}\n")
    columns = [name("steps"), name("state"), number("now"), number("whole"), name("id"), wrapped("what")]
    lines = _lines(shown.rows, base, draw_together=is_whole)
    print_table(columns, lines, title="results, and files as they were written")
    _show_files(shown, base)
    totals = [(state, t.rows, t.tokens, t.size) for state, t in shown.totals().items() if t.rows]
    sums = [sum(column) for column in zip(*(row[1:] for row in totals), strict=True)]
    columns = [name("state"), number("rows"), number("now"), number("whole")]
    print_table(columns, [*totals, ("total", *map(int, sums))], title="tokens by state", totals=1)


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
        among = f", {counted(files, 'file')} among them" if files else ""
        what = f"{counted(len(run), 'row')}{among}"
        yield steps, "gone", 0, sum(row.size for row in run), "", what


def _what(row: TextVisibility, base: str) -> str:
    if not row.path:
        call = row.call if len(row.call) <= LONGEST_CALL else f"{row.call[:LONGEST_CALL]}…"
        return "; ".join(filter(None, (call, row.note)))
    tool = row.call.split(" ", 1)[0]
    lines = f" {row.first}-{row.last or ''}" if row.first else ""
    copy = "as written" if row.part == "argument" else ""
    return "; ".join(filter(None, (f"{tool} {_short(row.path, base)}{lines}", copy, row.note)))


def _show_files(found: Visibility, base: str) -> None:
    """Files that the agent saw more than once: when, when they changed, and what of them is on view."""
    rows: list[tuple[Cell, ...]] = []
    for path, seen in _by_path(found.rows).items():
        steps = _steps(seen)
        if len(steps) > 1:
            seen_in, changed = (", ".join(map(str, some)) for some in (steps, found.changed.get(path, ())))
            spans = ", ".join(f"{a}-{b}" if b > a else str(a) for a, b in found.visible_lines(path))
            spans = "all" if found.is_visible(path) else spans
            gone = "stale" if any(row.state == "stale" for row in seen) else "nothing"
            rows.append((_short(path, base), seen_in, changed, spans or gone))
    if rows:
        columns = [wrapped(title) for title in ("file", "seen in steps", "changed in", "on view")]
        print_table(columns, rows, title="files seen more than once")


def _by_path(rows: Sequence[TextVisibility]) -> dict[str, list[TextVisibility]]:
    """Rows that show files, or showed them when they came, by path."""
    found: dict[str, list[TextVisibility]] = {}
    for row in rows:
        if row.path and row.is_copy:
            found.setdefault(row.path, []).append(row)
    return found


def _steps(rows: Sequence[TextVisibility]) -> list[int]:
    return list(dict.fromkeys(row.step for row in rows))


def _base(paths: set[str]) -> str:
    """The deepest folder that holds two in three of the absolute paths: the work's own, named once."""
    absolute = [PurePosixPath(path) for path in paths if path.startswith("/")]
    counts = Counter(str(folder) for path in absolute for folder in path.parents)
    shared = [folder for folder, count in counts.items() if count * 3 >= len(absolute) * 2 and folder != "/"]
    return max(shared, key=len, default="") if len(absolute) > 1 else ""


def _short(path: str, base: str) -> str:
    return path.removeprefix(f"{base}/") if base else path
