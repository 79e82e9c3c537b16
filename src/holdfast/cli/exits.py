"""How a command ends: its exit code, and whatever it raised as one sentence with a hint.

Rule: nobody sees a traceback unless `HOLDFAST_DEBUG` is set, and a closed pipe is not an error.
"""

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

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
    "blocked": 19,
    "interrupted": INTERRUPTED,
}
"""Exit codes of `holdfast run`, by the outcome of the run."""

DEBUG = "HOLDFAST_DEBUG"


AGAIN_SECONDS = 0.05
"""After how long an interrupt that was dropped is sent again."""


@contextmanager
def insistent_interrupts() -> Iterator[None]:
    """Ctrl+C comes again until something has taken it: Python drops what is raised in a callback, and an import
    makes many of them. It reports what it drops."""
    before = sys.unraisablehook

    def send_again(dropped: "sys.UnraisableHookArgs") -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            before(dropped)
            return
        # Later, and from another thread: here it would be dropped again.
        main = threading.main_thread().ident or 0
        again = threading.Timer(AGAIN_SECONDS, signal.pthread_kill, (main, signal.SIGINT))
        again.daemon = True
        again.start()

    sys.unraisablehook = send_again
    try:
        yield
    finally:
        sys.unraisablehook = before


def run_guarded(action: Callable[[], int]) -> int:
    """Run an action; its exit code, or that of what it raised, which is printed to stderr."""
    with suppress(BrokenPipeError):
        try:
            with insistent_interrupts():
                code = action()
            if sys.stdout is not None:
                sys.stdout.flush()
            return code
        except BrokenPipeError:
            raise
        except (KeyboardInterrupt, Exception) as error:
            return _report(error)
    # `| head` has read enough. What is left in the buffer must not be written again at exit.
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(null, stream.fileno())
    return 0


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
                # Imported late: only this error has a table.
                from holdfast.cli.tables import name, number, say_table  # noqa: PLC0415
                from holdfast.numbers import grouped  # noqa: PLC0415

                rows = [*error.parts, ("total", sum(tokens for _, tokens in error.parts))]
                say_table([name("may not be cut"), number("tokens")], rows, totals=1)
                say(f"the budget is {grouped(error.budget)} tokens")
            hint(error.hint)
            return error.exit_code
        case click.exceptions.NoArgsIsHelpError():
            say(error.format_message())
            return error.exit_code
        case click.ClickException():
            # In our style: no capital, backticks around what was typed.
            text = error.format_message()
            say_error(text[:1].lower() + text[1:].replace("'", "`"))
            if isinstance(error, click.UsageError):
                hint(f"see `{error.ctx.command_path if error.ctx else 'holdfast'} --help`")
            return error.exit_code
    say_error(f"unexpected {type(error).__name__}: {error}")
    hint(f"set {DEBUG}=1 to see the traceback, and please report it with the command you ran")
    return UNEXPECTED
