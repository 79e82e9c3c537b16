"""`holdfast check`: the validator on its own.

Rule: it repairs nothing. Messages in a provider's own format are judged as they are in the file, all others after
a translation one to one; it says what `pack` would repair.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import click
from msgspec import Struct
from msgspec.structs import asdict

from holdfast.cli.inputs import (
    RecordingInput,
    chain_path,
    entry_messages,
    note_import,
    open_log,
    reads_recording,
)
from holdfast.cli.options import common_options, json_option
from holdfast.cli.streams import note, printable, track, write, write_json
from holdfast.errors import InputError
from holdfast.events import Entry, Recording, SystemSet, ToolsSet
from holdfast.log import Log
from holdfast.messages import Json, Message, SystemMessage, ToolDefinition
from holdfast.numbers import counted
from holdfast.packing.validator import RULES, Provider, Violation, check, explain
from holdfast.recordings import detect_format, find_recording, read_recordings
from holdfast.recordings.json_lines import RecordingFile, decode_line, json_lines
from holdfast.recordings.opencode_database import is_database
from holdfast.recordings.recording_files import HEAD, format_of
from holdfast.store import MemoryStore
from holdfast.views import Repair, Transcript
from holdfast.wire.foreign_json import Losses
from holdfast.wire.formats import FORMATS
from holdfast.wire.message_checks import is_message
from holdfast.wire.message_lists import request_of

BROKEN = 1

EXAMPLES = """\b
Examples:
  holdfast check messages.json
  holdfast check recording.jsonl --provider anthropic
  holdfast check sessions.jsonl.gz --id 2689c0e37d92 --json

\b
Exit code 0 if no rule is broken, 1 if one is."""

PROVIDERS: tuple[Provider, ...] = tuple(RULES)
BOTH: tuple[Provider, ...] = ("openai", "anthropic")
"""Those that a recording of no provider's own format is judged by."""


class CheckedRequest(Struct, frozen=True):
    """One recording to judge. `raw` is set where the file is in the format of the provider `native`.

    `refusal` says why the recording could not be imported, although its messages could be read; `notes` what was
    repaired on the way.
    """

    id: str
    entries: Sequence[Entry] = ()
    native: str = ""
    raw: Json = None
    refusal: str = ""
    notes: Sequence[str] = ()

    def violations(self, provider: Provider) -> tuple[Violation, ...]:
        if self.native == provider:
            request = request_of(self.raw) if isinstance(self.raw, dict) else {"messages": self.raw}
            # Not `or ()`: an absent key and an empty list are different things to a provider.
            messages, system, tools = (request.get(key) for key in ("messages", "system", "tools"))
            return check(messages or [], provider, system=system, tools=tools)
        wire = FORMATS[provider].write_request(*_translated(self.entries))
        return check(wire.messages, provider, system=wire.system, tools=wire.tools or None)

    def providers(self, asked: str | None) -> tuple[Provider, ...]:
        """The provider that was named, else the one of the file, else both."""
        wanted = BOTH if asked in (None, "both") else (asked,)
        if asked is None and self.native:
            wanted = (self.native,)
        return tuple(p for p in PROVIDERS if p in wanted and (self.entries or p == self.native))

    def repairs(self) -> list[Repair]:
        transcript = Transcript(self.entries)
        waiting = [
            Repair("unanswered-call", step.entry, f"`{raw}` is not answered yet")
            for step in transcript.steps[-1:]
            for raw in step.waiting
        ]
        return [*transcript.repairs, *transcript.unplaced.values(), *waiting]


def _requests(ctx: click.Context, source: RecordingInput) -> Iterator[CheckedRequest]:
    """Every recording of a file, or the one with this id; or a log in the store."""
    path, format_, chain = source.file, source.format, source.chain
    if path is None:
        log = open_log(ctx, source)
        yield CheckedRequest(log.id, chain_path(log.entries(), chain))
        return
    chosen = find_recording(path, source.id, format_) if source.id is not None else None
    native = [r for r in _native_requests(path, format_, chain) if chosen is None or r.id == chosen.id]
    yield from native
    for recording in () if native else [chosen] if chosen else read_recordings(path, format_):
        yield CheckedRequest(recording.id, _entries(recording, chain), notes=recording.notes)


def _native_requests(path: Path, format_: str | None, chain: str) -> list[CheckedRequest]:
    """The requests as they are in the file, if it is in a provider's own format."""
    if is_database(path):
        return []
    source = RecordingFile(path)
    lines = json_lines(source)
    values: list[Json] = []
    for line in islice(lines, HEAD):
        values += decode_line(line.raw, source.name, line.number, Losses())
        if any(map(format_of, values)):
            break
    native = format_ or detect_format(values, source.name)
    if native not in PROVIDERS:
        return []
    values += [v for line in lines for v in decode_line(line.raw, source.name, line.number, Losses())]
    raws = [values] if is_message(values[0]) else [part for value in values for part in _several(value)]
    try:
        recordings = list(read_recordings(path, format_))
    except InputError as error:
        return [
            CheckedRequest(str(n), native=native, raw=raw, refusal=error.message)
            for n, raw in enumerate(raws)
        ]
    return [
        CheckedRequest(recording.id, _entries(recording, chain), native, raw, notes=recording.notes)
        for recording, raw in zip(recordings, raws, strict=True)
    ]


def _several(value: Json) -> list[Json]:
    """A list may be one recording's messages or a list of recordings."""
    return value if isinstance(value, list) and value and not is_message(value[0]) else [value]


def _entries(recording: Recording, chain: str) -> Sequence[Entry]:
    log = Log.import_recording(MemoryStore(), recording, redact=str)
    return chain_path(log.entries(), chain)


def _translated(entries: Sequence[Entry]) -> tuple[list[Message], tuple[ToolDefinition, ...]]:
    """The messages of a path one to one, with the newest system prompt and tools."""
    system = ""
    tools: tuple[ToolDefinition, ...] = ()
    messages: list[Message] = []
    for entry in entries:
        match entry.event:
            case SystemSet(text=text):
                system = text
            case ToolsSet():
                tools = entry.event.tools
            case _:
                messages += entry_messages(entry)
    return [*([SystemMessage(system)] if system else []), *messages], tools


class ValidationResult(Struct, frozen=True):
    """What one provider would object to in one recording, and what `pack` would repair in it."""

    recording: str
    provider: Provider
    violations: tuple[Violation, ...]
    repairs: list[Repair]
    refusal: str = ""


@click.command(epilog=EXAMPLES)
@reads_recording()
@click.option(
    "--provider",
    type=click.Choice([*PROVIDERS, "both"]),
    help="Apply these rules (default: those of the file's format, else `both`: OpenAI's chat and Anthropic).",
)
@json_option
@common_options
@click.pass_context
def command(ctx: click.Context, source: RecordingInput, provider: str | None, as_json: bool) -> None:
    """Check messages against the rules of providers.

    RECORDING is a file, or the id of a log in the store. OpenAI and Anthropic messages are judged as they are,
    other formats after a translation one to one. All recordings of a file are checked unless --id names one.
    """
    results: list[ValidationResult] = []
    notes: dict[str, None] = {}
    with track(_requests(ctx, source), "checking") as found:
        for request in found:
            repairs = request.repairs()
            results += [
                ValidationResult(request.id, judge, request.violations(judge), repairs, request.refusal)
                for judge in request.providers(provider)
            ]
            notes.update(dict.fromkeys(request.notes))
    if as_json:
        write_json([_as_json(result) for result in results])
    else:
        _show(results)
    note_import(notes)
    broken = sum(len(result.violations) for result in results)
    names = " and ".join(dict.fromkeys(result.provider for result in results))
    checked = counted(len({result.recording for result in results}), "recording")
    note(f"{counted(broken, 'violation')} in {checked}, by the rules of {names}")
    if broken:
        ctx.exit(BROKEN)


def _as_json(result: ValidationResult) -> dict[str, object]:
    violations = [{**asdict(v), "explanation": explain(v.rule)} for v in result.violations]
    repairs = [{"rule": r.rule, "detail": r.detail} for r in result.repairs]
    return {**asdict(result), "violations": violations, "repairs": repairs}


def _show(results: list[ValidationResult]) -> None:
    several = len({result.recording for result in results}) > 1
    repaired: set[str] = set()
    for result in results:
        lines = _violation_lines(result)
        if result.recording not in repaired:
            repaired.add(result.recording)
            if result.refusal:
                lines.append(f"`holdfast pack` cannot read it: {result.refusal}")
            elif result.repairs:
                lines.append("`holdfast pack` would repair:")
                lines += [f"  {repair.rule}: {repair.detail}" for repair in result.repairs]
        if lines and several:
            write(f"\nrecording {printable(result.recording)}\n")
        write("".join(f"{printable(line)}\n" for line in lines))


def _violation_lines(result: ValidationResult) -> list[str]:
    """By rule, each with what it demands."""
    by_rule: dict[str, list[Violation]] = {}
    for violation in result.violations:
        by_rule.setdefault(violation.rule, []).append(violation)
    lines: list[str] = []
    for rule, violations in by_rule.items():
        lines.append(f"{rule}: {explain(rule)}")
        for violation in violations:
            where = "request" if violation.index is None else f"message {violation.index}"
            lines.append(f"  {where}: {violation.message}")
    return lines
