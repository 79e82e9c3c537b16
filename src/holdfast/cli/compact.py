"""`holdfast compact`: what a summary would say, stand for and free, on a recording or a log.

Rule: the summary is the only thing on stdout. Nothing is recorded: a log that goes on is its agent's to compact.
"""

import asyncio
import os
from pathlib import Path

import click
from msgspec.structs import asdict

from holdfast.cli.inputs import (
    RecordingChoice,
    build_window,
    chain_path,
    choose_profile,
    entries_before_step,
    open_log,
    recorded_model,
)
from holdfast.cli.options import (
    common_options,
    complete_with,
    json_option,
    profile_option,
    recording_options,
)
from holdfast.cli.streams import format_count, note, say, show_activity, write, write_json
from holdfast.cli.tables import name, say_table, wrapped
from holdfast.compaction.compact import Compaction, compact, preview
from holdfast.compaction.plan import CompactionPlan
from holdfast.compaction.writer import WrittenSummary
from holdfast.config import load_config
from holdfast.errors import InputError
from holdfast.messages import Json
from holdfast.models.model import Model
from holdfast.packing.log_walk import InMemoryRecorder
from holdfast.packing.window import Window

EXAMPLES = """\b
Examples:
  holdfast compact recording.jsonl --no-model
  holdfast compact recording.jsonl --at 40 --profile draft16k --explain
  holdfast compact recording.jsonl --model anthropic/claude-sonnet-5-5
  holdfast compact recording.jsonl --focus "the schema of the database"
  holdfast compact recording.jsonl --preview

\b
Each line of a summary names the entries it came from: `holdfast recall ID`."""


@click.command(epilog=EXAMPLES)
@recording_options
@click.option(
    "--at", "step", metavar="STEP", type=click.IntRange(min=1), help="As before the reply of this step."
)
@click.option("--budget", metavar="TOKENS", help="The window, such as 32k; else the profile's.")
@profile_option
@click.option(
    "--model",
    "model_name",
    metavar="PROVIDER/NAME",
    default="",
    shell_complete=complete_with("models"),
    help="The model that writes it; else HOLDFAST_MODEL or `default_model`.",
)
@click.option("--no-model", is_flag=True, help="By rule alone.")
@click.option("--focus", metavar="TEXT", default="", help="What to pay attention to above all.")
@click.option("--preview", "previews", is_flag=True, help="Only what it would stand for; nobody is asked.")
@click.option("--explain", "explained", is_flag=True, help="Also where each line came from, on stderr.")
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
    model_name: str,
    no_model: bool,
    focus: str,
    previews: bool,
    explained: bool,
    as_json: bool,
) -> None:
    """Sum up what a recording would let go, and check it.

    RECORDING is a file, or the id of a log in the store. A model writes the summary if there is one: every path,
    id, number and command in it must stand in the log, and what the user demanded stays word for word. Without a
    model it is written by rule.
    """
    if model_name and no_model:
        raise InputError("`--model` and `--no-model` exclude each other", hint="drop one of them")
    settings = choose_profile(profile, budget)
    model, takes = (None, 0) if no_model or previews else _model(model_name)
    choice = RecordingChoice(recording, id_, format_, chain)
    log = open_log(ctx, choice, keep=True, redact=None if settings.redact else str)
    whole = chain_path(log.entries(), chain)
    window, _ = build_window(entries_before_step(whole, step), settings, recorded_model(whole))
    rehearsal = InMemoryRecorder(window)
    if previews:
        _show_plan(preview(rehearsal, focus=focus), as_json)
        return
    done = _compacted(rehearsal, model, focus, takes)
    if done is None:
        raise InputError(
            "there is nothing to sum up: all of it is kept",
            hint="a smaller `--budget`, or `--at` a later step, leaves something behind",
        )
    if as_json:
        write_json(_as_json(done, log.id))
    else:
        write(done.written.text + "\n")
        _tell(done, window, explained)


def _model(name: str) -> tuple[Model | None, int]:
    """The model that was chosen, if any, and its window as far as it is known."""
    # Loaded late: providers are needed only where one is asked.
    from holdfast.models.catalogue import load_catalogue  # noqa: PLC0415
    from holdfast.models.selection import create_model, model_name, resolve_model  # noqa: PLC0415

    config = load_config(cwd=Path.cwd(), env=os.environ)
    chosen = model_name(name, config, os.environ)
    if not chosen:
        return None, 0
    model = create_model(chosen, config, os.environ)
    return model, resolve_model(chosen, load_catalogue(config), os.environ).entry.window


def _compacted(rehearsal: InMemoryRecorder, model: Model | None, focus: str, takes: int) -> Compaction | None:
    with show_activity(f"{model.name} is writing" if model else "summing up"):
        return asyncio.run(_asked(rehearsal, model, focus, takes))


async def _asked(
    rehearsal: InMemoryRecorder, model: Model | None, focus: str, takes: int
) -> Compaction | None:
    try:
        return await compact(rehearsal, model, focus=focus, model_window=takes)
    finally:
        if model is not None:
            await model.aclose()


def _show_plan(plan: CompactionPlan | None, as_json: bool) -> None:
    if as_json:
        write_json(None if plan is None else asdict(plan))
    elif plan is None:
        say("nothing would be summed up: all of it is kept")
    else:
        whole = f"{format_count(plan.rounds, 'round')} and " if plan.rounds else ""
        say(
            f"{whole}{format_count(plan.steps, 'step')}, from {plan.first} to {plan.last}: {plan.replaced} tokens as "
            f"they were said and {plan.shown} as they are shown, into a summary of at most {plan.budget}"
        )


def _tell(done: Compaction, window: Window, explained: bool) -> None:
    plan, written = done.plan, done.written
    size = window.scene.counter.text(written.text)
    say(
        f"{format_count(plan.steps, 'step')} ({plan.replaced} tokens) summed up in {size} tokens by {written.by}; "
        f"the window takes {done.tokens_after} tokens instead of {done.tokens_before}"
    )
    if explained:
        _explain(written)
    elif written.added or written.removed:
        note(
            f"{format_count(len(written.added), 'line')} added from the log and {format_count(len(written.removed), 'line')} "
            "removed; `--explain` lists them"
        )
    for sentence in done.notes:
        note(sentence)


def _explain(written: WrittenSummary) -> None:
    rows = [(line.by, " ".join(line.sources[:3]), line.text) for line in written.content.lines()]
    say_table([name("by"), name("from"), wrapped("line")], rows)
    for line in written.added:
        note(f"added, because it was missing: {line.text}")
    for line, why in written.removed:
        note(f"removed, {why}: {line.text}")
    for attempt in written.attempts:
        if attempt.why:
            note(f"a try failed: {attempt.why}")


def _as_json(done: Compaction, log: str) -> Json:
    written = done.written
    return {
        "log": log,
        "plan": asdict(done.plan),
        "text": written.text,
        "by": written.by,
        "lines": [asdict(line) for line in written.content.lines()],
        "added": [line.text for line in written.added],
        "removed": [{"line": line.text, "why": why} for line, why in written.removed],
        "failures": written.failures,
        "asks": done.asks,
        "tokens_before": done.tokens_before,
        "tokens_after": done.tokens_after,
        "notes": done.notes,
    }
