"""`holdfast show`: a recording at a glance, or the list of recordings in a file.

Rule: it stores nothing.
"""

from itertools import islice
from pathlib import Path

import click

from holdfast.cli.inputs import RecordingInput, how_counted, note_import, open_log, reads_recording
from holdfast.cli.ledger import show_ledger
from holdfast.cli.options import common_options, json_option
from holdfast.cli.overview import Overview, UsageComparison, make_overview
from holdfast.cli.streams import note, printable, track, write, write_json
from holdfast.cli.tables import name, number, print_table, text, wrapped
from holdfast.errors import InputError
from holdfast.log import Log
from holdfast.numbers import counted
from holdfast.recordings.json_lines import RecordingFile, check_complete
from holdfast.recordings.recording_files import scan_recordings
from holdfast.store import MemoryStore

EXAMPLES = """\b
Examples:
  holdfast show recording.jsonl
  holdfast show sessions.jsonl.gz                 lists its recordings
  holdfast show sessions.jsonl.gz --id 2689c0e37d92
  holdfast show l0123456789ab --json | jq .rounds
  holdfast show recording.jsonl --ledger --budget 32k
  holdfast show recording.jsonl --ledger --at 41 --path src/app.py"""


@click.command(epilog=EXAMPLES)
@reads_recording(windowed=" (with --ledger).")
@click.option(
    "--model", metavar="NAME", help="Count tokens as this model does (default: the recorded model)."
)
@click.option("--ledger", is_flag=True, help="Show which results and files are still in the window.")
@click.option(
    "--path", metavar="TEXT", default="", help="Only files with TEXT in their path (with --ledger)."
)
@json_option
@common_options
@click.pass_context
def command(
    ctx: click.Context, source: RecordingInput, model: str | None, ledger: bool, path: str, as_json: bool
) -> None:
    """Show rounds, steps, tools and tokens at a glance.

    RECORDING is a file, or the id of a log in the store. If a file holds several recordings, they are listed unless
    --id names one. --ledger walks through the recording as `pack` does, and shows what is left of each result.
    """
    if ledger:
        show_ledger(ctx, source, model, path, as_json=as_json)
        return
    given = {"--at": source.step, "--budget": source.budget, "--profile": source.profile, "--path": path}
    for option, value in given.items():
        if value not in (None, ""):
            raise InputError(f"`{option}` needs `--ledger`", hint=f"add `--ledger`, or drop `{option}`")
    if source.id is None and source.file is not None:
        several = len(list(islice(scan_recordings(source.file, source.format), 2))) > 1
        if several:
            _show_list(source.file, source.format, model, as_json)
            return
    seen = make_overview(open_log(ctx, source), source.chain, model, is_stored=source.file is None)
    if as_json:
        write_json(seen)
    else:
        _show(seen)
    note_import(seen.notes)


def _show_list(file: Path, format_: str | None, model: str | None, as_json: bool) -> None:
    rows: list[tuple[str, int, int, int, str]] = []
    opened = RecordingFile(file)
    with track(scan_recordings(opened, format_), "reading") as found:
        for unread in found:
            log = Log.import_recording(MemoryStore(), unread.read(), redact=str)
            seen = make_overview(log, model=model)
            rows.append((unread.id, len(seen.rounds), seen.steps, seen.tokens, seen.title))
    if as_json:
        keys = ("id", "rounds", "steps", "tokens", "title")
        write_json([dict(zip(keys, row, strict=True)) for row in rows])
    else:
        print_table([name("id"), number("rounds"), number("steps"), number("tokens"), text("title")], rows)
        note(f"{counted(len(rows), 'recording')}; choose one with `--id`")
    check_complete([opened])


def _show(seen: Overview) -> None:
    _show_head(seen)
    rows = [
        (
            r.number,
            f"{r.first}-{r.last}" if r.last > r.first else str(r.first or ""),
            r.tokens,
            _names(r.calls),
            r.user or "(no user message)",
        )
        for r in seen.rounds
    ]
    columns = [number("#"), name("steps"), number("tokens"), wrapped("calls"), text("user")]
    print_table(columns, rows, title="rounds")
    if seen.tools:
        _show_tools(seen)
    if seen.usage:
        _show_usage(seen.usage)
    _show_rest(seen)


def _show_head(seen: Overview) -> None:
    if seen.title:
        write(f"{printable(seen.title)}\n")
    where = f"log {seen.log}, " if seen.log else ""
    write(
        f"{where}{printable(seen.source) or 'live'}, {how_counted(printable(seen.model))}\n"
        f"{counted(len(seen.rounds), 'round')}, {counted(seen.steps, 'step')}, "
        f"{counted(seen.tokens, 'token')}, of which {seen.fixed_tokens:,} are system prompt and tools\n"
    )


def _show_tools(seen: Overview) -> None:
    numbers = ("calls", "errors", "arguments", "results")
    rows = [
        (t.kind, t.calls, t.errors, t.argument_tokens, t.result_tokens, _names(t.names)) for t in seen.tools
    ]
    sums = [sum(column) for column in zip(*(row[1:5] for row in rows), strict=True)]
    columns = [name("kind"), *map(number, numbers), wrapped("names")]
    print_table(columns, [*rows, ("total", *map(int, sums), "")], title="tools", totals=1)


def _show_usage(usage: UsageComparison) -> None:
    columns = [name("prompt tokens"), number("median error"), number("p95"), number("last prompt")]
    last = usage.last
    rows = [
        ("reported", "", "", last.reported),
        ("counted", _percent(usage.counted_median), _percent(usage.counted_p95), last.counted),
        ("calibrated", _percent(usage.calibrated_median), _percent(usage.calibrated_p95), last.calibrated),
    ]
    print_table(columns, rows, title=f"provider usage, {counted(usage.reports, 'report')}")


def _show_rest(seen: Overview) -> None:
    if seen.boundaries:
        columns = [number("after step"), name("kind"), name("trigger"), number("before"), number("summary")]
        rows = [
            (b.after_step, b.kind, b.trigger, b.tokens_before or "", b.summary_tokens or "")
            for b in seen.boundaries
        ]
        print_table(columns, rows, title="boundaries")
    if seen.chains:
        columns = [name("chain"), name("agent"), number("steps"), number("tokens"), text("title")]
        chains = [(c.name, c.agent, c.steps, c.tokens, c.title) for c in seen.chains]
        print_table(columns, chains, title="side chains")
    if seen.branches:
        left = counted(seen.off_path, "entry", "entries")
        of = counted(seen.branches, "branch", "branches")
        write(f"\n{left} of {of} {'is' if seen.off_path == 1 else 'are'} off the path\n")
    if seen.repairs:
        write(f"\n{counted(len(seen.repairs), 'repair')} needed; `holdfast check` lists them\n")


def _names(counts: dict[str, int]) -> str:
    return ", ".join(f"{tool} {count}" for tool, count in counts.items())


def _percent(share: float) -> str:
    return f"{share * 100:.1f}%"
