"""Pictures and notebooks."""

import json
import struct
import zlib
from base64 import b64decode

import pytest

from holdfast.messages import Image, ToolCall
from holdfast.packing.counting.families import pixel_size
from holdfast.packing.presence import lines_read
from holdfast.tool_use import recognize_tool
from holdfast.tools.files.special_files import LARGEST_PICTURE
from support.file_tools import FileTools, code, text
from support.logs import PIXEL


@pytest.fixture
def tools(tmp_path):
    return FileTools(tmp_path)


def png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"\0" * ((width + 1) * min(height, 9)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


JPEG = (
    b"\xff\xd8\xff\xe0\x00\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0"
    b"\xff\xc0\x00\x0b\x08\x00\x20\x00\x40\x01\x01\x11\x00\xff\xda\x00\x08\x01\x01\0\0\x3f\0\x12\xff\xd9"
)
GIF = b"GIF89a\x40\x00\x20\x00\x80\0\0" + b"\0" * 20 + b"\x3b"
WEBP = (
    b"RIFF"
    + struct.pack("<I", 30)
    + b"WEBPVP8X"
    + struct.pack("<I", 10)
    + b"\0" * 4
    + b"\x3f\0\0\x1f\0\0"
    + b"\0" * 8
)
LOSSLESS = (
    b"RIFF"
    + struct.pack("<I", 30)
    + b"WEBPVP8L"
    + struct.pack("<I", 10)
    + b"\x2f"
    + struct.pack("<I", 63 | 31 << 14)
)
LOSSY = (
    b"RIFF"
    + struct.pack("<I", 30)
    + b"WEBPVP8 "
    + struct.pack("<I", 10)
    + b"\0\0\0\x9d\x01\x2a"
    + struct.pack("<HH", 64, 32)
)


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (png(64, 32), "image/png"),
        (JPEG, "image/jpeg"),
        (GIF, "image/gif"),
        (WEBP, "image/webp"),
        (LOSSLESS + b"\0" * 13, "image/webp"),
        (LOSSY + b"\0" * 8, "image/webp"),
    ],
    ids=["png", "jpeg", "gif", "webp", "webp-lossless", "webp-lossy"],
)
def test_a_picture_is_a_part_of_its_own(tools, raw, kind):
    # The bytes say what it is, not the name.
    (tools.root / "logo.txt").write_bytes(raw)
    result = tools.read("logo.txt")
    name = {"image/webp": "WebP"}.get(kind, kind[6:].upper())
    assert text(result) == f"`logo.txt` is a {name} picture of 64 × 32 pixels, {len(raw)} bytes."
    (part,) = (p for p in result.parts if isinstance(p, Image))
    assert part.media_type == kind
    assert b64decode(part.data) == raw
    assert pixel_size(part) == (64, 32)
    assert result.envelope.data["media_type"] == kind


def test_a_picture_that_a_provider_would_refuse_is_none(tools):
    cases = {
        "cut.png": png(64, 32)[:-12],
        "wide.png": png(9000, 5),
        "empty.png": png(0, 5),
        "short.jpg": JPEG[:12],
        "short.webp": WEBP[:20],
        "large.png": png(64, 32) + b"\0" * LARGEST_PICTURE,
    }
    for name, raw in cases.items():
        (tools.root / name).write_bytes(raw)
        assert code(tools.read(name)) == "BINARY_FILE", name
    assert "9000 × 5 pixels" in text(tools.read("wide.png"))


def test_a_picture_that_was_seen_may_be_replaced_and_one_that_was_not_may_not(tools):
    (tools.root / "a.png").write_bytes(b64decode(PIXEL))
    assert code(tools.write("a.png", "text\n")) == "ACCESS_DENIED"
    tools.read("a.png")
    assert code(tools.edit("a.png", "PNG", "x")) == "BINARY_FILE"
    assert not tools.write("a.png", "text\n").is_error
    tools.undo()
    assert (tools.root / "a.png").read_bytes() == b64decode(PIXEL)


def notebook(*cells):
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def code_cell(source, *outputs, count=None):
    return {
        "cell_type": "code",
        "execution_count": count,
        "metadata": {},
        "source": source,
        "outputs": list(outputs),
    }


BOOK = notebook(
    {"cell_type": "markdown", "metadata": {}, "source": ["# Title\n", "words"]},
    code_cell(
        "x = 1\nplot(x)",
        {"output_type": "stream", "name": "stdout", "text": [f"line {n}\n" for n in range(100)]},
        {
            "output_type": "display_data",
            "data": {"image/png": PIXEL, "text/plain": "<Figure>"},
            "metadata": {},
        },
        count=3,
    ),
    code_cell(
        ["1/0"],
        {
            "output_type": "error",
            "ename": "ZeroDivisionError",
            "evalue": "division by zero",
            "traceback": ["\x1b[0;31mZeroDivisionError\x1b[0m: division by zero"],
        },
    ),
)


def test_a_notebook_is_read_cell_by_cell(tools):
    (tools.root / "a.ipynb").write_text(BOOK)
    result = tools.read("a.ipynb")
    lines = text(result).split("\n")
    assert lines[:8] == [
        "(notebook `a.ipynb`, cells 1-3 of 3; outputs shortened, pictures left out)",
        "--- cell 1 (markdown)",
        "# Title",
        "words",
        "--- cell 2 (code, run 3)",
        "x = 1",
        "plot(x)",
        "--- output",
    ]
    assert "[80 lines left out]" in lines
    assert "[image/png left out]" in lines
    assert lines[-3:] == ["1/0", "--- output", "ZeroDivisionError: division by zero"]
    assert PIXEL not in text(result)
    assert result.envelope.data["total_cells"] == 3
    # Cells are no lines of the file.
    assert lines_read(recognize_tool(ToolCall("c", "Read", {"path": "a.ipynb"})), text(result)).lines == {}


def test_cells_can_be_paged(tools):
    (tools.root / "a.ipynb").write_text(BOOK)
    result = tools.read("a.ipynb", offset=2, limit=1)
    assert "--- cell 2" in text(result)
    assert "--- cell 1" not in text(result)
    assert text(result).endswith("(1 more cells: Read with offset 3)")
    assert "--- cell 3" in text(tools.read("a.ipynb", offset=-1))
    assert code(tools.read("a.ipynb", offset=4)) == "INVALID_PARAM"


def test_a_notebooks_json_can_be_read_and_edited(tools):
    path = tools.root / "a.ipynb"
    path.write_text(BOOK)
    assert '   "# Title\\n",' in text(tools.read("a.ipynb", raw=True))
    assert not tools.edit("a.ipynb", "# Title", "# Other").is_error
    assert path.read_text() == BOOK.replace("# Title", "# Other")


@pytest.mark.parametrize("raw", ["{", "[]", '{"cells": 1}', "{}"], ids=["cut", "list", "number", "none"])
def test_what_is_no_notebook_can_still_be_read_raw(tools, raw):
    (tools.root / "a.ipynb").write_text(raw)
    result = tools.read("a.ipynb")
    assert code(result) == "EXECUTION_ERROR"
    assert "`raw`" in text(result)
    assert text(tools.read("a.ipynb", raw=True)).startswith(f"     1\t{raw}")


def test_old_notebooks_and_odd_cells(tools):
    book = {
        "worksheets": [{"cells": [{"cell_type": "code", "input": "y", "prompt_number": 2, "outputs": [7]}]}]
    }
    (tools.root / "old.ipynb").write_text(json.dumps(book))
    assert "--- cell 1 (code, run 2)\ny" in text(tools.read("old.ipynb"))
    (tools.root / "none.ipynb").write_text(notebook())
    assert "of 0" in text(tools.read("none.ipynb"))
