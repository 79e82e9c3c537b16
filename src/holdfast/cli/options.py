"""Options that several commands share, and what a shell may complete for them.

Rule: an option means the same wherever it stands; `--store` and `--no-color` may stand before or behind a command.
"""

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from holdfast.cli.output import NO_COLOUR

F = TypeVar("F", bound=Callable[..., Any] | click.Command)
STORE = "holdfast.store"


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


def offered(what: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """The completion function of this name, imported when a shell asks: it needs half the library."""

    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
        items: list[CompletionItem] = getattr(import_module("holdfast.cli.completing"), what)(ctx, incomplete)
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
    argument = click.argument("recording", metavar="RECORDING", shell_complete=offered("recordings"))
    id_ = click.option("--id", "id_", metavar="ID", help="Which recording of the file: its id, start or end.")
    format_ = click.option(
        "--from",
        "format_",
        metavar="FORMAT",
        shell_complete=offered("formats"),
        help="The file's format; else it is detected.",
    )
    return argument(id_(format_(function)))


def profile_option(function: F) -> F:
    return click.option(
        "--profile",
        metavar="NAME",
        default="",
        shell_complete=offered("profiles"),
        help="A profile; `holdfast profiles` lists them.",
    )(function)
