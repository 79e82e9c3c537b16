"""Notebooks, cell by cell: the source with its number, the outputs shortened.

Rule: the source of a shown cell is whole; what an output leaves out is counted.
"""

import re

import msgspec

from holdfast.messages import Json
from holdfast.tools.envelope import Envelope, ToolError, ToolResult, answered
from holdfast.tools.files.rows import MOST_BYTES
from holdfast.tools.files.seen import place_data
from holdfast.tools.files.snapshots import id_of
from holdfast.tools.files.texts import displayed
from holdfast.tools.places import OpenFile, Place

LARGEST = 64 * 1024 * 1024
"""Bytes of a notebook that is read: pictures in outputs make most of that."""

MOST_OUTPUT = 20
"""Lines of an output that are shown, half of them its first."""

WIDEST = 500

_OTHER = ("image/", "application/", "audio/", "video/")
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def is_notebook(place: Place) -> bool:
    return place.inner.endswith(".ipynb")


def read_notebook(opened: OpenFile, first: int, count: int, step: int) -> ToolResult:
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
    data: dict[str, Json] = {
        **place_data(opened.place),
        "hash": id_of(raw),
        "size": len(raw),
        "mtime_ns": status.st_mtime_ns,
        "total_lines": raw.count(b"\n") + (not raw.endswith(b"\n")),
        "cells": [start + 1, last],
        "total_cells": len(cells),
        "truncated": bool(rest),
        "step": step,
    }
    envelope = Envelope(
        status="partial" if rest else "success",
        text="\n".join([head, *rows, *foot]),
        data=data,
        context={"path": shown},
    )
    return answered(envelope, f"{last - start} of {len(cells)} cells")


def _shown_cells(cells: list[dict[str, Json]], start: int, count: int) -> tuple[list[str], int]:
    """Rows of the cells that fit, and the number of the last one."""
    rows: list[str] = []
    last, used = start, 0
    for number, cell in enumerate(cells[start : start + count], start + 1):
        told = _told(number, cell)
        used += sum(len(row.encode("utf-8", "replace")) + 1 for row in told)
        if rows and used > MOST_BYTES:
            break
        rows += told
        last = number
    return rows, last


def _cells(raw: bytes, shown: str) -> list[dict[str, Json]]:
    try:
        book = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ToolError(
            "EXECUTION_ERROR", f"`{shown}` is no valid notebook: {error}", hint="Read it with `raw` set"
        ) from None
    sheets = book.get("worksheets") if isinstance(book, dict) else None
    source = sheets[0] if isinstance(sheets, list) and sheets and isinstance(sheets[0], dict) else book
    cells = source.get("cells") if isinstance(source, dict) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise ToolError(
            "EXECUTION_ERROR", f"`{shown}` has no cells as a notebook has", hint="Read it with `raw` set"
        )
    return cells


def _told(number: int, cell: dict[str, Json]) -> list[str]:
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
    text = displayed(_COLOURS.sub("", text))[0]
    return text.removesuffix("\n").split("\n") if text else []


def _shortened(lines: list[str]) -> list[str]:
    cut = [line if len(line) <= WIDEST else f"{line[:WIDEST]}… [{len(line)} characters]" for line in lines]
    if len(cut) <= MOST_OUTPUT:
        return cut
    half = MOST_OUTPUT // 2
    return [*cut[:half], f"[{len(cut) - 2 * half} lines left out]", *cut[-half:]]
