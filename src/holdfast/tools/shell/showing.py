"""A terminal's bytes as text: what a person would have seen, line by line.

Rule: lines stay lines, so that a number counts the same before and after. What comes out holds no control character
but the end of a line and the tab, and cleaning it again changes nothing.
"""

import re

from msgspec import Struct

LONGEST_LINE = 2_000
"""Characters that are shown of a line in an excerpt."""

# Bounded, and never across lines: binary data may hold the beginning of a sequence that has no end.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]{0,64}+[ -/]{0,8}+[@-~]"
    r"|\x1b\][^\x07\x1b\n]{0,4096}+(?:\x07|\x1b\\)"
    r"|\x1b[PX^_][^\x1b\n]{0,4096}+\x1b\\"
    r"|\x1b[ -/]{0,8}+[0-Z\\^-~]"
)
_CONTROLS = {code: 0x2400 + code for code in range(0x20) if code not in (0x09, 0x0A)}
_CONTROLS |= {0x7F: 0x2421} | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
_STRUCK = re.compile(r"[^\n\x08]\x08")
MOST_STRIKES = 8


class Cleaned(Struct, frozen=True):
    """`overwritten` counts the pieces of lines that were written over, as progress bars do."""

    text: str
    overwritten: int = 0


def clean(data: bytes) -> Cleaned:
    text = data.decode("utf-8", "replace")
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    overwritten = 0
    if "\r" in text:
        lines = text.split("\n")
        text = "\n".join(map(_last_written, lines))
        overwritten = sum(line.rstrip("\r").count("\r") for line in lines)
    # Bold and underlined text of manuals; deeper than this nobody strikes.
    for _ in range(MOST_STRIKES):
        if "\x08" not in text:
            break
        text = _STRUCK.sub("", text)
    return Cleaned(text.translate(_CONTROLS), overwritten)


def _last_written(line: str) -> str:
    return line.rstrip("\r").rpartition("\r")[2] if "\r" in line else line


def clean_line(start: bytes, size: int, longest: int = LONGEST_LINE) -> str:
    """A line of an excerpt, cut with a mark that says how long it is. `start` may be only its beginning."""
    text = clean(start).text
    if size > len(start) or len(text) > longest:
        return f"{text[:longest]}… [cut: the line has {size} bytes]"
    return text
