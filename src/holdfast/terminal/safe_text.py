"""Text from outside on its way to the screen.

Rule: it is data. No escape sequence of a tool, a file or a model reaches the terminal: control characters are shown
as signs, and colours are dropped.
"""

import re

from rich.cells import cell_len, set_cell_size

_COLOUR = re.compile("\x1b\\[[0-9;:]*m")
_STEERS = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"} | {0x7F: 0x2421}
_STEERS |= dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
# These reverse the direction of text, so that a line reads differently from what it is, or end a line.
_STEERS |= dict.fromkeys((0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)), 0xFFFD)
_HALVES = re.compile("[\ud800-\udfff]")


def sanitize(text: str) -> str:
    """The text without anything that a terminal would obey."""
    text = text.replace("\r\n", "\n")
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    return _HALVES.sub("\N{REPLACEMENT CHARACTER}", text.translate(_STEERS)).expandtabs(4)


def one_line(text: str) -> str:
    """The text without control characters, on one line."""
    return " ".join(sanitize(text).split())


def truncate(text: str, cells: int) -> str:
    """A line cut to so many cells of the terminal, with a mark if it was cut."""
    if cell_len(text) <= cells:
        return text
    return set_cell_size(text, max(0, cells - 1)).rstrip() + "…" if cells > 0 else ""
