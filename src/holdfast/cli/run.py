"""`holdfast run`: the coding agent without a screen.

Rule: the answer is the only thing on stdout; what happens on the way is said on stderr, or is a line of JSON each.
"""

import asyncio
import os
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from holdfast.agents.coding.headless import HeadlessRequest, OutputSchema, load_schema, run_headless
from holdfast.agents.coding.startup import OpenedSession
from holdfast.agents.limits import RunLimits
from holdfast.agents.model_choice import NoModel
from holdfast.agents.notices import Notice
from holdfast.agents.options import AgentOptions
from holdfast.cli.event_output import (
    EventOutput,
    JsonOutput,
    JsonStreamOutput,
    Observers,
    TextOutput,
    say_no_model,
)
from holdfast.cli.exits import EXIT_CODES
from holdfast.cli.options import (
    PositiveAmount,
    agent_options,
    common_options,
    complete_with,
    continue_option,
    json_option,
    make_agent_options,
)
from holdfast.cli.streams import read_piped
from holdfast.errors import InputError
from holdfast.tools.ask_user import Responder, load_answers

EXAMPLES = """\b
Examples:
  holdfast run -p "why does the build fail?"
  holdfast run -p "fix it" --mode edit --allow "Bash(make:*)" --max-steps 40
  git diff | holdfast run -p "write a commit message for this"
  holdfast run --continue -p "now the tests" --stream-json
  holdfast run -p "list the routes" --output-schema routes.schema.json

\b
Nobody is asked: what no rule allows is denied, and the model reads why. The
exit code says what it came to; docs/cli.md lists them."""

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(epilog=EXAMPLES)
@click.option("-p", "--prompt", metavar="TEXT", default="", help="What to do; what is piped in goes with it.")
@continue_option
@click.option(
    "--log", metavar="ID", default="", shell_complete=complete_with("logs"), help="Go on with this talk."
)
@agent_options
@click.option(
    "--max-steps", metavar="N", type=click.IntRange(min=1), default=None, help="At most N requests."
)
@click.option(
    "--max-cost", metavar="DOLLARS", type=PositiveAmount("dollars"), help="At most so many dollars."
)
@click.option("--max-time", metavar="SECONDS", type=PositiveAmount("seconds"), help="No step begins later.")
@json_option
@click.option("--stream-json", "streams", is_flag=True, help="A line of JSON for everything that happens.")
@click.option("--partial", is_flag=True, help="With --stream-json: texts also piece by piece, as they come.")
@click.option("--output-schema", metavar="FILE", type=FILE, help="The answer is JSON, valid against this.")
@click.option(
    "--answers", metavar="FILE", type=FILE, help="Answers to what the agent may ask (TOML or JSON)."
)
@click.option(
    "--trace", metavar="FILE", type=FILE, help="Append all that happens to this file, as JSON lines."
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

    The prompt is TEXT, or what is piped in; with both, what is piped in is data that belongs to it. Without
    either, `--continue` and `--log` go on where the talk ended.
    """
    if as_json and streams:
        raise InputError("`--json` and `--stream-json` do not go together", hint="choose one of them")
    limits = RunLimits(max_steps or 0, max_cost or 0.0, max_time or 0.0)
    wish = make_agent_options(ctx, limits=limits, **given)
    schema = load_schema(output_schema) if output_schema else None
    errand = make_errand(wish, prompt, read_piped(), schema)
    respondent = load_answers(answers) if answers else None
    teller: EventOutput = (
        JsonStreamOutput(partial=partial) if streams else JsonOutput() if as_json else TextOutput()
    )
    ctx.exit(run_agent(wish, errand, teller, respondent=respondent, trace=trace))


def make_errand(
    wish: AgentOptions, prompt: str, piped: str, schema: OutputSchema | None = None
) -> HeadlessRequest:
    """What is to be done, out of what was given and what was piped in."""
    given = prompt.strip() or piped.strip()
    if not given and not (wish.goes_on or wish.log):
        raise InputError("there is nothing to do", hint="give `-p TEXT`, or pipe the text in")
    data = piped if prompt.strip() and piped.strip() else ""
    return HeadlessRequest(given, data, schema)


def run_agent(
    wish: AgentOptions,
    errand: HeadlessRequest,
    teller: EventOutput,
    *,
    respondent: Responder | None = None,
    trace: Path | None = None,
) -> int:
    """Run it to its end; the exit code."""
    onlookers = Observers(trace, os.environ)

    def began(opened: OpenedSession) -> None:
        onlookers.began(opened)
        teller.began(opened)

    def watch(notice: Notice) -> None:
        onlookers.watch(notice)
        teller.watch(notice)

    wish = replace(wish, title=errand.prompt)
    try:
        result = asyncio.run(run_headless(wish, errand, respondent=respondent, watch=watch, began=began))
        onlookers.ended(result)
    except NoModel as error:
        say_no_model(error.message, error.found, error.hint)
        return error.exit_code
    finally:
        onlookers.close()
    teller.ended(result)
    return 128 + result.signal if result.signal else EXIT_CODES[result.outcome]
