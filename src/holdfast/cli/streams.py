"""The three streams: data on stdout, messages and progress on stderr, and what is piped into stdin.

Rule: data is written byte for byte. A message is one line without control characters, because recorded text may
hold some that a terminal would obey. Progress is drawn on a terminal only, and is gone before the next message.
"""

import os
import stat
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from operator import length_hint
from pathlib import Path
from typing import BinaryIO, TypeVar

from holdfast.errors import InputError

T = TypeVar("T")

NO_COLOUR = "NO_COLOR"
_STYLES = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "note": "\x1b[1;36m", "hint": "\x1b[1;32m"}
_RESET = "\x1b[0m"


def write(data: str | bytes) -> None:
    """Write data to stdout, in UTF-8 whatever the locale says."""
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
    """Write a value to stdout as indented JSON."""
    # Imported late: error messages need this module, but no JSON.
    import msgspec  # noqa: PLC0415

    write(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


def write_file(path: Path, data: bytes) -> None:
    with _say_unwritable(path):
        path.write_bytes(data)


def replace_file(path: Path, chunks: Iterable[bytes], *, mode: int = 0o666) -> None:
    """Write the whole file or none of it. `mode` are its permissions, less the umask."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with _say_unwritable(path):
        try:
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
                file.writelines(chunks)
            draft.replace(path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise


def open_output(path: Path) -> BinaryIO:
    with _say_unwritable(path):
        return path.open("wb")


def check_writable(path: Path | None) -> None:
    """Refuse a place that cannot be written before a long run, not after it."""
    if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
        why = "it is a folder" if path.is_dir() else "its folder does not exist"
        raise InputError(f"`{path}` cannot be written: {why}", hint="choose another place")


@contextmanager
def _say_unwritable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(
            f"`{path}` cannot be written: {error.strerror}", hint="choose another place"
        ) from None


def say(line: str) -> None:
    sys.stderr.write(printable(line) + "\n")
    sys.stderr.flush()


def _labelled(label: str, sentence: str) -> None:
    """A sentence behind its label; nothing for an empty hint."""
    line = printable(sentence).strip().removesuffix(".")
    head = f"{_STYLES[label]}{label}:{_RESET}" if uses_colour(sys.stderr.isatty()) else f"{label}:"
    if sentence or label != "hint":
        sys.stderr.write(f"{head} {line}\n")
        sys.stderr.flush()


say_error, warn = partial(_labelled, "error"), partial(_labelled, "warning")
note, hint = partial(_labelled, "note"), partial(_labelled, "hint")


def uses_colour(terminal: bool) -> bool:
    return terminal and not os.environ.get(NO_COLOUR) and os.environ.get("TERM") != "dumb"


def printable(text: str) -> str:
    """The text on one line, without control characters."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c.isspace() else "" for c in text)


SILENCE_SECONDS = 3.0
"""How long stdin is read before a message says so."""


def read_piped() -> str:
    """Read stdin to its end if it is a pipe, a socket or a file, else nothing: never a terminal or a device."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (AttributeError, OSError, ValueError):  # there is no stdin, or one without a file descriptor
        return ""
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISREG(mode)):
        return ""
    waiting = threading.Timer(
        SILENCE_SECONDS, note, ["reading stdin to its end; if nothing is piped in, add `< /dev/null`"]
    )
    waiting.daemon = True
    waiting.start()
    try:
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    finally:
        waiting.cancel()


@contextmanager
def track(
    items: Iterable[T], what: str, *, total: int | None = None, shown: bool = True
) -> Iterator[Iterable[T]]:
    """The items, with a bar that moves as they are taken."""

    def counting() -> Iterator[T]:
        for item in items:
            yield item
            advance(1)

    with show_activity(what, total=total or length_hint(items) or None, shown=shown) as advance:
        yield counting()


@contextmanager
def show_activity(
    what: str, *, total: int | None = None, shown: bool = True, timed: bool = False
) -> Iterator[Callable[[int], None]]:
    """A bar, without an end if `total` is not known, with the time left if it is `timed`; and the function that
    advances it. Short work is not `shown`: the bar would only flicker."""
    if not shown or not sys.stderr.isatty():
        yield lambda _: None
        return
    # Imported late: most runs have no terminal, or end before a bar would show.
    from rich import progress as bars  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415

    console = Console(stderr=True, color_system="auto" if uses_colour(True) else None)
    words = bars.TextColumn("{task.description}", markup=False)
    percent = bars.TextColumn("{task.percentage:>3.0f}%")
    measures = (percent, bars.TimeRemainingColumn()) if timed else (bars.MofNCompleteColumn(),)
    with bars.Progress(words, bars.BarColumn(), *measures, console=console, transient=True) as progress:
        task = progress.add_task(printable(what), total=total)
        yield lambda amount: progress.advance(task, amount)
