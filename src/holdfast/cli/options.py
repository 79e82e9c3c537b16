"""Options that several commands share, and what a shell may complete for them.

Rule: an option means the same wherever it stands; `--store` and `--no-color` may stand before or behind a command.
"""

import os
from collections.abc import Callable
from importlib import import_module
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from holdfast.cli.streams import NO_COLOUR

F = TypeVar("F", bound=Callable[..., Any] | click.Command)
STORE = "holdfast.store"


class PositiveAmount(click.FloatRange):
    """Some of something, more than none; `nan`, which is in every range, is no amount."""

    name = "amount"

    def __init__(self, unit: str, most: float = 1e9) -> None:
        super().__init__(min=0, max=most, min_open=True)
        self._unit = unit

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        amount = super().convert(value, param, ctx)
        if not isfinite(amount):
            self.fail(f"{value} is no amount of {self._unit}.", param, ctx)
        return amount


def _keep_store(ctx: click.Context, _: click.Parameter, value: Path | None) -> None:
    if value is not None:
        ctx.meta[STORE] = value


def _drop_colours(_: click.Context, __: click.Parameter, value: bool) -> None:
    if value:
        # The one switch that reaches error messages too, which are said when the context is gone.
        os.environ[NO_COLOUR] = "1"


def common_options(function: F) -> F:
    """`--store` and `--no-color`."""
    store = click.option(
        "--store",
        metavar="PATH",
        type=click.Path(path_type=Path),
        expose_value=False,
        callback=_keep_store,
        help="The store's file (else HOLDFAST_STORE, the configuration, your data folder).",
    )
    colour = click.option(
        "--no-color",
        is_flag=True,
        expose_value=False,
        callback=_drop_colours,
        help="No colours (as with NO_COLOR).",
    )
    return store(colour(function))


def complete_with(what: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """The completion function of this name, imported when a shell asks: it needs half the library."""

    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
        items: list[CompletionItem] = getattr(import_module("holdfast.cli.shell_completion"), what)(
            ctx, incomplete
        )
        return items

    return complete


def json_option(function: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")(function)


def recording_options(function: F) -> F:
    """RECORDING and what chooses within it."""
    chain = click.option("--chain", metavar="NAME", default="", help="A side chain instead of the main one.")
    return file_options(chain(function))


def file_options(function: F) -> F:
    """RECORDING, its format, and which recording of the file."""
    argument = click.argument("recording", metavar="RECORDING", shell_complete=complete_with("recordings"))
    id_ = click.option("--id", "id_", metavar="ID", help="Which recording of the file: its id, start or end.")
    format_ = click.option(
        "--from",
        "format_",
        metavar="FORMAT",
        shell_complete=complete_with("formats"),
        help="The file's format; else it is detected.",
    )
    return argument(id_(format_(function)))


def files_options(function: F) -> F:
    """FILES, how they are read, and which of their recordings are taken."""
    argument = click.argument(
        "files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILES..."
    )
    project = click.option(
        "--project-from",
        metavar="KEY",
        default="source",
        show_default=True,
        help="What tells projects apart: `file`, `recording`, or a key of the recordings' meta.",
    )
    jobs = click.option(
        "--jobs", metavar="N", type=click.IntRange(min=1), help="Processes; else one for each processor."
    )
    format_ = click.option(
        "--from",
        "format_",
        metavar="FORMAT",
        shell_complete=complete_with("formats"),
        help="The files' format.",
    )
    sample = click.option(
        "--sample",
        metavar="N",
        type=click.IntRange(min=0),
        default=0,
        help="Only N recordings of each file, evenly spread.",
    )
    at_least = click.option(
        "--at-least",
        metavar="TOKENS",
        default="0",
        help="Only recordings of so many tokens, such as `60k`; `--sample` chooses first.",
    )
    return argument(project(jobs(format_(sample(at_least(function))))))


def budgets_option(default: str, about: str) -> Callable[[F], F]:
    """`--budget`, one or several."""
    return click.option("--budget", metavar="TOKENS,...", default=default, show_default=True, help=about)


def profile_option(function: F) -> F:
    return click.option(
        "--profile",
        metavar="NAME",
        default="",
        shell_complete=complete_with("profiles"),
        help="A profile; `holdfast profiles` lists them.",
    )(function)


# Options of the commands that open the coding agent, and the wish that they make.
#
# Rule: this module is part of the root command, so it loads nothing; what a wish needs is loaded when one is made.


MODES = ("plan", "ask", "edit", "auto")
SANDBOXES = ("auto", "bubblewrap", "landlock", "off")


def agent_options(function: F) -> F:
    """`--model`, `--mode`, `--profile`, `--allow`, `--sandbox` and `--trust`."""
    model = click.option(
        "--model",
        metavar="PROVIDER/NAME",
        default="",
        shell_complete=complete_with("models"),
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


def make_agent_options(ctx: click.Context, **given: Any) -> Any:
    """The `AgentOptions` that options amount to, in the folder that we are in."""
    # Loaded late: the root command knows this module.
    from holdfast.agents.options import AgentOptions  # noqa: PLC0415

    return AgentOptions(root=Path.cwd(), store=ctx.meta.get(STORE), **given)
