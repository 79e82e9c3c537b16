"""`holdfast resume`: go on with a talk where it ended.

Rule: a talk is named by its id or its folder; what was sent before is sent again to the byte.
"""

from typing import Any

import click

from holdfast.cli.options import agent_options, common_options, complete_with, make_agent_options
from holdfast.cli.screen import open_screen

EXAMPLES = """\b
Examples:
  holdfast resume
  holdfast resume l01k9z3
  holdfast resume l01k9z3 --model anthropic/claude-opus-5-5

\b
`holdfast logs` lists all logs; `holdfast run --log ID` goes on without a
screen."""


@click.command(epilog=EXAMPLES)
@click.argument("id_", metavar="[ID]", required=False, default="", shell_complete=complete_with("logs"))
@agent_options
@common_options
@click.pass_context
def command(ctx: click.Context, /, id_: str, **given: Any) -> None:
    """Go on with a talk, the newest of this folder or by its id.

    ID is that of a log, or its first six or more characters.
    """
    ctx.exit(open_screen(make_agent_options(ctx, log=id_, goes_on=not id_, **given)))
