"""Width and height of a PNG, GIF, WebP or JPEG picture, read from its first bytes.

Rule: a picture is never decoded. One that is too short, damaged, empty or of another format has no size.
"""

from struct import unpack

_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_BARE = frozenset({0x01, *range(0xD0, 0xD9)})
"""Markers without a length."""


def image_size(raw: bytes) -> tuple[int, int] | None:
    """Width and height in pixels. The beginning of a file is enough if it reaches the size."""
    size = _png(raw) or _gif(raw) or _webp(raw) or _jpeg(raw)
    return size if size and min(size) > 0 else None


def _png(raw: bytes) -> tuple[int, int] | None:
    if len(raw) < 24 or not raw.startswith(b"\x89PNG\r\n\x1a\n"):
        return None
    width, height = unpack(">II", raw[16:24])
    return width, height


def _gif(raw: bytes) -> tuple[int, int] | None:
    if len(raw) < 10 or raw[:6] not in (b"GIF87a", b"GIF89a"):
        return None
    width, height = unpack("<HH", raw[6:10])
    return width, height


def _webp(raw: bytes) -> tuple[int, int] | None:
    if len(raw) < 30 or raw[:4] != b"RIFF" or raw[8:12] != b"WEBP":
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


def _jpeg(raw: bytes) -> tuple[int, int] | None:
    """From marker to marker up to the one that opens a frame."""
    if raw[:2] != b"\xff\xd8":
        return None
    at = 2
    while at + 9 <= len(raw) and raw[at] == 0xFF:
        marker = raw[at + 1]
        if marker in _JPEG_FRAMES:
            height, width = unpack(">HH", raw[at + 5 : at + 9])
            return width, height
        if marker == 0xFF:
            at += 1
        elif marker in _JPEG_BARE:
            at += 2
        else:
            at += 2 + int.from_bytes(raw[at + 2 : at + 4], "big")
    return None
