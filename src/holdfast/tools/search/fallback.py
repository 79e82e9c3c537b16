"""A small program that answers as ripgrep does, for systems where there is none.

Rule: same files, same counts, same positions. Patterns are Python's regular expressions, which agree with ripgrep's
on all that models usually write; look-around and classes such as `\\p{L}` are where they part.
"""

import codecs
import json
import os
import re
import sys
from collections.abc import Callable, Iterator

import msgspec

from holdfast.tools.search.path_patterns import VERSION_CONTROL, IgnoreScope, compile_glob, ignore_scope
from holdfast.tools.search.ripgrep import FileWalk, LineRequest, SearchPattern

_LARGEST = 256 * 1024 * 1024
"""Bytes of a file that are searched."""

_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def main(arguments: list[str]) -> int:
    what, asked = arguments[0], json.loads(arguments[1])
    matching = msgspec.convert(asked.get("matching", {"pattern": ""}), SearchPattern)
    try:
        expression = compiled_pattern(matching)
    except re.error as error:
        sys.stderr.write(f"error: {error.msg}\n")
        return 2
    match what:
        case "files":
            _write_files(msgspec.convert(asked["walking"], FileWalk))
        case "counts":
            _write_counts(expression, msgspec.convert(asked["walking"], FileWalk))
        case _:
            _write_positions(expression, msgspec.convert(asked["picking"], LineRequest))
    return 0


def compiled_pattern(matching: SearchPattern) -> re.Pattern[str]:
    pattern = re.escape(matching.pattern) if matching.literal else matching.pattern
    return re.compile(pattern, re.IGNORECASE if matching.ignore_case else 0)


def walk(walking: FileWalk) -> Iterator[str]:
    """Regular files below the folder we are in, as `./path`. Links are not followed."""
    if walking.target != "./":
        yield walking.target
        return
    here = os.getcwd()  # noqa: PTH109 - names may hold bytes that are no text
    wanted = _named(walking.names)
    stack = [("", IgnoreScope() if walking.include_ignored else ignore_scope(here))]
    while stack:
        inner, scope = stack.pop()
        for item, is_directory in _entries(f"./{inner}"):
            path = f"{inner}{item.name}"
            whole = f"{here.rstrip('/')}/{path}"
            if item.name in VERSION_CONTROL or scope.ignores(whole, is_directory):
                continue
            if is_directory:
                stack.append((f"{path}/", scope if walking.include_ignored else scope.entered(whole)))
            elif item.is_file(follow_symlinks=False) and wanted(item.name):
                yield f"./{path}"


def _named(names: str) -> Callable[[str], object]:
    """Who asks has looked whether the glob can be read."""
    return compile_glob(names or "*").fullmatch


def _entries(folder: str) -> Iterator[tuple["os.DirEntry[str]", bool]]:
    try:
        with os.scandir(folder) as found:
            items = [(item, item.is_dir(follow_symlinks=False)) for item in found]
    except OSError as error:
        sys.stderr.write(f"{_named_trouble(folder, error)}\n")
        return
    yield from items


def _named_trouble(path: str, error: OSError) -> str:
    name = os.fsencode(path).decode("utf-8", "replace")
    return f"{name}: {error.strerror} (os error {error.errno})"


def _content(path: str) -> bytes | None:
    """A file as it is searched: without byte order mark, UTF-16 as UTF-8. None if it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            raw = file.read(_LARGEST)
    except OSError as error:
        sys.stderr.write(f"{_named_trouble(path, error)}\n")
        return None
    if encoding := _UTF16.get(raw[:2]):
        return raw[2:].decode(encoding, "replace").encode("utf-8", "replace")
    return raw.removeprefix(codecs.BOM_UTF8)


def _lines(content: bytes) -> list[bytes]:
    lines = content.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def _decoded(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")


def _column(expression: re.Pattern[str], line: bytes) -> int:
    """Where a line matches first, in bytes from 1; 0 if it does not."""
    text = _decoded(line)
    found = expression.search(text)
    return len(text[: found.start()].encode("utf-8", "surrogateescape")) + 1 if found else 0


def _write(row: bytes) -> None:
    sys.stdout.buffer.write(row)


def _write_files(walking: FileWalk) -> None:
    for path in walk(walking):
        _write(os.fsencode(path) + b"\0")


def _write_counts(expression: re.Pattern[str], walking: FileWalk) -> None:
    for path in walk(walking):
        content = _content(path)
        if content is None:
            continue
        nul = content.find(b"\0")
        if nul >= 0:
            name = os.fsencode(path)
            sys.stderr.buffer.write(b"ignoring %s: found binary data at offset %d\n" % (name, nul))
            continue
        count = sum(1 for line in _lines(content) if expression.search(_decoded(line)))
        if count:
            _write(b"%s\0%d\n" % (os.fsencode(path), count))


def _write_positions(expression: re.Pattern[str], picking: LineRequest) -> None:
    for name in picking.files:
        content = _content(f"./{name}")
        if content is not None:
            _write_positions_in(os.fsencode(name), _lines(content), expression, picking)


def _write_positions_in(
    name: bytes, lines: list[bytes], expression: re.Pattern[str], picking: LineRequest
) -> None:
    columns: dict[int, int] = {}
    end = len(lines)
    for number, line in enumerate(lines):
        if number >= end:
            break
        if column := _column(expression, line):
            columns[number] = column
            if len(columns) == picking.most:
                # The lines around the last match are still looked at: a match among them is shown as one.
                end = min(end, number + 1 + picking.context)
    counted = list(columns)[: picking.most]
    near = {n + step for n in counted for step in range(-picking.context, picking.context + 1)}
    offset = 0
    for number, line in enumerate(lines):
        if number in columns:
            _write(b"./%s\0%d:%d:%d:\n" % (name, number + 1, columns[number], offset))
        elif number in near:
            _write(b"./%s\0%d-%d-\n" % (name, number + 1, offset))
        offset += len(line) + 1
