"""Plain text tables: columns line up on a terminal, wide characters included.

A column is its title, its width and how it is aligned, `<` or `>`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

Column = tuple[str, int, str]


def header(columns: Sequence[Column]) -> str:
    return row(columns, *(title for title, _, _ in columns))


def rule(columns: Sequence[Column]) -> str:
    return row(columns, *("-" * size for _, size, _ in columns))


def row(columns: Sequence[Column], *cells: str) -> str:
    """One line; words that are too long are cut, figures never."""
    shown = []
    for cell, (_, size, align) in zip(cells, columns, strict=True):
        text = cell if align == ">" else fit(cell, size)
        space = " " * (size - width(text))
        shown.append(space + text if align == ">" else text + space)
    return "  ".join(shown).rstrip()


def width(text: str) -> int:
    """Columns a text takes up in a terminal: wide characters take two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def fit(text: str, size: int) -> str:
    """The text, or as much of it as leaves room for three dots."""
    if width(text) <= size:
        return text
    kept = ""
    for char in text:
        if width(kept + char) > size - 3:
            break
        kept += char
    return kept + "..."
