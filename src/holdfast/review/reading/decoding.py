"""Bytes of a file or of a diff as text.

Rule: line by line where it is not UTF-8, so that a line of a diff and the same line of its file are decoded alike;
what comes out can always be written as UTF-8.
"""

import re

LOOKED_AT = 8000
"""Bytes at the beginning among which a NUL makes a file binary, as git has it."""

_CHINESE = re.compile(rb"(?:[\x00-\x7f]|[\xa1-\xf7][\xa1-\xfe])*")
"""ASCII and pairs of GB 2312. Latin letters with accents rarely stand in pairs."""


def is_binary(raw: bytes) -> bool:
    return b"\0" in raw[:LOOKED_AT]


def decoded(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return "\n".join(_line(line) for line in raw.split(b"\n"))


def _line(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("gb18030", "replace") if _CHINESE.fullmatch(raw) else raw.decode("latin-1")
