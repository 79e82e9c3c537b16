"""Options of the commands that open the coding agent, and the wish that they make.

Rule: this module is part of the root command, so it loads nothing; what a wish needs is loaded when one is made.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from holdfast.cli.options import STORE, offered, profile_option

F = TypeVar("F", bound=Callable[..., Any] | click.Command)

MODES = ("plan", "ask", "edit", "auto")
SANDBOXES = ("auto", "bubblewrap", "landlock", "off")


def agent_options(function: F) -> F:
    """`--model`, `--mode`, `--profile`, `--allow`, `--sandbox` and `--trust`."""
    model = click.option(
        "--model",
        metavar="PROVIDER/NAME",
        default="",
        shell_complete=offered("models"),
        help="The model; else HOLDFAST_MODEL or `default_model`.",
    )
    mode = click.option(
        "--mode",
        type=click.Choice(MODES),
        help="plan: change nothing; ask: before each change; edit: files may be edited; auto: ask nothing.",
    )
    allow = click.option(
        "--allow",
        metavar="RULE",
        multiple=True,
        help="A rule such as `Edit(src/**)` or `Bash(make test)`; may be given again.",
    )
    sandbox = click.option(
        "--sandbox", type=click.Choice(SANDBOXES), help="What commands run in; else `auto`."
    )
    trust = click.option(
        "--trust",
        "trusts",
        is_flag=True,
        help="Trust the project's holdfast.toml: its rules and servers, as they are now.",
    )
    return model(mode(profile_option(allow(sandbox(trust(function))))))


def continue_option(function: F) -> F:
    return click.option(
        "--continue", "-c", "goes_on", is_flag=True, help="Go on with the newest talk of this folder."
    )(function)


def wish_of(ctx: click.Context, **given: Any) -> Any:
    """The `Wish` that options amount to, in the folder that we are in."""
    # Loaded late: the root command knows this module.
    from holdfast.agents.coding.wish import Wish  # noqa: PLC0415

    return Wish(root=Path.cwd(), store=ctx.meta.get(STORE), **given)
