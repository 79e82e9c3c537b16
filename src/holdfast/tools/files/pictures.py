"""Pictures: told by their first bytes, and given to the model as they are.

Rule: a picture that a provider would refuse never becomes a part: it would be sent again with every later request,
and each would fail.
"""

import os
from base64 import b64encode
from struct import unpack

from holdfast.messages import Image, Json
from holdfast.tools.envelope import Envelope, ToolError, ToolResult, answered
from holdfast.tools.files.seen import place_data
from holdfast.tools.files.snapshots import id_of
from holdfast.tools.places import OpenFile

LARGEST = 3_750_000
"""Bytes: five megabytes as base64, which is what providers take."""

WIDEST = 8_000
"""Pixels along a side that providers take."""

_NAMES = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WebP"}
_JPEG_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def is_picture(opened: OpenFile) -> bool:
    return bool(media_type(os.pread(opened.file.fileno(), 16, 0)))


def media_type(head: bytes) -> str:
    """The kind of picture that a file is; empty if it is none."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head[:6] in (b"GIF87a", b"GIF89a"):
        return "image/gif"
    return "image/webp" if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else ""


def read_picture(opened: OpenFile, step: int) -> ToolResult:
    shown, status = opened.place.shown, opened.status
    if status.st_size > LARGEST:
        raise _too_large(f"`{shown}` is a picture of {status.st_size} bytes; {LARGEST} can be shown")
    raw = opened.file.read()
    kind = media_type(raw)
    size = _size(raw, kind)
    if size is None or 0 in size or not _is_whole(raw, kind):
        raise ToolError("BINARY_FILE", f"`{shown}` begins like a picture, but it is damaged")
    said = f"{size[0]} × {size[1]} pixels"
    if max(size) > WIDEST:
        raise _too_large(f"`{shown}` is a picture of {said}; {WIDEST} along a side can be shown")
    data: dict[str, Json] = {
        **place_data(opened.place),
        "hash": id_of(raw),
        "size": len(raw),
        "mtime_ns": status.st_mtime_ns,
        "total_lines": 0,
        "media_type": kind,
        "pixels": list(size),
        "step": step,
    }
    text = f"`{shown}` is a {_NAMES[kind]} picture of {said}, {len(raw)} bytes."
    envelope = Envelope(status="success", text=text, data=data, context={"path": shown})
    return answered(envelope, text, Image(kind, b64encode(raw).decode()))


def _too_large(message: str) -> ToolError:
    return ToolError("BINARY_FILE", message, hint="Make a smaller copy with Bash and read that")


def _size(raw: bytes, kind: str) -> tuple[int, int] | None:
    if kind == "image/png" and len(raw) >= 24:
        width, height = unpack(">II", raw[16:24])
        return width, height
    if kind == "image/gif" and len(raw) >= 10:
        width, height = unpack("<HH", raw[6:10])
        return width, height
    return _webp_size(raw) if kind == "image/webp" else _jpeg_size(raw) if kind == "image/jpeg" else None


def _webp_size(raw: bytes) -> tuple[int, int] | None:
    if len(raw) < 30:
        return None
    match raw[12:16]:
        case b"VP8 ":
            width, height = unpack("<HH", raw[26:30])
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            bits = int.from_bytes(raw[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            return int.from_bytes(raw[24:27], "little") + 1, int.from_bytes(raw[27:30], "little") + 1
    return None


def _jpeg_size(raw: bytes) -> tuple[int, int] | None:
    """From marker to marker up to the one that opens a frame."""
    place = 2
    while place + 9 <= len(raw) and raw[place] == 0xFF:
        marker = raw[place + 1]
        if marker in _JPEG_SIZES:
            height, width = unpack(">HH", raw[place + 5 : place + 9])
            return width, height
        is_bare = marker == 0x01 or 0xD0 <= marker <= 0xD8 or marker == 0xFF
        length = 0 if is_bare else int.from_bytes(raw[place + 2 : place + 4], "big")
        place += 1 if marker == 0xFF else 2 + length
    return None


def _is_whole(raw: bytes, kind: str) -> bool:
    """Whether a picture goes on to its end; one that was cut is refused by providers."""
    end = raw[-1024:]
    match kind:
        case "image/png":
            return b"IEND" in end
        case "image/jpeg":
            return b"\xff\xd9" in end
        case "image/gif":
            return b"\x3b" in end
        case _:
            return len(raw) >= int.from_bytes(raw[4:8], "little") + 8
