"""A first look at a recording: its format, title and model, from the beginning of its file.

Rule: a look costs the same whatever the size of the file. The beginning is read by the format's own reader, so a
title is the one that the whole recording would get, unless the agent wrote a better one further down.
"""

import re
from contextlib import suppress

from msgspec import Struct

from holdfast.errors import InputError
from holdfast.events import LogStarted
from holdfast.messages import Json
from holdfast.recordings.json_lines import BOM, RecordingFile
from holdfast.recordings.recording_files import READERS, VALUE_READERS, detect_format
from holdfast.wire.foreign_json import decode_or_none, text
from holdfast.wire.message_checks import is_message
from holdfast.wire.recording_builder import RecordingBuilder

BEGINNINGS = (1 << 14, 1 << 17, 1 << 20)
"""Bytes of a file that are looked at: more only where fewer have no title."""
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+(")?|[{}\[\],]', re.DOTALL)
_ENDS = {b"{": b"}", b"[": b"]"}


class FirstLook(Struct, frozen=True):
    """`is_one` is true where the file is known to hold one recording; others may hold several."""

    format: str
    title: str
    model: str
    is_one: bool


NOTHING = FirstLook("", "", "", is_one=True)


def look_at_file(file: RecordingFile, format: str | None = None) -> FirstLook:  # noqa: A002
    """Raises InputError for what is no recording."""
    for size in BEGINNINGS[:-1]:
        raw = file.beginning(size)
        with suppress(InputError):
            look = look_at(raw, file.name, format, is_whole=len(raw) < size)
            if look.title or len(raw) < size:
                return look
    raw = file.beginning(BEGINNINGS[-1])
    return look_at(raw, file.name, format, is_whole=len(raw) < BEGINNINGS[-1])


def look_at_line(line: bytes, name: str, format: str | None = None) -> FirstLook:  # noqa: A002
    """The look at one line of a file that has many recordings, only as far into it as a title needs."""
    look = NOTHING
    for size in BEGINNINGS:
        with suppress(InputError):
            look = look_at(line[:size], name, format)
        if look.title or len(line) <= size:
            break
    return look


def look_at(raw: bytes, name: str, format: str | None = None, *, is_whole: bool = False) -> FirstLook:  # noqa: A002
    """The look at the beginning of a file, or at a line of it."""
    if not raw.strip():
        raise InputError(f"{name} is empty", hint="a recording has at least one message")
    values, is_document = _values(raw.removeprefix(BOM).lstrip())
    found = format or detect_format(values, name)
    is_one = found in READERS or is_message(values[0])
    if not is_one:
        is_list = isinstance(values[0], list) and not is_message(next(iter(values[0]), None))
        # A long line may be the first of many.
        is_one = len(values) == 1 and not is_list and (is_whole or is_document)
        values = values[0][:1] if is_list else values[:1]
    started = _started(values, found)
    return FirstLook(found, started.title, text(started.meta.get("model")), is_one)


def _values(raw: bytes) -> tuple[list[Json], bool]:
    """The values of the whole lines, or of a document as far as it goes; whether the document has many lines."""
    lines = raw.split(b"\n")
    values = [value for value in map(decode_or_none, lines) if value is not None]
    is_document = len(lines) > 1 and decode_or_none(lines[0]) is None
    if values and not is_document:
        return values, False
    document = decode_or_none(close_json(raw))
    return [document] if document is not None else [], is_document


def _started(values: list[Json], format: str) -> LogStarted:  # noqa: A002
    """How the recording would begin if this were all of it."""
    builder = RecordingBuilder(format)
    with suppress(InputError):
        if format in READERS:
            read = READERS[format]((value for value in values if isinstance(value, dict)), builder)
        else:
            read = VALUE_READERS[format](values if is_message(values[0]) else values[0], builder, "look")
        started = read.events[0].event
        assert isinstance(started, LogStarted)
        return started
    return LogStarted()


def close_json(raw: bytes) -> bytes:
    """The beginning of a JSON value, ended after the last part of it that is whole."""
    ends: list[bytes] = []
    stop, rest = 0, b""
    for token in _TOKEN.finditer(raw):
        sign = token[0][:1]
        if sign == b'"':
            if token[1] is None:
                break
            continue
        if sign in _ENDS:
            ends.append(_ENDS[sign])
        elif sign != b"," and ends:
            ends.pop()
        stop = token.start() if sign == b"," else token.end()
        rest = b"".join(reversed(ends))
        if not ends:
            break
    return raw[:stop] + rest
