"""Files that Read does not show line by line: notebooks, cell by cell, and pictures, as they are.

Rule: a picture that a provider would refuse never becomes a part: it would be sent again with every later request,
and each would fail. Outputs of a notebook are shortened, and what is left out is said.
"""

import os
import re
from base64 import b64encode

import msgspec

from holdfast.image_size import image_size
from holdfast.messages import Image, Json
from holdfast.tools.envelope import ToolError, ToolResult, tool_result
from holdfast.tools.files.file_text import MOST_BYTES, file_facts
from holdfast.tools.files.snapshots import content_hash
from holdfast.tools.files.text_encoding import escape_bytes
from holdfast.tools.workspace_files import OpenFile

LARGEST = 64 * 1024 * 1024
"""Bytes of a notebook that is read: pictures in outputs make most of that."""

MOST_OUTPUT = 20
"""Lines of an output that are shown, half of them its first."""

WIDEST = 500

_OTHER = ("image/", "application/", "audio/", "video/")
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def read_special_file(opened: OpenFile, first: int, count: int, step: int) -> ToolResult | None:
    """A picture or a notebook; None for any other file."""
    if media_type(os.pread(opened.file.fileno(), 16, 0)):
        return _read_picture(opened, step)
    return _read_notebook(opened, first, count, step) if opened.place.inner.endswith(".ipynb") else None


def _read_notebook(opened: OpenFile, first: int, count: int, step: int) -> ToolResult:
    """Cells from a number on; a negative one counts from the end."""
    shown, status = opened.place.shown, opened.status
    if status.st_size > LARGEST:
        raise ToolError("EXECUTION_ERROR", f"`{shown}` has {status.st_size} bytes; {LARGEST} can be read")
    raw = opened.file.read()
    cells = _cells(raw, shown)
    start = max(len(cells) + first, 0) if first < 0 else max(first, 1) - 1
    if start >= max(len(cells), 1):
        raise ToolError(
            "INVALID_PARAM", f"`offset` {first} lies past the end of `{shown}`: {len(cells)} cells"
        )
    rows, last = _shown_cells(cells, start, count)
    head = f"(notebook `{shown}`, cells {start + 1}-{last} of {len(cells)}; outputs shortened, pictures left out)"
    rest = len(cells) - last
    foot = [f"({rest} more cells: Read with offset {last + 1})"] if rest else []
    total_lines = raw.count(b"\n") + (not raw.endswith(b"\n"))
    data: dict[str, Json] = {
        **file_facts(opened.place, status, content_hash(raw), len(raw), total_lines),
        "cells": [start + 1, last],
        "total_cells": len(cells),
        "truncated": bool(rest),
        "step": step,
    }
    text, amount = "\n".join([head, *rows, *foot]), f"{last - start} of {len(cells)} cells"
    return tool_result(text, amount, data=data, context={"path": shown}, is_partial=bool(rest))


def _shown_cells(cells: list[dict[str, Json]], start: int, count: int) -> tuple[list[str], int]:
    """Rows of the cells that fit, and the number of the last one."""
    rows: list[str] = []
    last, used = start, 0
    for number, cell in enumerate(cells[start : start + count], start + 1):
        cell_rows = _cell_rows(number, cell)
        used += sum(len(row.encode("utf-8", "replace")) + 1 for row in cell_rows)
        if rows and used > MOST_BYTES:
            break
        rows += cell_rows
        last = number
    return rows, last


def _cells(raw: bytes, shown: str) -> list[dict[str, Json]]:
    try:
        book = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ToolError(
            "EXECUTION_ERROR", f"`{shown}` is not a valid notebook: {error}", hint="Read it with `raw` set"
        ) from None
    sheets = book.get("worksheets") if isinstance(book, dict) else None
    source = sheets[0] if isinstance(sheets, list) and sheets and isinstance(sheets[0], dict) else book
    cells = source.get("cells") if isinstance(source, dict) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise ToolError(
            "EXECUTION_ERROR", f"`{shown}` has no cells like a notebook", hint="Read it with `raw` set"
        )
    return cells


def _cell_rows(number: int, cell: dict[str, Json]) -> list[str]:
    kind = str(cell.get("cell_type", "unknown"))
    count = cell.get("execution_count", cell.get("prompt_number"))
    run = f", run {count}" if isinstance(count, int) else ""
    source = _lines(cell.get("source", cell.get("input", "")))
    rows = [f"--- cell {number} ({kind}{run})", *source]
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else []:
        if isinstance(output, dict):
            rows += ["--- output", *_output(output)]
    return rows


def _output(output: dict[str, Json]) -> list[str]:
    if output.get("output_type") in ("error", "pyerr"):
        lines = _lines("\n".join(map(str, output.get("traceback") or [])))
        return _shortened(lines or [f"{output.get('ename')}: {output.get('evalue')}"])
    data = output.get("data", output)
    if not isinstance(data, dict):
        return []
    rows = [f"[{kind} left out]" for kind in data if kind.startswith(_OTHER)]
    text = data.get("text/plain", data.get("text", output.get("text")))
    if text is None and not rows:
        rows = [f"[{kind} left out]" for kind in data if "/" in kind]
    return [*_shortened(_lines(text or "")), *rows]


def _lines(value: Json) -> list[str]:
    """A notebook has a text as one string or as its lines."""
    text = "".join(map(str, value)) if isinstance(value, list) else str(value)
    text = escape_bytes(_COLOURS.sub("", text))[0]
    return text.removesuffix("\n").split("\n") if text else []


def _shortened(lines: list[str]) -> list[str]:
    cut = [line if len(line) <= WIDEST else f"{line[:WIDEST]}… [{len(line)} characters]" for line in lines]
    if len(cut) <= MOST_OUTPUT:
        return cut
    half = MOST_OUTPUT // 2
    return [*cut[:half], f"[{len(cut) - 2 * half} lines left out]", *cut[-half:]]


LARGEST_PICTURE = 3_750_000
"""Bytes: five megabytes as base64, which is what providers take."""

WIDEST_PICTURE = 8_000
"""Pixels along a side that providers take."""

_NAMES = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WebP"}
_LAST = {"image/png": b"IEND", "image/jpeg": b"\xff\xd9", "image/gif": b"\x3b"}


def media_type(head: bytes) -> str:
    """The media type of a picture; empty if the file is not one."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head[:6] in (b"GIF87a", b"GIF89a"):
        return "image/gif"
    return "image/webp" if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else ""


def _read_picture(opened: OpenFile, step: int) -> ToolResult:
    shown, status = opened.place.shown, opened.status
    check_picture_bytes(status.st_size, shown)
    raw = opened.file.read()
    picture, size, text = check_picture(raw, shown)
    data: dict[str, Json] = {
        **file_facts(opened.place, status, content_hash(raw), len(raw), 0),
        "media_type": picture.media_type,
        "pixels": list(size),
        "step": step,
    }
    return tool_result(text, text, picture, data=data, context={"path": shown})


def check_picture_bytes(count: int, shown: str) -> None:
    """A file that is too large is refused before it is read."""
    if count > LARGEST_PICTURE:
        raise _too_large(f"`{shown}` is a picture of {count} bytes; {LARGEST_PICTURE} can be shown")


def check_picture(raw: bytes, shown: str) -> tuple[Image, tuple[int, int], str]:
    """A picture that providers take, its size, and a sentence about it."""
    kind = media_type(raw)
    size = image_size(raw) if kind else None
    if size is None or not _is_whole(raw, kind):
        raise ToolError("BINARY_FILE", f"`{shown}` begins like a picture, but it is damaged")
    pixels = f"{size[0]} × {size[1]} pixels"
    if max(size) > WIDEST_PICTURE:
        raise _too_large(f"`{shown}` is a picture of {pixels}; {WIDEST_PICTURE} along a side can be shown")
    text = f"`{shown}` is a {_NAMES[kind]} picture of {pixels}, {len(raw)} bytes."
    return Image(kind, b64encode(raw).decode()), size, text


def _too_large(message: str) -> ToolError:
    return ToolError("BINARY_FILE", message, hint="Make a smaller copy with Bash and read that")


def _is_whole(raw: bytes, kind: str) -> bool:
    """Whether a picture goes on to its end; one that was cut is refused by providers."""
    if kind == "image/webp":
        return len(raw) >= int.from_bytes(raw[4:8], "little") + 8
    return _LAST[kind] in raw[-1024:]
