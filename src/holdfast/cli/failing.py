"""Whatever ends a command, as one sentence, a hint and an exit code.

Rule: a person never meets a traceback unless `HOLDFAST_DEBUG` asks for it, and a closed pipe is no error.
"""

import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress

import click

from holdfast.cli.codes import INTERRUPTED, UNEXPECTED
from holdfast.cli.output import complain, hint, say
from holdfast.errors import ContextOverflow, HoldfastError

DEBUG = "HOLDFAST_DEBUG"


def guarded(action: Callable[[], int]) -> int:
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
            return _said(error)
        _drop_output()
        return 0
    return code


def _said(error: BaseException) -> int:
    if os.environ.get(DEBUG) and not isinstance(error, KeyboardInterrupt | click.exceptions.Abort):
        traceback.print_exception(error)
    match error:
        case KeyboardInterrupt() | click.exceptions.Abort():
            say("interrupted")
            return INTERRUPTED
        case HoldfastError():
            complain(error.message)
            if isinstance(error, ContextOverflow):
                _list_parts(error)
            hint(error.hint)
            return error.exit_code
        case click.UsageError():
            complain(_sentence(error.format_message()))
            hint(f"see `{error.ctx.command_path if error.ctx else 'holdfast'} --help`")
            return error.exit_code
        case click.ClickException():
            complain(_sentence(error.format_message()))
            return error.exit_code
    complain(f"unexpected {type(error).__name__}: {error}")
    hint(f"set {DEBUG}=1 to see the traceback, and please report it with the command you ran")
    return UNEXPECTED


def _sentence(text: str) -> str:
    """click's sentences in our style: no capital, backticks round what was typed."""
    return text[:1].lower() + text[1:].replace("'", "`")


def _list_parts(error: ContextOverflow) -> None:
    # Loaded late: only this one error has a table.
    from holdfast.cli.tables import name, number, tell_table  # noqa: PLC0415

    rows = [*((part, tokens) for part, tokens in error.parts), ("budget", error.budget)]
    tell_table([name("may not be cut"), number("tokens")], rows, totals=1)


def _drop_output() -> None:
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(null, stream.fileno())
