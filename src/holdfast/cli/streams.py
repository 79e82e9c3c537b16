"""Data to stdout, words to stderr.

Rule: data is written as it is, byte for byte. Words are one line each and hold no control characters, because
recorded text may hold some that a terminal would obey.
"""

import os
import stat
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from operator import length_hint
from typing import TypeVar

from holdfast.errors import InputError

NO_COLOUR = "NO_COLOR"
_STYLES = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "note": "\x1b[1;36m", "hint": "\x1b[1;32m"}
_RESET = "\x1b[0m"


def write(data: str | bytes) -> None:
    """Data for whoever reads our output, UTF-8 whatever the locale says."""
    raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(raw)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(f"the output cannot be written: {error.strerror}", hint="check the disk") from None


def write_json(value: object) -> None:
    """A value as indented JSON."""
    # Loaded late: errors need this module and no JSON.
    import msgspec  # noqa: PLC0415

    write(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


def say(line: str) -> None:
    sys.stderr.write(printable(line) + "\n")
    sys.stderr.flush()


def say_error(sentence: str) -> None:
    _labelled("error", sentence)


def warn(sentence: str) -> None:
    _labelled("warning", sentence)


def note(sentence: str) -> None:
    _labelled("note", sentence)


def hint(sentence: str) -> None:
    if sentence:
        _labelled("hint", sentence)


def _labelled(label: str, sentence: str) -> None:
    line = printable(sentence).strip().removesuffix(".")
    head = f"{_STYLES[label]}{label}:{_RESET}" if uses_colour(sys.stderr.isatty()) else f"{label}:"
    sys.stderr.write(f"{head} {line}\n")
    sys.stderr.flush()


def uses_colour(terminal: bool) -> bool:
    return terminal and not os.environ.get(NO_COLOUR)


def printable(text: str) -> str:
    """The text on one line, without what a terminal would obey instead of showing."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c.isspace() else "" for c in text)


def format_number(number: int) -> str:
    """12345 as `12 345`."""
    return f"{number:,}".replace(",", " ")


def format_count(number: int, thing: str, things: str = "") -> str:
    """`1 step`, `12 345 steps`, `2 entries`."""
    return f"{format_number(number)} {thing if number == 1 else things or thing + 's'}"


# What is piped into a command.
#
# Rule: nothing is read from a terminal or a device, and a pipe that nobody closes is said, not waited for in silence.

PATIENCE = 3.0
"""Seconds after which a person is told what is waited for."""


def is_piped() -> bool:
    """Whether stdin is a pipe, a socket or a file."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (AttributeError, OSError, ValueError):  # There is none, or one of a program that holds ours.
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISREG(mode)


def read_piped() -> str:
    """All of it, or nothing where nothing is piped in."""
    if not is_piped():
        return ""
    waiting = threading.Timer(
        PATIENCE, note, ["stdin is read to its end; where nothing is to come, run with `< /dev/null`"]
    )
    waiting.daemon = True
    waiting.start()
    try:
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    finally:
        waiting.cancel()


# What a person sees while a command works: a bar on a terminal, nothing anywhere else.
#
# Rule: progress is drawn on stderr and is gone before anything else is said, be it an error.

T = TypeVar("T")


@contextmanager
def show_activity(what: str, *, shown: bool = True) -> Iterator[None]:
    """A bar without an end, for work whose size is not known. Short work is not `shown`: it would only flicker."""
    with track((), what, shown=shown):
        yield


@contextmanager
def track(
    items: Iterable[T], what: str, *, total: int | None = None, shown: bool = True
) -> Iterator[Iterable[T]]:
    """The items, with a bar that moves as they are taken."""

    def counting(advance: Callable[[int], None]) -> Iterator[T]:
        for item in items:
            yield item
            advance(1)

    with _bar(what, total or length_hint(items) or None, shown=shown, timed=False) as advance:
        yield counting(advance) if advance else items


@contextmanager
def show_progress(what: str, *, total: int) -> Iterator[Callable[[int], None]]:
    """A bar with the time left, for long work of a known size; what is yielded moves it on by so much."""
    with _bar(what, total, shown=True, timed=True) as advance:
        yield advance or (lambda _: None)


@contextmanager
def _bar(what: str, total: int | None, *, shown: bool, timed: bool) -> Iterator[Callable[[int], None] | None]:
    """What moves the bar on; None where nobody would see one."""
    if not shown or not sys.stderr.isatty():
        yield None
        return
    # Loaded late: most runs have no terminal, or end before a bar would show.
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True, color_system="auto" if uses_colour(True) else None)
    words = TextColumn("{task.description}", markup=False)
    percent = TextColumn("{task.percentage:>3.0f} %")
    measures = (percent, TimeRemainingColumn()) if timed else (MofNCompleteColumn(),)
    with Progress(words, BarColumn(), *measures, console=console, transient=True) as progress:
        task = progress.add_task(printable(what), total=total)
        yield lambda amount: progress.advance(task, amount)
