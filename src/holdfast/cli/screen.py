"""The coding agent on the screen, or what to use where there is none.

Rule: the screen is opened only where all three streams are a terminal; it is drawn on the one for errors.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import click

from holdfast.cli.options import make_agent_options
from holdfast.cli.streams import read_piped
from holdfast.errors import InputError


def has_screen() -> bool:
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def open_agent(ctx: click.Context, given: dict[str, Any]) -> int | None:
    """What `holdfast` alone does: the screen, or what is piped in; None where neither is there to be used."""
    if has_screen():
        return open_screen(make_agent_options(ctx, **given))
    if text := read_piped():
        # Loaded late: the agent takes longer to load than help takes to be shown.
        from holdfast.cli.event_output import TextOutput  # noqa: PLC0415
        from holdfast.cli.run import make_errand, run_agent  # noqa: PLC0415

        wish = make_agent_options(ctx, **given)
        return run_agent(wish, make_errand(wish, text, ""), TextOutput())
    return open_screen(None) if any(given.values()) else None


def open_screen(wish: Any, **more: Any) -> int:
    """Run the terminal's agent; the exit code. `more` is what `holdfast.terminal.run` takes besides."""
    if not has_screen():
        raise InputError(
            "the agent's screen needs a terminal",
            hint="without one use `holdfast run -p TEXT`, or pipe TEXT in",
        )
    show: Callable[..., int] = import_module("holdfast.terminal").run
    return show(wish, **more)
