"""Exit codes that no error of `holdfast.errors` carries."""

import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress

import click

from holdfast.cli.streams import hint, say, say_error
from holdfast.errors import ContextOverflow, HoldfastError

INTERRUPTED = 130
UNEXPECTED = 70

EXIT_CODES = {
    "done": 0,
    "overflow": 5,
    "steps": 10,
    "cost": 11,
    "time": 12,
    "loop": 13,
    "empty": 14,
    "refused": 15,
    "model": 16,
    "ask": 17,
    "schema": 18,
    "interrupted": INTERRUPTED,
}
"""What `holdfast run` ends with, by what its run came to."""


# Whatever ends a command, as one sentence, a hint and an exit code.
#
# Rule: a person never meets a traceback unless `HOLDFAST_DEBUG` asks for it, and a closed pipe is no error.

DEBUG = "HOLDFAST_DEBUG"


def run_guarded(action: Callable[[], int]) -> int:
    """The exit code of an action, or of what it raised, which is then said on stderr."""
    try:
        code = action()
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        # `| head` has seen enough. What is still in the buffer must not be tried again at exit.
        _drop_output()
        return 0
    except (KeyboardInterrupt, Exception) as error:
        with suppress(BrokenPipeError):
            return _report(error)
        _drop_output()
        return 0
    return code


def _report(error: BaseException) -> int:
    if os.environ.get(DEBUG) and not isinstance(error, KeyboardInterrupt | click.exceptions.Abort):
        traceback.print_exception(error)
    match error:
        case KeyboardInterrupt() | click.exceptions.Abort():
            say("interrupted")
            return INTERRUPTED
        case HoldfastError():
            say_error(error.message)
            if isinstance(error, ContextOverflow):
                _list_parts(error)
            hint(error.hint)
            return error.exit_code
        case click.UsageError():
            say_error(_sentence(error.format_message()))
            hint(f"see `{error.ctx.command_path if error.ctx else 'holdfast'} --help`")
            return error.exit_code
        case click.ClickException():
            say_error(_sentence(error.format_message()))
            return error.exit_code
    say_error(f"unexpected {type(error).__name__}: {error}")
    hint(f"set {DEBUG}=1 to see the traceback, and please report it with the command you ran")
    return UNEXPECTED


def _sentence(text: str) -> str:
    """click's sentences in our style: no capital, backticks round what was typed."""
    return text[:1].lower() + text[1:].replace("'", "`")


def _list_parts(error: ContextOverflow) -> None:
    # Loaded late: only this one error has a table.
    from holdfast.cli.tables import name, number, say_table  # noqa: PLC0415

    rows = [*((part, tokens) for part, tokens in error.parts), ("budget", error.budget)]
    say_table([name("may not be cut"), number("tokens")], rows, totals=1)


def _drop_output() -> None:
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(null, stream.fileno())
