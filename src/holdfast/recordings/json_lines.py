"""A recording file as lines of JSON, plain or gzip.

Rule: lines end at b"\\n" and nowhere else, since recorded text is full of the other line breaks. Bytes become
values or raise an `InputError` that names file, line and reason; what was forgiven is said in the file's notes.
"""

import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NoReturn

import msgspec
from msgspec import Struct

from holdfast.errors import InputError
from holdfast.messages import Json
from holdfast.wire.foreign_json import DECODER, DEPTH, SURROGATE, Losses, is_too_deep, replace_lone_surrogates

GZIP = b"\x1f\x8b"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
BOM = b"\xef\xbb\xbf"
CHUNK = 1 << 18
OFFSET = re.compile(r" ?\(byte (\d+)\)")
SPACE = re.compile(r"[ \t\r\n]*")
RESTORE = "restore the file from a copy, or download it again"


class FileLine(Struct, frozen=True):
    """`ended` is False for a last line without a newline: it may be torn."""

    number: int
    raw: bytes
    ended: bool = True


class RecordingFile:
    """A file that a person gave. `notes` say what was forgiven while it was read; `lost_recordings` is set where
    that cost whole recordings."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        self.notes: list[str] = []
        self.lost_recordings = False

    def lines(self) -> Iterator[FileLine]:
        """Every physical line, blank ones too, so that numbers are those an editor shows."""
        number = 1
        pieces: list[bytes] = []
        for chunk in self._chunks():
            *ended, rest = chunk.split(b"\n")
            for piece in ended:
                pieces.append(piece)
                yield FileLine(number, b"".join(pieces))
                pieces.clear()
                number += 1
            pieces.append(rest)
        if last := b"".join(pieces):
            yield FileLine(number, last, ended=False)

    def beginning(self, most: int) -> bytes:
        """The first bytes, at most so many."""
        pieces: list[bytes] = []
        left = most
        for chunk in self._chunks(most):
            pieces.append(chunk[:left])
            left -= len(pieces[-1])
            if not left:
                break
        return b"".join(pieces)

    def _chunks(self, size: int = CHUNK) -> Iterator[bytes]:
        try:
            with self.path.open("rb") as file:
                start = file.peek(4)[:4]
                if start.startswith(GZIP):
                    yield from self._inflated(file, size)
                else:
                    self._check_start(start)
                    # As much as there is: `read` would wait for a whole chunk, deaf to Ctrl+C between its parts.
                    while chunk := file.read1(size):
                        yield chunk
        except FileNotFoundError as error:
            raise InputError(f"{self.path} does not exist", hint="check the path") from error
        except IsADirectoryError as error:
            raise InputError(
                f"{self.path} is a directory, not a recording", hint="name one file in it"
            ) from error
        except OSError as error:
            raise InputError(
                f"{self.path} cannot be read: {error.strerror}", hint="check the file"
            ) from error

    def _inflated(self, file: BinaryIO, size: int) -> Iterator[bytes]:
        line = 1
        is_empty = True
        with gzip.GzipFile(fileobj=file) as stream:
            while True:
                try:
                    chunk = stream.read1(size)
                except EOFError as error:
                    if is_empty:
                        raise self._damaged(line, error) from error
                    self.notes.append(f"the gzip data is cut off in line {line}; the rest is missing")
                    return
                except (zlib.error, gzip.BadGzipFile) as error:
                    raise self._damaged(line, error) from error
                if not chunk:
                    return
                is_empty = False
                line += chunk.count(b"\n")
                yield chunk

    def _damaged(self, line: int, error: Exception) -> InputError:
        reason = str(error).rstrip(".")
        return InputError(
            f"{self.name} line {line} is damaged: its gzip data cannot be read ({reason})",
            hint=RESTORE,
        )

    def _check_start(self, start: bytes) -> None:
        if self.path.suffix == ".gz" and start:
            raise InputError(
                f"{self.name} is named `.gz` but is not gzip data",
                hint="rename it if it is plain text, or download it again",
            )
        if start.startswith(UTF16):
            raise InputError(
                f"{self.name} line 1 is UTF-16; a recording is UTF-8",
                hint=f"convert it: `iconv -f UTF-16 -t UTF-8 {self.name}`",
            )


def check_complete(files: Iterable[RecordingFile]) -> None:
    """Raises `InputError` if whole recordings were lost in files that have been read to their end."""
    lost = [f"{file.name}: {'; '.join(file.notes)}" for file in files if file.lost_recordings]
    if lost:
        raise InputError(
            f"recordings are missing: {'; '.join(lost)}",
            hint="the recordings before the damage were used; restore the file from a copy for the rest",
        )


def json_lines(file: RecordingFile) -> Iterator[FileLine]:
    """Lines that hold whole JSON values; a document spread over many lines is one line here."""
    physical = file.lines()
    first = next((line for line in physical if line.raw.strip()), None)
    if first is None:
        raise InputError(f"{file.name} is empty", hint="a recording has at least one message")
    first = FileLine(first.number, first.raw.removeprefix(BOM), first.ended)
    if _parses(file, first):
        yield from _without_torn_end(file, chain([first], physical))
        return
    rest = list(physical)
    second = next((line for line in rest if line.raw.strip()), None)
    document = FileLine(first.number, b"\n".join([first.raw, *(line.raw for line in rest)]))
    if _parses(file, document):
        yield document
    elif second is not None and _parses(file, second):
        yield from _without_torn_end(file, [first, *rest])
    else:
        _refuse_truncated(file, document)
        yield document


def _refuse_truncated(file: RecordingFile, document: FileLine) -> None:
    """A document that ends too early: no single line can be deleted to make it whole."""
    last = _line_at(document.raw, len(document.raw.rstrip()), document.number)
    if file.notes:
        raise InputError(
            f"{file.name} is cut off: its gzip data ends in line {last}, before any whole value",
            hint=RESTORE,
        )
    try:
        DECODER.decode(document.raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if "truncated" in str(error):
            raise InputError(
                f"{file.name} line {last} is not valid JSON: the file ends in the middle of a value",
                hint="restore the file from a copy; or delete the unfinished value at its end and the comma before "
                "it, and close the brackets that are still open, such as with `]`",
            ) from error


def _without_torn_end(file: RecordingFile, lines: Iterable[FileLine]) -> Iterator[FileLine]:
    """Held back by one line, so that the reader of the last whole line finds the note about the torn one."""
    held: FileLine | None = None
    for line in lines:
        if not line.raw.strip():
            continue
        kept: FileLine | None = line
        if not line.ended and not _parses(file, line):
            file.notes.append(f"line {line.number}, the last one, is torn and was left out")
            text = line.raw.decode("utf-8", "surrogateescape")
            whole = [text[:stop] for _, stop in _spans(text)][-1:]
            kept = FileLine(line.number, whole[0].encode("utf-8", "surrogateescape")) if whole else None
        if held is not None:
            yield held
        held = kept
    if held is not None:
        yield held


def _parses(file: RecordingFile, line: FileLine) -> bool:
    try:
        decode_line(line.raw, file.name, line.number, Losses())
    except InputError:
        return False
    return True


def decode_line(raw: bytes, name: str, line: int, losses: Losses) -> list[Json]:
    """The values on one line: nearly always one, several where a newline was lost."""
    try:
        values = [DECODER.decode(raw)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        values = _second_look(raw, name, line, losses, error)
    for value in values:
        if is_too_deep(value):
            _refuse_depth(name, line)
    return values


def _second_look(raw: bytes, name: str, line: int, losses: Losses, error: Exception) -> list[Json]:
    if isinstance(error, RecursionError):
        _refuse_depth(name, line)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as bad:
        _refuse_byte(raw, bad.start, name, line, "is not valid UTF-8")
    if (nul := raw.find(b"\0")) >= 0:
        _refuse_byte(raw, nul, name, line, "is a NUL")
    if SURROGATE.search(raw) and (better := replace_lone_surrogates(raw, losses)) != raw:
        return decode_line(better, name, line, losses)
    spans = _spans(text)
    if len(spans) > 1 and not text[spans[-1][1] :].strip():
        losses.add("read apart", f"values that share line {line} (a lost newline)", len(spans))
        return [DECODER.decode(text[start:stop].encode()) for start, stop in spans]
    found = OFFSET.search(str(error))
    at = int(found[1]) if found else len(raw)
    reason = OFFSET.sub("", str(error)).removeprefix("JSON is malformed: ")
    raise InputError(
        f"{name} line {_line_at(raw, at, line)} is not valid JSON: {reason[:1].lower()}{reason[1:]}",
        hint="a recording is JSON or JSON lines; only a last line may be cut off. Restore it, or delete the line",
    ) from error


def _spans(text: str) -> list[tuple[int, int]]:
    """Where whole values begin and end, up to the first thing that is not one."""
    scan = json.JSONDecoder().raw_decode
    spans: list[tuple[int, int]] = []
    stop = 0
    while (space := SPACE.match(text, stop)) and (start := space.end()) < len(text):
        try:
            _, stop = scan(text, start)
        except (ValueError, RecursionError):
            break
        spans.append((start, stop))
    return spans


def _line_at(raw: bytes, at: int, first: int) -> int:
    return first + raw.count(b"\n", 0, at)


def _refuse_byte(raw: bytes, at: int, name: str, line: int, what: str) -> NoReturn:
    start = raw.rfind(b"\n", 0, at) + 1
    raise InputError(
        f"{name} line {_line_at(raw, at, line)} is damaged: byte {at - start} of the line {what}",
        hint="restore the file from a copy; a recording is UTF-8 text without NUL bytes",
    )


def _refuse_depth(name: str, line: int) -> NoReturn:
    raise InputError(
        f"{name} line {line} nests JSON more than {DEPTH} levels deep",
        hint="no agent writes this; check that the file is a recording",
    )
