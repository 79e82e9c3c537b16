"""`holdfast resume`, and the coding agent on the screen, or what to use where there is no screen.

Rule: a session is named by its id or its folder; what was sent before is sent again, byte for byte. The screen is
opened only where all three streams are a terminal; it is drawn on stderr. With `TERM=dumb` it is plain text.
"""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import click

from holdfast.cli.options import agent_options, common_options, complete_with, make_agent_options
from holdfast.cli.streams import read_piped
from holdfast.errors import InputError

EXAMPLES = """\b
Examples:
  holdfast resume
  holdfast resume l01k9z3
  holdfast resume l01k9z3 --model anthropic/claude-opus-5-5

\b
`holdfast logs` lists all logs; `holdfast run --log ID` resumes a session
without a screen."""


@click.command(epilog=EXAMPLES)
@click.argument("id_", metavar="[ID]", required=False, default="", shell_complete=complete_with("logs"))
@agent_options
@common_options
@click.pass_context
def command(ctx: click.Context, /, id_: str, **given: Any) -> None:
    """Resume a session: the newest of this folder, or one by its id.

    ID is the id of a log; its first six characters are enough.
    """
    if not has_screen():
        how = f"--log {id_}" if id_ else "--continue"
        hint = f"without a terminal, use `holdfast run {how} -p TEXT`"
        raise InputError("the agent's screen needs a terminal", hint=hint)
    ctx.exit(open_screen(make_agent_options(ctx, log=id_, resumes_newest=not id_, **given)))


def has_screen() -> bool:
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def open_agent(ctx: click.Context, given: dict[str, Any]) -> int | None:
    """Open the screen, or run what is piped in; the exit code, or None where there is neither."""
    if has_screen():
        return open_screen(make_agent_options(ctx, **given))
    if text := read_piped():
        # Imported late: loading the agent takes longer than printing the help.
        from holdfast.cli.event_output import TextOutput  # noqa: PLC0415
        from holdfast.cli.run import make_request, run_agent  # noqa: PLC0415

        options = make_agent_options(ctx, **given)
        return run_agent(options, make_request(options, text, ""), TextOutput())
    return open_screen(None) if any(given.values()) else None


def open_screen(options: Any, **more: Any) -> int:
    """Run the agent on the screen; the exit code. `more` are other arguments of `holdfast.terminal.run`."""
    if not has_screen():
        raise InputError(
            "the agent's screen needs a terminal",
            hint="without a terminal, use `holdfast run -p TEXT`, or pipe TEXT in",
        )
    if os.environ.get("TERM") == "dumb":
        plain: Callable[..., int] = import_module("holdfast.cli.plain").run_plain
        return plain(options)
    show: Callable[..., int] = import_module("holdfast.terminal").run
    return show(options, **more)
