"""Escape untrusted text (paths, claims, lines of code) for Markdown and JSON.

Rule: whatever it contains, it stays text. It starts no heading, link, image or tag, ends no fence, and every
character that would change how text looks is shown.
"""

import re
import unicodedata

_SPECIAL = re.compile(r"[\\`*_{}\[\]<>()#+!|~&$-]")
_ADDRESS = re.compile(r"(?i)\b(?:https?|ftp|mailto|data|javascript|file)(?=:)|\bwww(?=\.)")
_ORDERED = re.compile(r"^(\s*\d+)([.)])")
_RUNS = re.compile("`+")
_WIDE = re.compile(r"[^\x00-\x7e]")
"""What a JSON encoder leaves as it is."""


def show_invisible(text: str) -> str:
    """Show control characters, and those that hide text or change its direction, by their number; tabs and line
    breaks stay."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(c if c in "\n\t" or not _is_hidden(c) else f"⟨U+{ord(c):04X}⟩" for c in text)


def escape_json(json: str) -> str:
    """The same JSON, with the same characters as `\\uXXXX`."""
    return _WIDE.sub(_escaped, json)


def _escaped(found: re.Match[str]) -> str:
    if not _is_hidden(char := found.group()):
        return char
    pair = char.encode("utf-16-be")
    return "".join(f"\\u{pair[at : at + 2].hex()}" for at in range(0, len(pair), 2))


def _is_hidden(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") and char != "\u200d"


def escape_inline(text: str) -> str:
    """In one line, with every character escaped that means something in Markdown or HTML."""
    line = " ".join(show_invisible(text).split())
    line = _SPECIAL.sub(lambda found: "\\" + found.group(), line)
    line = _ORDERED.sub(r"\1\\\2", line)
    # A URL becomes a link by itself, unless its colon or dot is escaped.
    return _ADDRESS.sub(lambda found: found.group() + "\\", line)


def code_span(text: str) -> str:
    """A code span, in as many backticks as it needs."""
    line = " ".join(show_invisible(text).split())
    ticks = "`" * (max((len(run) for run in _RUNS.findall(line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def table_cell(text: str) -> str:
    """A code span in a table, where a bar must be escaped."""
    return code_span(text).replace("|", "\\|")


def code_block(text: str, language: str = "") -> str:
    """A code block that nothing in it can end."""
    body = show_invisible(text.replace("\r\n", "\n").replace("\r", "␍")).rstrip("\n")
    ticks = "`" * max(3, max((len(run) for run in _RUNS.findall(body)), default=0) + 1)
    return f"{ticks}{language}\n{body}\n{ticks}"
