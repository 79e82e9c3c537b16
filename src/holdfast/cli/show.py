"""`holdfast show`: a recording at a glance, or the list of recordings in a file.

Rule: it stores nothing.
"""

from collections.abc import Sequence
from itertools import islice

import click
import msgspec
from msgspec import Struct

from holdfast.cli.inputs import RecordingChoice, chain_path, import_notes, open_log, recorded_model
from holdfast.cli.ledger import LedgerOptions, ledger_options, refuse, show_ledger
from holdfast.cli.options import common_options, json_option, recording_options
from holdfast.cli.overview import Overview, UsageComparison, compare_usage, overview
from holdfast.cli.streams import format_count, format_number, note, printable, track, write, write_json
from holdfast.cli.tables import name, number, print_heading, print_table, text, wrapped
from holdfast.events import Entry, Recording
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
    seen: Overview
    usage: UsageComparison | None
    notes: list[str]


@click.command(epilog=EXAMPLES)
@recording_options
@click.option("--model", metavar="NAME", help="Count tokens as this model does; else the recording's.")
@click.option("--ledger", is_flag=True, help="Which results and files are still in the window, and how.")
@ledger_options
@json_option
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    recording: str,
    id_: str | None,
    format_: str | None,
    chain: str,
    model: str | None,
    ledger: bool,
    step: int | None,
    budget: str | None,
    profile: str,
    path: str,
    as_json: bool,
) -> None:
    """Show rounds, steps, tools and tokens at a glance.

    RECORDING is a file, or the id of a log in the store. A file with several recordings is listed unless --id names
    one of them. With --ledger it goes through the recording as `pack` does, and shows what is left of each result.
    """
    choice = RecordingChoice(recording, id_, format_, chain)
    look = LedgerOptions(model, step, budget, profile, path)
    if ledger:
        show_ledger(ctx, choice, look, as_json)
        return
    refuse(look)
    if id_ is None and choice.file is not None and _holds_several(choice):
        _show_list(choice, model, as_json)
        return
    log = open_log(ctx, choice)
    sight = _sight(log, chain, model, stored=choice.file is None)
    if as_json:
        write_json(_as_json(sight))
    else:
        _show(sight)
    for sentence in sight.notes:
        note(f"import: {sentence}")


def _sight(log: Log, chain: str, model: str | None, *, stored: bool) -> RecordingSummary:
    entries = log.entries()
    on_path = chain_path(entries, chain)
    model = model if model is not None else recorded_model(on_path)
    counter = counter_for_model(model)
    head = log.info.head
    seen = overview(entries, on_path, counter)
    usage, notes = compare_usage(on_path, counter), import_notes(entries)
    return RecordingSummary(log.id if stored else "", head.title, head.source, model, seen, usage, notes)


def _holds_several(choice: RecordingChoice) -> bool:
    assert choice.file is not None, "only a file holds recordings"
    return len(list(islice(scan_recordings(choice.file, choice.format), 2))) > 1


def _show_list(choice: RecordingChoice, model: str | None, as_json: bool) -> None:
    assert choice.file is not None, "only a file holds recordings"
    rows: list[tuple[str, int, int, int, str]] = []
    file = RecordingFile(choice.file)
    with track(scan_recordings(file, choice.format), "reading") as found:
        for unread in found:
            recording = unread.read()
            seen = _listed(recording, model)
            title = recording.events[0].event
            rows.append((unread.id, len(seen.rounds), seen.steps, seen.tokens, getattr(title, "title", "")))
    if as_json:
        keys = ("id", "rounds", "steps", "tokens", "title")
        write_json([dict(zip(keys, row, strict=True)) for row in rows])
    else:
        print_table([name("id"), number("rounds"), number("steps"), number("tokens"), text("title")], rows)
        note(f"{format_count(len(rows), 'recording')}; choose one with `--id`")
    check_complete([file])


def _listed(recording: Recording, model: str | None) -> Overview:
    entries: Sequence[Entry] = Log.import_recording(MemoryStore(), recording, redact=str).entries()
    on_path = chain_path(entries, "")
    return overview(
        entries, on_path, counter_for_model(model if model is not None else recorded_model(on_path))
    )


def _as_json(sight: RecordingSummary) -> Json:
    shown = msgspec.to_builtins(sight)
    return {**{key: value for key, value in shown.items() if key != "seen"}, **shown["seen"]}


def _show(sight: RecordingSummary) -> None:
    seen = sight.seen
    _show_head(sight)
    rows = [
        (r.number, _span(r.first, r.last), r.tokens, _names(r.calls), r.user or "(no user message)")
        for r in seen.rounds
    ]
    print_heading("rounds")
    print_table([number("#"), name("steps"), number("tokens"), wrapped("calls"), text("user")], rows)
    if seen.tools:
        print_heading("tools")
        _show_tools(seen)
    if sight.usage:
        print_heading(f"provider usage, {format_count(sight.usage.reports, 'report')}")
        _show_usage(sight.usage)
    _show_rest(seen)


def _show_head(sight: RecordingSummary) -> None:
    seen = sight.seen
    if sight.title:
        write(f"{printable(sight.title)}\n")
    where = f"log {sight.log}, " if sight.log else ""
    write(
        f"{where}{printable(sight.source) or 'live'}, counted as {family_for_model(sight.model).name}"
        f"{f' ({printable(sight.model)})' if sight.model else ''}\n"
        f"{format_count(len(seen.rounds), 'round')}, {format_count(seen.steps, 'step')}, "
        f"{format_count(seen.tokens, 'token')}, of which {format_number(seen.fixed_tokens)} are system prompt and tools\n"
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
        left = f"{format_count(seen.off_path, 'entry', 'entries')} of {format_count(seen.branches, 'branch', 'branches')}"
        write(f"\n{left} {'lies' if seen.off_path == 1 else 'lie'} off the path\n")
    if seen.repairs:
        write(f"\n{format_count(len(seen.repairs), 'repair')} needed; `holdfast check` lists them\n")


def _span(first: int, last: int) -> str:
    return f"{first}-{last}" if last > first else str(first or "")


def _names(counts: dict[str, int]) -> str:
    return ", ".join(f"{tool} {count}" for tool, count in counts.items())


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"
