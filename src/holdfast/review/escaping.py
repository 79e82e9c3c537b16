"""Text of strangers, made fit to stand in Markdown: paths, claims, lines of code.

Rule: whatever it holds, it stays text. It opens no heading, link, picture or tag, ends no fence, and shows every
character that would change what is seen.
"""

import re
import unicodedata

_SPECIAL = re.compile(r"[\\`*_{}\[\]<>()#+!|~&$-]")
_ADDRESS = re.compile(r"(?i)\b(?:https?|ftp|mailto|data|javascript|file)(?=:)|\bwww(?=\.)")
_ORDERED = re.compile(r"^(\s*\d+)([.)])")
_RUNS = re.compile("`+")
_WIDE = re.compile(r"[^\x00-\x7e]")
"""What an encoder of JSON leaves as it is."""


def show_invisible(text: str) -> str:
    """Control characters and those that turn or hide text, by their number; tabs and line breaks stay."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(c if c in "\n\t" or not _is_hidden(c) else f"⟨U+{ord(c):04X}⟩" for c in text)


def escape_json(json: str) -> str:
    """The same JSON, with what a terminal would obey and what turns or hides text as `\\uXXXX`."""
    return _WIDE.sub(_escaped, json)


def _escaped(found: re.Match[str]) -> str:
    if not _is_hidden(char := found.group()):
        return char
    pair = char.encode("utf-16-be")
    return "".join(f"\\u{pair[at : at + 2].hex()}" for at in range(0, len(pair), 2))


def _is_hidden(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") and char != "\u200d"


def escape_inline(text: str) -> str:
    """In one line, with no character that Markdown or HTML would take for its own."""
    line = " ".join(show_invisible(text).split())
    line = _SPECIAL.sub(lambda found: "\\" + found.group(), line)
    line = _ORDERED.sub(r"\1\\\2", line)
    # An address becomes a link by itself, unless its colon or dot is escaped.
    return _ADDRESS.sub(lambda found: found.group() + "\\", line)


def code_span(text: str) -> str:
    """A span of code, in as many backticks as it needs."""
    line = " ".join(show_invisible(text).split())
    ticks = "`" * (max((len(run) for run in _RUNS.findall(line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def table_cell(text: str) -> str:
    """A span of code in a table, where even there a bar must be escaped."""
    return code_span(text).replace("|", "\\|")


def code_block(text: str, language: str = "") -> str:
    """A block of code that nothing in it can end."""
    body = show_invisible(text.replace("\r\n", "\n").replace("\r", "␍")).rstrip("\n")
    ticks = "`" * max(3, max((len(run) for run in _RUNS.findall(body)), default=0) + 1)
    return f"{ticks}{language}\n{body}\n{ticks}"
