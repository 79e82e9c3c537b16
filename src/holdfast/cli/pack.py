"""`holdfast pack`: what an agent would send, from a recording and a budget.

Rule: the messages are the only thing on stdout. Every id that is printed can be recalled, or a note says why not.
The report for people fits eighty columns and one screen; all cuts and folds are listed only on request.
"""

import sys
import time
from collections.abc import Sequence
from typing import get_args

import click
from msgspec.structs import asdict

from holdfast.cli.inputs import (
    RecordingInput,
    RecordingWindow,
    how_counted,
    note_import,
    reads_recording,
    walk_recording,
)
from holdfast.cli.options import common_options, json_option
from holdfast.cli.streams import note, say, write_json
from holdfast.cli.tables import (
    Cell,
    name,
    number,
    say_table,
    say_truncated,
    say_wrapped,
    text,
    truncate,
    width_of,
)
from holdfast.events import Folded
from holdfast.messages import Json
from holdfast.numbers import counted, group_digits
from holdfast.packing.layers import Cut, Pack
from holdfast.packing.pack import pack
from holdfast.packing.view import WindowView
from holdfast.sender import Packed, Provider, Sender
from holdfast.store import MemoryStore
from holdfast.views import FrozenTranscript, Step

EXAMPLES = """\b
Examples:
  holdfast pack recording.jsonl --budget 32k > messages.json
  holdfast pack recording.jsonl --at 40 --profile review --explain
  holdfast pack sessions.jsonl.gz --id 2689c0e37d92 --to anthropic
  holdfast pack l0123456789ab --budget 16k --json | jq .layers

\b
Exit code 5 if what may not be cut does not fit the budget."""

MOST_KINDS = 10
"""Kinds of cuts that have a row of their own."""
_WORDS = {"assistant text": "assistant texts", "user message": "user messages", "thinking": "thinking"}


@click.command(epilog=EXAMPLES)
@reads_recording(windowed=".")
@click.option(
    "--model", metavar="NAME", help="Count tokens as this model does (default: the recorded model)."
)
@click.option(
    "--to",
    type=click.Choice(list(get_args(Provider))),
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
    sent = Sender(to).send(pack(window.view()), log.store, log.id)
    for fold in folds if not no_store else ():
        log.keep_indices(fold)
    seconds = time.perf_counter() - began
    if as_json:
        write_json(_as_json(walked, sent, is_stored=not no_store))
    elif to == "openai":
        write_json(sent.messages)
    else:
        # Anthropic has the system prompt beside the messages.
        write_json({**({"system": sent.system} if sent.system else {}), "messages": sent.messages})
    by_kind = is_explained or lists_cuts
    say_report(walked, sent.pack, seconds, by_kind=by_kind, in_full=lists_cuts, is_stored=not no_store)
    if by_kind:
        for loss in sent.losses:
            note(f"not in {sent.provider}'s format: {loss}")
    if sent.pack.cuts and not lists_cuts:
        kinds = "" if is_explained else ", `--explain` the kinds of cuts"
        note(f"`--cuts` lists every cut and fold{kinds}")
    note_import(walked.notes)
    if no_store and sent.pack.cuts:
        which = "what was cut" if isinstance(log.store, MemoryStore) else "what notes left out"
        note(f"nothing was stored, so {which} cannot be recalled later")


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
        "notes": [*walked.notes, *packed.notes],
        "losses": sent.losses,
    }


def tokens_before(window: WindowView) -> int:
    """What the whole conversation and the pinned layers would take: the same number that `show` prints."""
    items, counter = window.transcript.items, window.counter
    fixed = window.fixed_tokens["stable"] + window.fixed_tokens["tools"]
    return fixed + sum(
        counter.message(item.message) + (counter.messages(item.answers()) if isinstance(item, Step) else 0)
        for item in items
    )


def say_report(
    walked: RecordingWindow, pack: Pack, seconds: float, *, by_kind: bool, in_full: bool, is_stored: bool
) -> None:
    """The size, the layers and why it is no larger; what was cut by kind or `in_full`; how to get it back."""
    window, folds = walked.window.view(), walked.folds
    before = tokens_before(window)
    share = f" ({pack.tokens / before:.0%})" if before else ""
    say(f"{counted(before, 'token')} before packing, {pack.tokens:,} after{share}, in {seconds:.1f} s")
    say("")
    _say_layers(pack)
    if pack.cuts and by_kind:
        say("")
        _say_kinds(pack.cuts)
    say("")
    say(
        f"budget {pack.budget:,}, limit {pack.limit:,}, "
        f"trigger {pack.trigger:,} (profile {window.profile.name}); "
        f"{counted(len(folds), 'fold')}, {counted(len(pack.cuts), 'cut')}"
    )
    say_wrapped(_why_smaller(window, pack, folds))
    say(how_counted(walked.model))
    if pack.cuts and is_stored:
        largest = max(pack.cuts, key=lambda cut: cut.before - cut.after)
        head = f"get it back: `holdfast recall {largest.id}` ({counted(largest.before, 'token')}: "
        say(f"{head}{truncate(largest.what, width_of(sys.stderr) - len(head) - 1)})")
    if in_full:
        _say_folds(window.transcript, folds)
        _say_cuts(pack.cuts)
    if pack.notes and (by_kind or in_full):
        say("")
        say("repairs")
        for repair in pack.notes:
            say(f"  {repair}")


def _say_layers(pack: Pack) -> None:
    """One column a layer, in the order in which they are sent."""
    first, *rest = [(layer.name, len(layer.messages), layer.tokens) for layer in pack.layers]
    tools, total = ("tools", "", pack.tool_tokens), ("total", len(pack.messages), pack.tokens)
    layers: list[tuple[str, Cell, int]] = [first, tools, *rest, total]
    titles, messages, tokens = zip(*layers, strict=True)
    say_table([name("layer"), *map(number, titles)], [("messages", *messages), ("tokens", *tokens)])


def _why_smaller(window: WindowView, pack: Pack, folds: Sequence[Folded]) -> str:
    starts = f"a fold starts at {pack.trigger:,} tokens" + (
        ", the reply included," if window.profile.reply_in_trigger else ""
    )
    if not folds:
        return f"nothing was folded: {starts.rstrip(',')}"
    depth = f"goes down to {window.low_water:,} or less"
    if not window.profile.excerpt_ratio:
        depth = f"leaves the newest {window.profile.keep} {window.profile.keep_unit} whole while they fit"
    return (
        f"smaller than the budget, because {pack.budget - pack.limit:,} tokens stay free for the reply, and "
        f"{starts} and {depth}: "
        "until the next one, requests only grow at their end, so the provider's cache holds"
    )


def _say_kinds(cuts: Sequence[Cut]) -> None:
    """The cuts of the same thing by the same rule, those that saved most first."""
    by_kind: dict[tuple[str, str], list[Cut]] = {}
    for cut in cuts:
        what = _WORDS.get(cut.what) or f"{cut.what.split(' ', 1)[0]} results"
        if cut.rule.startswith("call-"):
            what = "arguments of calls"
        by_kind.setdefault((what, cut.rule), []).append(cut)
    kinds = sorted(by_kind.items(), key=lambda kind: sum(cut.after - cut.before for cut in kind[1]))
    rows = [(*kind, *_sums(found)) for kind, found in kinds[:MOST_KINDS]]
    if rest := kinds[MOST_KINDS:]:
        rest_sums = _sums([cut for _, found in rest for cut in found])
        rows.append((counted(len(rest), "more kind"), "", *rest_sums))
    columns = [text("what was cut"), name("rule"), number("count"), number("tokens before"), number("after")]
    say_table(columns, [*rows, ("total", "", *_sums(cuts))], totals=1)


def _sums(cuts: Sequence[Cut]) -> tuple[int, int, int]:
    return len(cuts), sum(cut.before for cut in cuts), sum(cut.after for cut in cuts)


def _say_folds(transcript: FrozenTranscript, folds: Sequence[Folded]) -> None:
    numbers = {step.entry: step.number + 1 for step in transcript.steps}
    for count, fold in enumerate(folds, 1):
        sizes = f"{fold.tokens_before:,} → {fold.tokens_after:,} tokens"
        say("")
        say(f"fold {count}, {fold.reason}: {group_digits(fold.why)}, {sizes}")
        for run in fold.runs:
            first, last = numbers.get(run.first, 0), numbers.get(run.last, 0)
            steps = f"step {first}" if first == last else f"steps {first}-{last}"
            cap = f", at most {run.cap:,} tokens a result" if run.cap else ""
            say(f"  {steps} → {run.level}{cap}")
        for one in fold.notes:
            say(f"  {one.text}")
        if fold.users:
            say(f"  {counted(len(fold.users), 'user message')} shortened")


def _say_cuts(cuts: Sequence[Cut]) -> None:
    """One line a cut. What it was comes last: it is the only part without a fixed width."""
    if not cuts:
        return
    say("")
    say("cuts: tokens before → after (in its place and in notes), rule, id, what")
    width = max(len(f"{cut.before:,}") for cut in cuts)
    rules = max(len(cut.rule) for cut in cuts)
    for cut in cuts:
        sizes = f"{cut.before:>{width},} → {cut.after:<{width},}"
        say_truncated(f"{sizes}  {cut.rule:{rules}}  {cut.id:13}  {cut.what}")
