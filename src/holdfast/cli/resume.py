"""`holdfast resume`: resume a session where it ended.

Rule: a session is named by its id or its folder; what was sent before is sent again, byte for byte.
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
    ctx.exit(open_screen(make_agent_options(ctx, log=id_, resumes_newest=not id_, **given)))
