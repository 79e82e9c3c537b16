"""`holdfast show`: a recording at a glance, or the list of recordings in a file.

Rule: it stores nothing.
"""

from itertools import islice
from pathlib import Path

import click
import msgspec
from msgspec import Struct

from holdfast.cli.inputs import (
    RecordingInput,
    chain_path,
    import_notes,
    open_log,
    reads_recording,
    recorded_model,
)
from holdfast.cli.ledger import show_ledger
from holdfast.cli.options import common_options, json_option
from holdfast.cli.overview import Overview, UsageComparison, compare_usage, make_overview
from holdfast.cli.streams import format_count, note, printable, track, write, write_json
from holdfast.cli.tables import name, number, print_heading, print_table, text, wrapped
from holdfast.errors import InputError
from holdfast.log import Log
from holdfast.messages import Json
from holdfast.packing.counting.families import family_for_model
from holdfast.recordings.json_lines import RecordingFile, check_complete
from holdfast.recordings.recording_files import scan_recordings
from holdfast.store import MemoryStore
from holdfast.tokenizers import counter_for_model

EXAMPLES = """\b
Examples:
  holdfast show recording.jsonl
  holdfast show sessions.jsonl.gz                 lists its recordings
  holdfast show sessions.jsonl.gz --id 2689c0e37d92
  holdfast show l0123456789ab --json | jq .rounds
  holdfast show recording.jsonl --ledger --budget 32k
  holdfast show recording.jsonl --ledger --at 41 --path src/app.py"""


class RecordingSummary(Struct, frozen=True):
    """What there is to show of one recording. `log` is its id in the store, empty for a file."""

    log: str
    title: str
    source: str
    model: str
    overview: Overview
    usage: UsageComparison | None
    notes: list[str]


@click.command(epilog=EXAMPLES)
@reads_recording(windowed=" (with --ledger).")
@click.option("--model", metavar="NAME", help="Count tokens as this model does; else as the recorded one.")
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
    if source.id is None and source.file is not None and _holds_several(source.file, source.format):
        _show_list(source.file, source.format, model, as_json)
        return
    summary = _summarise(open_log(ctx, source), source.chain, model, is_stored=source.file is None)
    if as_json:
        write_json(_as_json(summary))
    else:
        _show(summary)
    for sentence in summary.notes:
        note(f"import: {sentence}")


def _summarise(log: Log, chain: str, model: str | None, *, is_stored: bool) -> RecordingSummary:
    entries = log.entries()
    on_path = chain_path(entries, chain)
    model = model if model is not None else recorded_model(on_path)
    counter = counter_for_model(model)
    head = log.info.head
    usage, notes = compare_usage(on_path, counter), import_notes(entries)
    seen = make_overview(entries, on_path, counter)
    return RecordingSummary(log.id if is_stored else "", head.title, head.source, model, seen, usage, notes)


def _holds_several(file: Path, format_: str | None) -> bool:
    return len(list(islice(scan_recordings(file, format_), 2))) > 1


def _show_list(file: Path, format_: str | None, model: str | None, as_json: bool) -> None:
    rows: list[tuple[str, int, int, int, str]] = []
    opened = RecordingFile(file)
    with track(scan_recordings(opened, format_), "reading") as found:
        for unread in found:
            log = Log.import_recording(MemoryStore(), unread.read(), redact=str)
            one = _summarise(log, "", model, is_stored=False)
            seen = one.overview
            rows.append((unread.id, len(seen.rounds), seen.steps, seen.tokens, one.title))
    if as_json:
        keys = ("id", "rounds", "steps", "tokens", "title")
        write_json([dict(zip(keys, row, strict=True)) for row in rows])
    else:
        print_table([name("id"), number("rounds"), number("steps"), number("tokens"), text("title")], rows)
        note(f"{format_count(len(rows), 'recording')}; choose one with `--id`")
    check_complete([opened])


def _as_json(summary: RecordingSummary) -> Json:
    shown = msgspec.to_builtins(summary)
    return {**{key: value for key, value in shown.items() if key != "overview"}, **shown["overview"]}


def _show(summary: RecordingSummary) -> None:
    seen = summary.overview
    _show_head(summary)
    rows = [
        (r.number, _span(r.first, r.last), r.tokens, _names(r.calls), r.user or "(no user message)")
        for r in seen.rounds
    ]
    print_heading("rounds")
    print_table([number("#"), name("steps"), number("tokens"), wrapped("calls"), text("user")], rows)
    if seen.tools:
        print_heading("tools")
        _show_tools(seen)
    if summary.usage:
        print_heading(f"provider usage, {format_count(summary.usage.reports, 'report')}")
        _show_usage(summary.usage)
    _show_rest(seen)


def _show_head(summary: RecordingSummary) -> None:
    seen = summary.overview
    if summary.title:
        write(f"{printable(summary.title)}\n")
    where = f"log {summary.log}, " if summary.log else ""
    write(
        f"{where}{printable(summary.source) or 'live'}, counted as {family_for_model(summary.model).name}"
        f"{f' ({printable(summary.model)})' if summary.model else ''}\n"
        f"{format_count(len(seen.rounds), 'round')}, {format_count(seen.steps, 'step')}, "
        f"{format_count(seen.tokens, 'token')}, of which {seen.fixed_tokens:,} are system prompt and tools\n"
    )


def _show_tools(seen: Overview) -> None:
    columns = [
        name("kind"),
        number("calls"),
        number("errors"),
        number("arguments"),
        number("results"),
        wrapped("names"),
    ]
    rows = [
        (t.kind, t.calls, t.errors, t.argument_tokens, t.result_tokens, _names(t.names)) for t in seen.tools
    ]
    sums = [sum(column) for column in zip(*(row[1:5] for row in rows), strict=True)]
    print_table(columns, [*rows, ("total", *map(int, sums), "")], totals=1)


def _show_usage(usage: UsageComparison) -> None:
    columns = [name("prompt tokens"), number("median error"), number("p95"), number("last prompt")]
    last = usage.last
    rows = [
        ("reported", "", "", last.reported),
        ("counted", _percent(usage.counted_median), _percent(usage.counted_p95), last.counted),
        ("calibrated", _percent(usage.calibrated_median), _percent(usage.calibrated_p95), last.calibrated),
    ]
    print_table(columns, rows)


def _show_rest(seen: Overview) -> None:
    if seen.boundaries:
        print_heading("boundaries")
        columns = [number("after step"), name("kind"), name("trigger"), number("before"), number("summary")]
        rows = [
            (b.after_step, b.kind, b.trigger, b.tokens_before or "", b.summary_tokens or "")
            for b in seen.boundaries
        ]
        print_table(columns, rows)
    if seen.chains:
        print_heading("side chains")
        columns = [name("chain"), name("agent"), number("steps"), number("tokens"), text("title")]
        print_table(columns, [(c.name, c.agent, c.steps, c.tokens, c.title) for c in seen.chains])
    if seen.branches:
        left = format_count(seen.off_path, "entry", "entries")
        of = format_count(seen.branches, "branch", "branches")
        write(f"\n{left} of {of} {'is' if seen.off_path == 1 else 'are'} off the path\n")
    if seen.repairs:
        write(f"\n{format_count(len(seen.repairs), 'repair')} needed; `holdfast check` lists them\n")


def _span(first: int, last: int) -> str:
    return f"{first}-{last}" if last > first else str(first or "")


def _names(counts: dict[str, int]) -> str:
    return ", ".join(f"{tool} {count}" for tool, count in counts.items())


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"
