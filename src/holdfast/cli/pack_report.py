"""The report of a pack, for people: its size, its layers, what was cut by kind, and how to get it back.

Rule: it fits eighty columns and one screen. The full list of cuts and folds is printed only on request.
"""

from collections.abc import Sequence

from msgspec import Struct

from holdfast.cli.inputs import RecordingWindow
from holdfast.cli.streams import say
from holdfast.cli.tables import Cell, name, number, say_table, say_truncated, say_wrapped, text
from holdfast.events import Folded, FoldedRun
from holdfast.numbers import counted, group_digits
from holdfast.packing.counting.families import family_for_model
from holdfast.packing.layers import Cut, Pack
from holdfast.packing.view import WindowView
from holdfast.views import FrozenTranscript, Step

MOST_KINDS = 10
"""Kinds of cuts that have a row of their own."""
_WORDS = {"assistant text": "assistant texts", "user message": "user messages", "thinking": "thinking"}


class CutKind(Struct):
    """Cuts of the same thing by the same rule."""

    what: str
    rule: str
    count: int = 0
    before: int = 0
    after: int = 0


def tokens_before(window: WindowView) -> int:
    """What the whole conversation and the pinned layers would take: the same number that `show` prints."""
    counter, transcript = window.counter, window.transcript
    fixed = window.fixed_tokens
    total = fixed["stable"] + fixed["tools"]
    for item in transcript.items:
        total += counter.message(item.message)
        if isinstance(item, Step):
            total += counter.messages(item.answers())
    return total


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
    say(_how_counted(walked.model))
    if pack.cuts and is_stored:
        largest = max(pack.cuts, key=lambda cut: cut.before - cut.after)
        size = counted(largest.before, "token")
        say_truncated(f"get it back: `holdfast recall {largest.id}` ({size}: {largest.what})", always=True)
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
    reply = pack.budget - pack.limit
    if not folds:
        return f"nothing was folded: a fold starts at {pack.trigger:,} tokens"
    return (
        f"smaller than the budget, because {reply:,} tokens stay free for the reply, and a fold starts at "
        f"{pack.trigger:,} tokens and goes down to {window.profile.low_water:,} or less: "
        "until the next one, requests only grow at their end, so the provider's cache holds"
    )


def _how_counted(model: str) -> str:
    """The vocabulary that was counted in, and how far an estimate may be off."""
    family = family_for_model(model)
    if not model:
        return f"counted in {family.vocabulary}, because the recording names no model"
    if family.exact:
        return f"counted as {family.name} ({model}), in its own vocabulary"
    bound = f"within {family.bound.largest / 10:.0f} % for 19 texts of 20"
    return f"counted as {family.name} ({model}), an estimate: {bound}"


def _say_kinds(cuts: Sequence[Cut]) -> None:
    """The cuts by kind, those that saved most first."""
    kinds = sorted(_kinds(cuts), key=lambda kind: kind.after - kind.before)
    rows = [(k.what, k.rule, k.count, k.before, k.after) for k in kinds[:MOST_KINDS]]
    if rest := kinds[MOST_KINDS:]:
        rows.append((counted(len(rest), "more kind"), "", *_sums(rest)))
    columns = [text("what was cut"), name("rule"), number("count"), number("tokens before"), number("after")]
    say_table(columns, [*rows, ("total", "", *_sums(kinds))], totals=1)


def _sums(kinds: Sequence[CutKind]) -> tuple[int, int, int]:
    return sum(k.count for k in kinds), sum(k.before for k in kinds), sum(k.after for k in kinds)


def _kinds(cuts: Sequence[Cut]) -> list[CutKind]:
    kinds: dict[tuple[str, str], CutKind] = {}
    for cut in cuts:
        what = _WORDS.get(cut.what) or f"{cut.what.split(' ', 1)[0]} results"
        if cut.rule.startswith("call-"):
            what = "arguments of calls"
        kind = kinds.setdefault((what, cut.rule), CutKind(what, cut.rule))
        kind.count += 1
        kind.before += cut.before
        kind.after += cut.after
    return list(kinds.values())


def _say_folds(transcript: FrozenTranscript, folds: Sequence[Folded]) -> None:
    numbers = {step.entry: step.number + 1 for step in transcript.steps}
    for count, fold in enumerate(folds, 1):
        sizes = f"{fold.tokens_before:,} → {fold.tokens_after:,} tokens"
        say("")
        say(f"fold {count}, {fold.reason}: {group_digits(fold.why)}, {sizes}")
        for run in fold.runs:
            say(f"  {_describe_run(run, numbers)}")
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


def _describe_run(run: FoldedRun, numbers: dict[str, int]) -> str:
    first, last = numbers.get(run.first, 0), numbers.get(run.last, 0)
    steps = f"step {first}" if first == last else f"steps {first}-{last}"
    cap = f", at most {run.cap:,} tokens a result" if run.cap else ""
    return f"{steps} → {run.level}{cap}"
