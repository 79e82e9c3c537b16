"""Texts as they lie in a column of bytes: UTF-8, or compressed by zstd where that pays.

Rule: no text in UTF-8 begins as what zstd writes does, so that a text needs no mark of its own.
"""

from holdfast.store.text_compression import packed, unpacked

_ZSTD = b"\x28\xb5\x2f\xfd"


def packed_text(text: str) -> bytes:
    small = packed(text)
    return small if isinstance(small, bytes) else small.encode()


def unpacked_text(stored: bytes) -> str:
    # A damaged byte must not make the rest unreadable; `verify` finds it by the id.
    return unpacked(stored) if stored.startswith(_ZSTD) else stored.decode("utf-8", "replace")
