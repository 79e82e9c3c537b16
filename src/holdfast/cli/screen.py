"""The coding agent on the screen, or what to use where there is none.

Rule: the screen is opened only where all three streams are a terminal; it is drawn on the one for errors.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import click

from holdfast.cli.agent_options import wish_of
from holdfast.cli.stdin import piped_text
from holdfast.errors import InputError


def has_screen() -> bool:
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def open_agent(ctx: click.Context, given: dict[str, Any]) -> int | None:
    """What `holdfast` alone does: the screen, or what is piped in; None where neither is there to be used."""
    if has_screen():
        return open_screen(wish_of(ctx, **given))
    if text := piped_text():
        # Loaded late: the agent takes longer to load than help takes to be shown.
        from holdfast.cli.happenings import Words  # noqa: PLC0415
        from holdfast.cli.run import carry_out, errand_of  # noqa: PLC0415

        wish = wish_of(ctx, **given)
        return carry_out(wish, errand_of(wish, text, ""), Words())
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
