"""Data to stdout, words to stderr.

Rule: data is written as it is, byte for byte. Words are one line each and hold no control characters, because
recorded text may hold some that a terminal would obey.
"""

import os
import sys

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


def complain(sentence: str) -> None:
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
    head = f"{_STYLES[label]}{label}:{_RESET}" if is_colourful(sys.stderr.isatty()) else f"{label}:"
    sys.stderr.write(f"{head} {line}\n")
    sys.stderr.flush()


def is_colourful(terminal: bool) -> bool:
    return terminal and not os.environ.get(NO_COLOUR)


def printable(text: str) -> str:
    """The text on one line, without what a terminal would obey instead of showing."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c.isspace() else "" for c in text)


def grouped(number: int) -> str:
    """12345 as `12 345`."""
    return f"{number:,}".replace(",", " ")


def counted(number: int, thing: str, things: str = "") -> str:
    """`1 step`, `12 345 steps`, `2 entries`."""
    return f"{grouped(number)} {thing if number == 1 else things or thing + 's'}"
