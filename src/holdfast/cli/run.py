"""`holdfast run`: the coding agent without a screen.

Rule: the answer is the only thing on stdout; what happens on the way goes to stderr, or is one line of JSON each.
"""

import asyncio
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from holdfast.agents.coding.coding_session import OpenedSession
from holdfast.agents.coding.headless import HeadlessRequest, OutputSchema, load_schema, run_headless
from holdfast.agents.commands.init import note_init_offer, offers_init
from holdfast.agents.limits import RAISE, RunLimits
from holdfast.agents.model_choice import NoModel
from holdfast.agents.notices import Notice
from holdfast.agents.options import AgentOptions
from holdfast.cli.event_output import JsonOutput, JsonStreamOutput, Observers, TextOutput, say_no_model
from holdfast.cli.exits import EXIT_CODES
from holdfast.cli.options import (
    FILE,
    PositiveAmount,
    agent_options,
    common_options,
    continue_option,
    json_option,
    log_option,
    make_agent_options,
    max_cost_option,
    max_steps_option,
)
from holdfast.cli.streams import hint, read_piped, say_error
from holdfast.errors import InputError
from holdfast.tools.ask_user import Responder, load_answers

NO_RULES = "this folder has no `code_law.md`, `AGENTS.md` or `CLAUDE.md`; `/init` in the terminal writes one"
ENDING_SECONDS = 20.0
"""How long a run may take to end once its time is over."""
EXAMPLES = """\b
Examples:
  holdfast run -p "why does the build fail?"
  holdfast run -p "fix it" --mode edit --allow "Bash(make:*)" --max-steps 40
  git diff | holdfast run -p "write a commit message for this"
  holdfast run --continue -p "now the tests" --stream-json
  holdfast run -p "list the routes" --output-schema routes.schema.json

\b
Nobody is asked: what no rule allows is denied, and the model is told why.
The exit code is the outcome; docs/cli.md lists them."""


@click.command(epilog=EXAMPLES)
@click.option(
    "-p", "--prompt", metavar="TEXT", default="", help="Say what to do; what is piped in goes with it."
)
@continue_option("Resume the newest session of this folder.")
@log_option("Resume this session.")
@agent_options
@max_steps_option
@max_cost_option("Stop before spending more.")
@click.option(
    "--max-time",
    metavar="SECONDS",
    type=PositiveAmount("seconds"),
    help="End the run after this time, whatever it does.",
)
@json_option
@click.option(
    "--stream-json", "streams", is_flag=True, help="Print a line of JSON for everything that happens."
)
@click.option("--partial", is_flag=True, help="With --stream-json, also print texts as they arrive.")
@click.option(
    "--output-schema", metavar="FILE", type=FILE, help="Answer in JSON that is valid against this schema."
)
@click.option(
    "--answers", metavar="FILE", type=FILE, help="Answer the agent's questions from this file (TOML or JSON)."
)
@click.option(
    "--trace", metavar="FILE", type=FILE, help="Append everything that happens to this file, as JSON lines."
)
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    prompt: str,
    max_steps: int | None,
    max_cost: float | None,
    max_time: float | None,
    as_json: bool,
    streams: bool,
    partial: bool,
    output_schema: Path | None,
    answers: Path | None,
    trace: Path | None,
    **given: Any,
) -> None:
    """Run the coding agent without a screen, for scripts and pipes.

    The prompt is TEXT, or what is piped in; with both, what is piped in is data that belongs to the prompt. With
    neither, `--continue` and `--log` resume where the session ended.
    """
    if as_json and streams:
        raise InputError("`--json` and `--stream-json` exclude each other", hint="drop one of them")
    limits = RunLimits(max_steps or 0, max_cost or 0.0, max_time or 0.0)
    options = make_agent_options(ctx, limits=limits, **given)
    schema = load_schema(output_schema) if output_schema else None
    request = make_request(options, prompt, read_piped(), schema)
    responder = load_answers(answers) if answers else None
    output = JsonStreamOutput(partial=partial) if streams else JsonOutput() if as_json else TextOutput()
    ctx.exit(run_agent(options, request, output, responder=responder, trace=trace))


def make_request(
    options: AgentOptions, prompt: str, piped: str, schema: OutputSchema | None = None
) -> HeadlessRequest:
    """What to do, from the prompt and what is piped in."""
    given = prompt.strip() or piped.strip()
    if not given and not (options.resumes_newest or options.log):
        raise InputError("there is nothing to do", hint="give `-p TEXT`, or pipe the text in")
    data = piped if prompt.strip() and piped.strip() else ""
    return HeadlessRequest(given, data, schema)


def run_agent(
    options: AgentOptions,
    request: HeadlessRequest,
    output: TextOutput,
    *,
    responder: Responder | None = None,
    trace: Path | None = None,
) -> int:
    observers = Observers(trace, os.environ)

    def began(opened: OpenedSession) -> None:
        if offers_init(opened.coding):
            note_init_offer(opened.coding)
            opened = replace(opened, notes=(*opened.notes, NO_RULES))
        observers.began(opened)
        output.began(opened)

    def watch(notice: Notice) -> None:
        observers.watch(notice)
        output.watch(notice)

    options = replace(options, title=request.prompt)
    try:
        with _bounded(options.limits.seconds):
            result = asyncio.run(
                run_headless(options, request, responder=responder, watch=watch, began=began)
            )
        observers.ended(result)
    except NoModel as error:
        say_no_model(error.message, error.found, error.hint)
        return error.exit_code
    finally:
        observers.close()
    output.ended(result)
    return 128 + result.signal if result.signal else EXIT_CODES[result.outcome]


@contextmanager
def _bounded(seconds: float) -> Iterator[None]:
    """End the process if a run does not end in time: a call that hangs in the system cannot be cancelled."""

    def end() -> None:
        say_error(f"the limit of {seconds:g} seconds is reached, and something in this run does not end")
        hint(f"{RAISE}; the log has everything up to here")
        os._exit(EXIT_CODES["time"])

    watchdog = threading.Timer(seconds + ENDING_SECONDS, end)
    watchdog.daemon = True
    if seconds:
        watchdog.start()
    try:
        yield
    finally:
        watchdog.cancel()
