"""The size of a picture, read from the first bytes of its file, and what a provider charges for it.

Rule: a picture is never decoded; what cannot be read counts as a full-screen screenshot.
"""

from base64 import b64decode
from struct import unpack
from typing import Literal

from holdfast.messages import Image

ImageRule = Literal["area", "tiles512", "tiles768"]
"""How a family bills pictures: by area (Anthropic), or by tile after scaling (OpenAI, Gemini)."""

Size = tuple[int, int]

UNKNOWN: Size = (1920, 1080)
HEADER_CHARS = 256 * 1024
"""Base64 characters looked at: a JPEG may carry a thumbnail and a colour profile before its size."""

_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_BARE = frozenset({0x01, *range(0xD0, 0xD9)})


def image_tokens(image: Image, rule: ImageRule) -> int:
    width, height = image_size(image) or UNKNOWN
    if rule == "area":
        return min(-(-width * height // 750), 1600)
    if rule == "tiles512":
        width, height = _shrunk(*_shrunk(width, height, longest=2048), shortest=768)
        return 85 + 170 * _tiles(width, height, 512)
    return 258 if max(width, height) <= 384 else 258 * _tiles(width, height, 768)


def image_size(image: Image) -> Size | None:
    """Width and height, or None where the data is elsewhere, damaged or of another format."""
    data = image.data
    if not data and image.url.startswith("data:"):
        data = image.url.partition(",")[2]
    head = "".join(data[:HEADER_CHARS].split())
    try:
        raw = b64decode(head[: len(head) // 4 * 4])
    except ValueError:
        return None
    size = _png(raw) or _gif(raw) or _webp(raw) or _jpeg(raw)
    return size if size and min(size) > 0 else None


def _png(raw: bytes) -> Size | None:
    if len(raw) < 24 or not raw.startswith(b"\x89PNG\r\n\x1a\n"):
        return None
    width, height = unpack(">II", raw[16:24])
    return width, height


def _gif(raw: bytes) -> Size | None:
    if len(raw) < 10 or raw[:6] not in (b"GIF87a", b"GIF89a"):
        return None
    width, height = unpack("<HH", raw[6:10])
    return width, height


def _webp(raw: bytes) -> Size | None:
    if len(raw) < 30 or raw[:4] != b"RIFF" or raw[8:12] != b"WEBP":
        return None
    if raw[12:16] == b"VP8X":
        return int.from_bytes(raw[24:27], "little") + 1, int.from_bytes(raw[27:30], "little") + 1
    if raw[12:16] == b"VP8L":
        bits = int.from_bytes(raw[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = unpack("<HH", raw[26:30])
    return width & 0x3FFF, height & 0x3FFF


def _jpeg(raw: bytes) -> Size | None:
    if raw[:2] != b"\xff\xd8":
        return None
    at = 2
    while at + 9 <= len(raw) and raw[at] == 0xFF:
        kind = raw[at + 1]
        if kind in _FRAMES:
            height, width = unpack(">HH", raw[at + 5 : at + 9])
            return width, height
        if kind == 0xFF:
            at += 1
        elif kind in _BARE:
            at += 2
        else:
            at += 2 + int.from_bytes(raw[at + 2 : at + 4], "big")
    return None


def _shrunk(width: int, height: int, *, longest: int = 0, shortest: int = 0) -> Size:
    side, limit = (max(width, height), longest) if longest else (min(width, height), shortest)
    if side <= limit:
        return width, height
    return -(-width * limit // side), -(-height * limit // side)


def _tiles(width: int, height: int, side: int) -> int:
    return -(-width // side) * -(-height // side)
