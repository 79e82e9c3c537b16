"""`holdfast pack`: what an agent would send, from a recording and a budget.

Rule: the messages are the only thing on stdout. Every id that is printed can be recalled, or a note says why not.
"""

import time

import click
from msgspec.structs import asdict

from holdfast.cli.inputs import (
    RecordingInput,
    RecordingWindow,
    import_notes,
    note_import,
    reads_recording,
    walk_recording,
)
from holdfast.cli.options import common_options, json_option
from holdfast.cli.pack_report import say_report, tokens_before
from holdfast.cli.streams import note, write_json
from holdfast.messages import Json
from holdfast.packing.pack import pack
from holdfast.sender import Packed, Provider, Sender
from holdfast.store import MemoryStore

EXAMPLES = """\b
Examples:
  holdfast pack recording.jsonl --budget 32k > messages.json
  holdfast pack recording.jsonl --at 40 --profile review --explain
  holdfast pack sessions.jsonl.gz --id 2689c0e37d92 --to anthropic
  holdfast pack l0123456789ab --budget 16k --json | jq .layers

\b
Exit code 5 if what may not be cut does not fit the budget."""


@click.command(epilog=EXAMPLES)
@reads_recording(windowed=".")
@click.option("--model", metavar="NAME", help="Count tokens as this model does; else as the recorded one.")
@click.option(
    "--to",
    type=click.Choice(["openai", "anthropic"]),
    default="openai",
    help="Print messages in this provider's format.",
)
@click.option("--explain", "is_explained", is_flag=True, help="Say on stderr what was cut, by kind.")
@click.option("--cuts", "lists_cuts", is_flag=True, help="List every cut and every fold on stderr.")
@click.option("--no-store", is_flag=True, help="Store nothing; then no id can be recalled later.")
@json_option
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    source: RecordingInput,
    model: str | None,
    to: Provider,
    is_explained: bool,
    lists_cuts: bool,
    no_store: bool,
    as_json: bool,
) -> None:
    """Pack a recording into a budget, as messages to send.

    RECORDING is a file, or the id of a log in the store. The messages are printed as JSON on stdout, a summary on
    stderr. The recording is stored without its secrets, so that every cut can be recalled.
    """
    began = time.perf_counter()
    walked = walk_recording(ctx, source, model, keep=not no_store)
    log, window, folds = walked.log, walked.window, walked.folds
    sent = Sender(to, log.store, log.id).send(pack(window.view()))
    for fold in folds if not no_store else ():
        log.keep_indices(fold)
    seconds = time.perf_counter() - began
    write_json(_as_json(walked, sent, is_stored=not no_store) if as_json else _request(sent))
    say_report(
        walked,
        sent.pack,
        seconds,
        by_kind=is_explained or lists_cuts,
        in_full=lists_cuts,
        is_stored=not no_store,
    )
    if is_explained or lists_cuts:
        for loss in sent.losses:
            note(f"not in {sent.provider}'s format: {loss}")
    if sent.pack.cuts and not lists_cuts:
        note(
            "`--cuts` lists every cut and fold" + ("" if is_explained else ", `--explain` the kinds of cuts")
        )
    note_import(walked.entries)
    if no_store and sent.pack.cuts:
        which = "what was cut" if isinstance(log.store, MemoryStore) else "what notes left out"
        note(f"nothing was stored, so {which} cannot be recalled later")


def _request(sent: Packed) -> Json:
    """The part of a request that a pack is: Anthropic has the system prompt beside the messages."""
    if sent.provider == "openai":
        return sent.messages
    return {**({"system": sent.system} if sent.system else {}), "messages": sent.messages}


def _as_json(walked: RecordingWindow, sent: Packed, *, is_stored: bool) -> Json:
    packed = sent.pack
    layers = [{"name": la.name, "messages": len(la.messages), "tokens": la.tokens} for la in packed.layers]
    return {
        "log": walked.log.id,
        "stored": is_stored,
        "format": sent.provider,
        "model": walked.model,
        "profile": walked.profile.name,
        "budget": packed.budget,
        "limit": packed.limit,
        "trigger": packed.trigger,
        "tokens": packed.tokens,
        "tokens_before": tokens_before(walked.window.view()),
        "tool_tokens": packed.tool_tokens,
        "system": sent.system,
        "messages": sent.messages,
        "tools": sent.tools,
        "layers": layers,
        "cuts": [asdict(cut) for cut in packed.cuts],
        "folds": walked.folds,
        "notes": [*import_notes(walked.entries), *packed.notes],
        "losses": sent.losses,
    }
