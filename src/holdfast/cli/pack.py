"""`holdfast pack`: what an agent would send, from a recording and a budget.

Rule: the messages are the only thing on stdout, and every id that is said can be recalled, or it is said that not.
"""

import click
from msgspec import Struct
from msgspec.structs import asdict

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
from holdfast.cli.options import common_options, json_option, profile_option, recording_options
from holdfast.cli.pack_report import explain, summarise, tokens_before
from holdfast.cli.streams import note, write_json
from holdfast.events import Folded
from holdfast.log import Log
from holdfast.messages import Json
from holdfast.packing.pack import pack
from holdfast.packing.window import Window
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


class PackRun(Struct, frozen=True):
    """A pack with all that is said about it."""

    log: Log
    window: Window
    sent: Packed
    folds: list[Folded]
    model: str
    notes: list[str]
    kept: bool


@click.command(epilog=EXAMPLES)
@recording_options
@click.option(
    "--at", "step", metavar="STEP", type=click.IntRange(min=1), help="As before the reply of this step."
)
@click.option("--budget", metavar="TOKENS", help="The window, such as 32k; else the profile's.")
@profile_option
@click.option("--model", metavar="NAME", help="Count tokens as this model does; else the recording's.")
@click.option(
    "--to", type=click.Choice(["openai", "anthropic"]), default="openai", help="The shape of the messages."
)
@click.option("--explain", "explained", is_flag=True, help="Also every cut and every fold, on stderr.")
@click.option("--no-store", is_flag=True, help="Store nothing; then no id can be recalled later.")
@json_option
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    recording: str,
    id_: str | None,
    format_: str | None,
    chain: str,
    step: int | None,
    budget: str | None,
    profile: str,
    model: str | None,
    to: Provider,
    explained: bool,
    no_store: bool,
    as_json: bool,
) -> None:
    """Pack a recording under a budget, as messages to send.

    RECORDING is a file, or the id of a log in the store. The messages come as JSON on stdout, the sizes of their
    layers on stderr. The recording is stored, secrets removed, so that each id can be recalled.
    """
    settings = choose_profile(profile, budget)
    choice = RecordingChoice(recording, id_, format_, chain)
    log = open_log(ctx, choice, keep=not no_store, redact=None if settings.redact else str)
    entries = log.entries()
    whole = chain_path(entries, chain)
    model = model if model is not None else recorded_model(whole)
    window, folds = build_window(entries_before_step(whole, step), settings, model)
    sent = Sender(to, log.store, log.id).send(pack(window))
    made = PackRun(log, window, sent, folds, model, import_notes(entries), kept=not no_store)
    for fold in folds if not no_store else ():
        log.keep_indices(fold)
    if as_json:
        write_json(_as_json(made))
    else:
        write_json(_request(sent))
    _tell(made, explained)


def _request(sent: Packed) -> Json:
    """The part of a request that a pack is: Anthropic has the system prompt beside the messages."""
    if sent.provider == "openai":
        return sent.messages
    return {**({"system": sent.system} if sent.system else {}), "messages": sent.messages}


def _as_json(made: PackRun) -> Json:
    sent, packed = made.sent, made.sent.pack
    layers = [{"name": la.name, "messages": len(la.messages), "tokens": la.tokens} for la in packed.layers]
    return {
        "log": made.log.id,
        "stored": made.kept,
        "format": sent.provider,
        "model": made.model,
        "profile": made.window.profile.name,
        "budget": packed.budget,
        "limit": packed.limit,
        "trigger": packed.trigger,
        "tokens": packed.tokens,
        "tokens_before": tokens_before(made.window),
        "tool_tokens": packed.tool_tokens,
        "system": sent.system,
        "messages": sent.messages,
        "tools": sent.tools,
        "layers": layers,
        "cuts": [asdict(cut) for cut in packed.cuts],
        "folds": made.folds,
        "notes": [*made.notes, *packed.notes],
        "losses": sent.losses,
    }


def _tell(made: PackRun, explained: bool) -> None:
    packed = made.sent.pack
    summarise(made.window, packed, made.folds, made.model)
    if explained:
        explain(made.window.transcript, packed, made.folds)
        for loss in made.sent.losses:
            note(f"not in {made.sent.provider}'s format: {loss}")
    elif packed.cuts or packed.notes:
        note("`--explain` lists every cut, fold and repair")
    for sentence in made.notes:
        note(f"import: {sentence}")
    if not made.kept and packed.cuts:
        which = "the ids" if isinstance(made.log.store, MemoryStore) else "ids of notes"
        note(f"nothing was stored, so {which} cannot be recalled later")
