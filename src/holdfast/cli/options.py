"""Options that several commands share, and how a shell completes them.

Rule: an option means the same in every command; `--store` and `--no-color` may stand before or after the command.
The root command needs this module, so it imports nothing of the library.
"""

import os
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click
from click.shell_completion import CompletionItem

from holdfast.cli.streams import NO_COLOUR

F = TypeVar("F", bound=Callable[..., Any] | click.Command)

STORE = "holdfast.store"
MODES = ("plan", "ask", "edit", "auto")
EFFORTS = ("off", "low", "medium", "high", "xhigh", "max")
SANDBOXES = ("auto", "bubblewrap", "landlock", "off")
PROCESSES = "processes"
FILE = click.Path(path_type=Path, dir_okay=False)


class PositiveAmount(click.FloatRange):
    """A number above zero, and not `nan`, which click finds in every range."""

    name = "amount"

    def __init__(self, unit: str, most: float = 1e9) -> None:
        super().__init__(min=0, max=most, min_open=True)
        self._unit = unit

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        amount = super().convert(value, param, ctx)
        if not isfinite(amount):
            self.fail(f"{value} is not a number of {self._unit}.", param, ctx)
        return amount


class FilesInput(NamedTuple):
    """The options of a command that reads many recordings: files, folders, URLs, or ids of logs in the store."""

    files: tuple[str, ...]
    budget: str
    project_from: str
    engine: str
    jobs: int | None
    format: str | None
    sample: int
    at_least: str


def _keep_store(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        from holdfast.store_places import parse_place  # noqa: PLC0415 - only where it is named

        ctx.meta[STORE] = parse_place(value)


def _drop_colours(_: click.Context, __: click.Parameter, value: bool) -> None:
    if value:
        # Error messages are printed when the context is gone; the environment reaches them too.
        os.environ[NO_COLOUR] = "1"


def together(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Several options as one decorator, in the order of the help."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def as_source(
    kind: type, *options: Callable[[Any], Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Options that are given to the command as one value of this kind, `source`."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def with_source(*args: Any, **given: Any) -> None:
            chosen = {name: given.pop(name) for name in kind.__annotations__ if name in given}
            function(*args, source=kind(**chosen), **given)

        return together(*options)(with_source)

    return decorate


def complete_with(what: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """The completion function of this name, imported when a shell asks: it needs half the library."""

    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
        function = getattr(import_module("holdfast.cli.completers"), what)
        items: list[CompletionItem] = function(ctx, incomplete)
        return items

    return complete


common_options = together(
    click.option(
        "--store",
        metavar="PATH|URL",
        type=click.Path(),
        expose_value=False,
        callback=_keep_store,
        help="Use this store, a file or a URL (default: HOLDFAST_STORE, the configuration, or your data folder).",
    ),
    click.option(
        "--no-color",
        is_flag=True,
        expose_value=False,
        callback=_drop_colours,
        help="Print without colours, as with NO_COLOR.",
    ),
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
max_steps_option = click.option(
    "--max-steps", metavar="N", type=click.IntRange(min=1), help="Stop after N requests to the model."
)
profile_option = click.option(
    "--profile",
    metavar="NAME",
    default="",
    shell_complete=complete_with("profiles"),
    help="Use this profile; `holdfast profiles` lists them.",
)
mode_options = together(
    click.option(
        "--mode",
        type=click.Choice(MODES),
        help="plan: change nothing; ask: ask before each change; edit: edit files freely; "
        "auto: ask only where a rule says so.",
    ),
    click.option(
        "--allow",
        metavar="RULE",
        multiple=True,
        help="Allow what this rule names, such as `Edit(src/**)` or `Bash(make:*)`; may be repeated.",
    ),
    click.option(
        "--sandbox", type=click.Choice(SANDBOXES), help="Run commands in this sandbox (default: auto)."
    ),
)
permission_options = together(
    mode_options,
    click.option(
        "--trust",
        "trusts",
        is_flag=True,
        help="Trust the project's holdfast.toml, its rules, servers and hooks, as it is now.",
    ),
)


def model_option(about: str, name: str = "--model") -> Callable[[F], F]:
    return click.option(
        name, metavar="PROVIDER/NAME", default="", shell_complete=complete_with("models"), help=about
    )


def log_option(about: str) -> Callable[[F], F]:
    return click.option("--log", metavar="ID", default="", shell_complete=complete_with("logs"), help=about)


def continue_option(about: str) -> Callable[[F], F]:
    return click.option("--continue", "-c", "resumes_newest", is_flag=True, help=about)


def max_cost_option(about: str, most: float = 1e9) -> Callable[[F], F]:
    return click.option("--max-cost", metavar="DOLLARS", type=PositiveAmount("dollars", most), help=about)


def format_option(about: str) -> Callable[[F], F]:
    complete = complete_with("formats")
    return click.option("--from", "format", metavar="FORMAT", shell_complete=complete, help=about)


EFFORT_HELP = "Let the model think this much (default: HOLDFAST_EFFORT, `default_effort`, or as recommended)."


def effort_option(about: str = EFFORT_HELP, name: str = "--effort") -> Callable[[F], F]:
    return click.option(name, type=click.Choice(EFFORTS), help=about)


agent_options = together(
    model_option("Use this model (default: HOLDFAST_MODEL or `default_model`)."),
    effort_option(),
    profile_option,
    permission_options,
)


def reads_files(budget: str, about: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The options that choose recordings from files and logs, given to the command as `source`."""
    return as_source(
        FilesInput,
        click.argument(
            "files",
            nargs=-1,
            required=True,
            metavar="RECORDINGS...",
            shell_complete=complete_with("recordings"),
        ),
        click.option("--budget", metavar="TOKENS,...", default=budget, show_default=True, help=about),
        click.option(
            "--project-from",
            metavar="KEY",
            default="source",
            show_default=True,
            help="Tell projects apart by `file`, `recording`, or a key of the recordings' meta.",
        ),
        click.option(
            "--engine",
            metavar="ENGINE",
            default=PROCESSES,
            show_default=True,
            help="Work in `processes` of this machine, in `ray`, or in the cluster `ray:HOST:PORT`.",
        ),
        click.option(
            "--jobs",
            metavar="N",
            type=click.IntRange(min=1),
            help="Use N processes (default: one per processor).",
        ),
        format_option("Read the files in this format (default: detect it)."),
        click.option(
            "--sample",
            metavar="N",
            type=click.IntRange(min=0),
            default=0,
            help="Take only N recordings of each file, evenly spread.",
        ),
        click.option(
            "--at-least",
            metavar="TOKENS",
            default="0",
            help="Take only recordings with at least this many tokens, such as `60k`, after --sample.",
        ),
    )


def make_agent_options(ctx: click.Context, **given: Any) -> Any:
    """`AgentOptions` for the current folder, from what was given on the command line."""
    # Imported late: the root command needs this module.
    from holdfast.agents.options import AgentOptions  # noqa: PLC0415

    return AgentOptions(root=Path.cwd(), store=ctx.meta.get(STORE), **given)
