"""`holdfast acp`: the coding agent for editors, by the Agent Client Protocol.

Rule: stdout belongs to the protocol. What the editor is not told goes to stderr, a line each.
"""

import asyncio
import logging
import os
from typing import Any

import click

from holdfast.agents.limits import RunLimits
from holdfast.cli.exits import DEBUG
from holdfast.cli.options import (
    common_options,
    effort_option,
    make_agent_options,
    max_cost_option,
    max_steps_option,
    mode_options,
    model_option,
    profile_option,
)
from holdfast.cli.streams import printable, warn
from holdfast.errors import InputError

SDK = ("acp", "pydantic")

EXAMPLES = """\b
Examples:
  holdfast acp
  holdfast acp --model anthropic/claude-opus-5-5 --mode plan
  holdfast acp --max-cost 2

\b
In the configuration of an editor:
  {"agent_servers": {"Holdfast": {"command": "holdfast", "args": ["acp"]}}}"""


@click.command(epilog=EXAMPLES)
@model_option("Use this model (default: HOLDFAST_MODEL or `default_model`).")
@effort_option()
@profile_option
@mode_options
@max_steps_option
@max_cost_option("End a turn before spending more.")
@common_options
@click.pass_context
def command(ctx: click.Context, /, max_steps: int | None, max_cost: float | None, **given: Any) -> None:
    """Let an editor use the coding agent, by the Agent Client Protocol.

    An editor starts this command and talks to it on stdin and stdout; it says in which folder each session works.
    Zed, JetBrains IDEs, Neovim and Emacs can do so. Options hold for every session that the editor opens.
    """
    _check_sdk()
    # Imported late: it loads the SDK.
    from holdfast.agents.acp.server import serve  # noqa: PLC0415

    _log_to_stderr()
    limits = RunLimits(max_steps or 0, max_cost or 0.0)
    asyncio.run(serve(make_agent_options(ctx, limits=limits, **given)))


def _check_sdk() -> None:
    try:
        import acp  # noqa: F401, PLC0415 - late: it takes half a second
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in SDK:
            raise
        raise InputError(
            "`holdfast acp` needs the SDK of the Agent Client Protocol, which is not installed",
            hint="run `pip install '.[acp]'` in a checkout of Holdfast",
        ) from None


class StderrHandler(logging.Handler):
    """What is logged, as one line each; with its traceback only where somebody looks for a fault."""

    def emit(self, record: logging.LogRecord) -> None:
        line = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            line = f"{line}: {record.exc_info[1]!r}"
        warn(line)
        if record.exc_info and os.environ.get(DEBUG):
            for row in logging.Formatter().formatException(record.exc_info).splitlines():
                warn(printable(row))


def _log_to_stderr() -> None:
    logging.basicConfig(level=logging.WARNING, handlers=[StderrHandler()], force=True)
