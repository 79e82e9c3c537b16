"""`holdfast compact`: what a summary of a recording or a log would say, replace and free.

Rule: the summary is the only thing on stdout. No log is changed: only its agent compacts a log.
"""

import asyncio
import os
from contextlib import AsyncExitStack
from pathlib import Path

import click
from msgspec.structs import asdict

from holdfast.cli.inputs import RecordingInput, reads_recording, walk_recording
from holdfast.cli.options import common_options, json_option, model_option
from holdfast.cli.streams import note, say, show_activity, write, write_json
from holdfast.cli.tables import name, say_table, say_wrapped, wrapped
from holdfast.compaction.compact import Compaction, compact, preview
from holdfast.compaction.plan import CompactionPlan
from holdfast.config import load_config
from holdfast.errors import InputError
from holdfast.messages import Json
from holdfast.models.model import Model
from holdfast.numbers import counted
from holdfast.packing.log_walk import InMemoryRecorder

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
@reads_recording(windowed=".")
@model_option("Write the summary with this model (default: HOLDFAST_MODEL or `default_model`).")
@click.option("--no-model", is_flag=True, help="Write the summary by rule, without a model.")
@click.option("--focus", metavar="TEXT", default="", help="Say what the summary should pay attention to.")
@click.option("--preview", "previews", is_flag=True, help="Only say what would be summarized; ask no model.")
@click.option("--explain", "is_explained", is_flag=True, help="Say on stderr where each line came from.")
@json_option
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    source: RecordingInput,
    model: str,
    no_model: bool,
    focus: str,
    previews: bool,
    is_explained: bool,
    as_json: bool,
) -> None:
    """Summarize the steps that leave the window, and check the summary.

    RECORDING is a file, or the id of a log in the store. A model writes the summary if one is chosen: every path,
    id, number and command in it must be in the log, and the user's directives stay word for word. Without a model
    the summary is written by rule.
    """
    if model and no_model:
        raise InputError("`--model` and `--no-model` exclude each other", hint="drop one of them")
    writer, model_window = (None, 0) if no_model or previews else _open_model(model)
    walked = walk_recording(ctx, source, keep=True)
    recorder = InMemoryRecorder(walked.window)
    if previews:
        _show_plan(preview(recorder, focus=focus), as_json)
        return

    async def write_summary() -> Compaction | None:
        async with AsyncExitStack() as stack:
            if writer:
                stack.push_async_callback(writer.aclose)
            return await compact(recorder, writer, focus=focus, model_window=model_window)

    with show_activity(f"{writer.name} is writing" if writer else "summarizing"):
        done = asyncio.run(write_summary())
    if done is None:
        raise InputError(
            "there is nothing to summarize: all of it is kept",
            hint="choose a smaller `--budget`, or a later step with `--at`",
        )
    if as_json:
        write_json(_as_json(done, walked.log.id))
    else:
        write(done.written.text + "\n")
        _say_result(done, walked.window.counter.text(done.written.text), is_explained)


def _open_model(name: str) -> tuple[Model | None, int]:
    """The chosen model, if any, and its window, 0 if it is not known."""
    # Imported late: only a model that is asked needs its provider.
    from holdfast.models.catalogue import load_catalogue  # noqa: PLC0415
    from holdfast.models.selection import create_model, model_name, resolve_model  # noqa: PLC0415

    config = load_config(cwd=Path.cwd(), env=os.environ)
    chosen = model_name(name, config, os.environ)
    if not chosen:
        return None, 0
    model = create_model(chosen, config, os.environ)
    return model, resolve_model(chosen, load_catalogue(config), os.environ).entry.window


def _show_plan(plan: CompactionPlan | None, as_json: bool) -> None:
    if as_json:
        write_json(None if plan is None else asdict(plan))
    elif plan is None:
        say("nothing would be summarized: all of it is kept")
    else:
        whole = f"{counted(plan.rounds, 'round')} and " if plan.rounds else ""
        say_wrapped(
            f"{whole}{counted(plan.steps, 'step')}, from {plan.first} to {plan.last}: "
            f"{counted(plan.replaced, 'token')} as recorded and {plan.shown:,} as packed, "
            f"into a summary of at most {plan.budget:,}"
        )


def _say_result(done: Compaction, size: int, is_explained: bool) -> None:
    plan, written = done.plan, done.written
    say_wrapped(
        f"{counted(plan.steps, 'step')} ({counted(plan.replaced, 'token')}) summarized in "
        f"{size:,} tokens by {written.by}; with the lines of them that stay, "
        f"the window takes {done.tokens_after:,} tokens instead of {done.tokens_before:,}"
    )
    notes = []
    if is_explained:
        rows = [(line.by, " ".join(line.sources[:3]), line.text) for line in written.content.lines()]
        say_table([name("by"), name("from"), wrapped("line")], rows)
        notes += [f"added because it was missing: {line.text}" for line in written.added]
        notes += [f"removed, {why}: {line.text}" for line, why in written.removed]
        notes += [f"an attempt failed: {attempt.why}" for attempt in written.attempts if attempt.why]
    elif written.added or written.removed:
        added, removed = counted(len(written.added), "line"), counted(len(written.removed), "line")
        notes.append(f"{added} added from the log and {removed} removed; `--explain` lists them")
    for sentence in (*notes, *done.notes):
        note(sentence)


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
