"""A file as requests to a provider, unrepaired: what the validator judges for `holdfast check`.

Rule: messages that are in a provider's own shape are judged as they stand in the file; all others are translated
one to one first.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import click
from msgspec import Struct

from holdfast.cli.inputs import RecordingChoice, chain_path, open_log
from holdfast.cli.options import common_options, json_option, recording_options
from holdfast.cli.streams import format_count, note, printable, track, write, write_json
from holdfast.errors import InputError
from holdfast.events import AssistantReplied, Entry, Recording, SystemSet, ToolReturned, ToolsSet, UserSaid
from holdfast.log import Log
from holdfast.messages import (
    AssistantMessage,
    Json,
    Message,
    SystemMessage,
    ToolDefinition,
    ToolMessage,
    UserMessage,
)
from holdfast.packing.validator import Provider, Violation, check, explain
from holdfast.recordings import detect_format, find_recording, read_recordings
from holdfast.recordings.json_lines import RecordingFile, decode_line, json_lines
from holdfast.recordings.recording_files import HEAD, format_of
from holdfast.store import MemoryStore
from holdfast.views import Repair, Transcript
from holdfast.wire import to_anthropic, to_openai
from holdfast.wire.foreign_json import Losses
from holdfast.wire.message_lists import is_message, request_of

PROVIDERS: tuple[Provider, ...] = ("openai", "anthropic")


class CheckedRequest(Struct, frozen=True):
    """One recording to judge. `raw` is set where the file is in the shape of the provider `native`.

    `refusal` says why the recording could not be read, though its messages could be; `notes` what was forgiven.
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
        write = to_openai if provider == "openai" else to_anthropic
        wire = write(*_spoken(self.entries))
        return check(wire.messages, provider, system=wire.system, tools=wire.tools or None)

    def providers(self, asked: str | None) -> tuple[Provider, ...]:
        """Those asked for, or else the file's own, or else both."""
        wanted = PROVIDERS if asked in (None, "both") else (asked,)
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


def requests_in(path: Path, id_: str | None, format_: str | None, chain: str) -> Iterator[CheckedRequest]:
    """Every recording of a file, or the one with this id."""
    if id_ is not None:
        chosen = find_recording(path, id_, format_)
        native = [r for r in _native_requests(path, format_, chain) if r.id == chosen.id]
        yield from native or [CheckedRequest(chosen.id, _entries(chosen, chain), notes=chosen.notes)]
        return
    native = _native_requests(path, format_, chain)
    if native:
        yield from native
        return
    for recording in read_recordings(path, format_):
        yield CheckedRequest(recording.id, _entries(recording, chain), notes=recording.notes)


def _native_requests(path: Path, format_: str | None, chain: str) -> list[CheckedRequest]:
    """The file's requests as they stand, if it is in a provider's own shape."""
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


def _spoken(entries: Sequence[Entry]) -> tuple[list[Message], tuple[ToolDefinition, ...]]:
    """The messages of a path one to one, with the newest system prompt and tools."""
    system = ""
    tools: tuple[ToolDefinition, ...] = ()
    messages: list[Message] = []
    for entry in entries:
        event = entry.event
        match event:
            case SystemSet():
                system = event.text
            case ToolsSet():
                tools = event.tools
            case UserSaid():
                messages.append(UserMessage(event.parts))
            case AssistantReplied():
                messages.append(AssistantMessage(event.parts))
            case ToolReturned():
                messages.append(ToolMessage(event.call_id, event.name, event.parts, event.error))
            case _:
                pass
    return [*([SystemMessage(system)] if system else []), *messages], tools


# `holdfast check`: the validator on its own.
#
# Rule: it judges what is in the file and repairs nothing; it says what `pack` would repair.

BROKEN = 1

EXAMPLES = """\b
Examples:
  holdfast check messages.json
  holdfast check recording.jsonl --provider anthropic
  holdfast check sessions.jsonl.gz --id 2689c0e37d92 --json

\b
Exit code 0 if no rule is broken, 1 if one is."""


class ValidationResult(Struct, frozen=True):
    """What one provider would say to one recording, and what `pack` would change before it is asked."""

    recording: str
    provider: Provider
    violations: tuple[Violation, ...]
    repairs: list[Repair]
    refusal: str = ""


@click.command(epilog=EXAMPLES)
@recording_options
@click.option(
    "--provider",
    type=click.Choice(["openai", "anthropic", "both"]),
    help="Whose rules; else the file's own provider, else both.",
)
@json_option
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    recording: str,
    id_: str | None,
    format_: str | None,
    chain: str,
    provider: str | None,
    as_json: bool,
) -> None:
    """Check messages against the rules of providers.

    RECORDING is a file, or the id of a log in the store. OpenAI and Anthropic messages are judged as they stand,
    other formats as messages one to one; all recordings of a file unless --id names one.
    """
    requests = _requests_of(ctx, RecordingChoice(recording, id_, format_, chain))
    verdicts: list[ValidationResult] = []
    notes: dict[str, None] = {}
    with track(requests, "checking") as found:
        for request in found:
            verdicts += _verdicts(request, provider)
            notes.update(dict.fromkeys(request.notes))
    if as_json:
        write_json([_as_json(verdict) for verdict in verdicts])
    else:
        _show(verdicts)
    for sentence in notes:
        note(f"import: {sentence}")
    if _tell(verdicts):
        ctx.exit(BROKEN)


def _requests_of(ctx: click.Context, choice: RecordingChoice) -> Iterable[CheckedRequest]:
    if choice.file is not None:
        return requests_in(choice.file, choice.id, choice.format, choice.chain)
    log = open_log(ctx, choice)
    return [CheckedRequest(log.id, chain_path(log.entries(), choice.chain))]


def _verdicts(request: CheckedRequest, provider: str | None) -> Iterable[ValidationResult]:
    repairs = request.repairs()
    for judge in request.providers(provider):
        yield ValidationResult(request.id, judge, request.violations(judge), repairs, request.refusal)


def _tell(verdicts: list[ValidationResult]) -> int:
    """Says how many rules are broken, and where; the number."""
    broken = sum(len(verdict.violations) for verdict in verdicts)
    names = " and ".join(dict.fromkeys(verdict.provider for verdict in verdicts))
    checked = format_count(len({verdict.recording for verdict in verdicts}), "recording")
    note(f"{format_count(broken, 'violation')} in {checked}, by the rules of {names}")
    return broken


def _as_json(verdict: ValidationResult) -> dict[str, object]:
    violations = [
        {
            "rule": v.rule,
            "index": v.index,
            "message": v.message,
            "id": v.id,
            "explanation": explain(v.rule),
        }
        for v in verdict.violations
    ]
    return {
        "recording": verdict.recording,
        "provider": verdict.provider,
        "violations": violations,
        "repairs": [{"rule": r.rule, "detail": r.detail} for r in verdict.repairs],
        "refusal": verdict.refusal,
    }


def _show(verdicts: list[ValidationResult]) -> None:
    several = len({verdict.recording for verdict in verdicts}) > 1
    mended: set[str] = set()
    for verdict in verdicts:
        lines = _violation_lines(verdict)
        if verdict.recording not in mended:
            mended.add(verdict.recording)
            lines += _repair_lines(verdict)
        if lines and several:
            write(f"\nrecording {printable(verdict.recording)}\n")
        write("".join(f"{printable(line)}\n" for line in lines))


def _violation_lines(verdict: ValidationResult) -> list[str]:
    """By rule, each with what it demands."""
    by_rule: dict[str, list[Violation]] = {}
    for violation in verdict.violations:
        by_rule.setdefault(violation.rule, []).append(violation)
    lines: list[str] = []
    for rule, violations in by_rule.items():
        lines.append(f"{rule}: {explain(rule)}")
        for violation in violations:
            where = "request" if violation.index is None else f"message {violation.index}"
            lines.append(f"  {where}: {violation.message}")
    return lines


def _repair_lines(verdict: ValidationResult) -> list[str]:
    if verdict.refusal:
        return [f"`holdfast pack` cannot read it: {verdict.refusal}"]
    if not verdict.repairs:
        return []
    return ["`holdfast pack` would repair:", *(f"  {r.rule}: {r.detail}" for r in verdict.repairs)]
