"""The account of a pack for people: its layers, and every cut and fold with its reason.

Rule: what a pack left out is listed whole, with the id that brings it back, never "and 12 more".
"""

from collections.abc import Sequence

from holdfast.cli.streams import format_count, format_number, say
from holdfast.cli.tables import name, number, say_table, say_truncated
from holdfast.events import Folded, FoldedRun
from holdfast.packing.counting.families import family_for_model
from holdfast.packing.layers import Pack
from holdfast.packing.window import Window
from holdfast.views import Step, Transcript


def tokens_before(window: Window) -> int:
    """What was said and the pinned layers would take, nothing left out: the number that `show` has as well."""
    counter, transcript = window.scene.counter, window.transcript
    fixed = window.fixed_tokens()
    total = fixed["stable"] + fixed["tools"]
    for item in transcript.items:
        total += counter.message(item.message)
        if isinstance(item, Step):
            total += counter.messages(item.answers())
    return total


def summarise(window: Window, pack: Pack, folds: Sequence[Folded], model: str) -> None:
    """Layers with their sizes, and the sums."""
    rows: list[tuple[str, str | int, int]] = [
        (layer.name, len(layer.messages), layer.tokens) for layer in pack.layers
    ]
    rows.insert(1, ("tools", "", pack.tool_tokens))
    rows.append(("total", len(pack.messages), pack.tokens))
    say_table([name("layer"), number("messages"), number("tokens")], rows, totals=1)
    before = tokens_before(window)
    say(
        f"budget {format_number(pack.budget)}, limit {format_number(pack.limit)}, trigger {format_number(pack.trigger)} "
        f"(profile {window.profile.name})"
    )
    say(
        f"{format_count(before, 'token')} before packing, {format_count(len(folds), 'fold')} made, "
        f"{format_count(len(pack.cuts), 'cut')}"
    )
    say(_how_counted(model))


def _how_counted(model: str) -> str:
    """The vocabulary that was counted in, and how far an estimate may be off."""
    family = family_for_model(model)
    if not model:
        return f"tokens of {family.vocabulary}, as no model is named"
    if family.exact:
        return f"counted as {family.name} ({model}), in its own vocabulary"
    bound = f"within {family.bound.largest / 10:.0f} % for 19 texts of 20"
    return f"counted as {family.name} ({model}), an estimate: {bound}"


def explain(transcript: Transcript, pack: Pack, folds: Sequence[Folded]) -> None:
    """Every fold, cut and repair."""
    numbers = {step.entry: step.number + 1 for step in transcript.steps}
    for count, fold in enumerate(folds, 1):
        sizes = f"{format_number(fold.tokens_before)} → {format_number(fold.tokens_after)} tokens"
        say("")
        say(f"fold {count}, {fold.reason}: {fold.why}, {sizes}")
        for run in fold.runs:
            say(f"  {_run(run, numbers)}")
        for one in fold.notes:
            say(f"  {one.text}")
        if fold.users:
            say(f"  {format_count(len(fold.users), 'user message')} shortened")
    _list_cuts(pack)
    if pack.notes:
        say("")
        say("repairs")
    for repair in pack.notes:
        say(f"  {repair}")


def _list_cuts(pack: Pack) -> None:
    """One line a cut, what it was last: it is the only part of no fixed width. What is gone from its place may
    stand in a note, line by line."""
    if not pack.cuts:
        return
    say("")
    say("cuts: tokens before → after (in its place and in notes), rule, id, what")
    width = max(len(format_number(cut.before)) for cut in pack.cuts)
    rules = max(len(cut.rule) for cut in pack.cuts)
    for cut in pack.cuts:
        sizes = f"{format_number(cut.before):>{width}} → {format_number(cut.after):<{width}}"
        say_truncated(f"{sizes}  {cut.rule:{rules}}  {cut.id:13}  {cut.what}")


def _run(run: FoldedRun, numbers: dict[str, int]) -> str:
    first, last = numbers.get(run.first, 0), numbers.get(run.last, 0)
    steps = f"step {first}" if first == last else f"steps {first}-{last}"
    cap = f", at most {format_number(run.cap)} tokens a result" if run.cap else ""
    return f"{steps} → {run.level}{cap}"
