"""The head of a `SKILL.md`: fields between two lines of `---`, every value a text.

Rule: a field is read only when somebody asks for it, so that a strange one never spoils the others, and what cannot
be read is an error with its line.

This is the part of YAML that such heads use: plain, quoted and block texts, lists in brackets or by dashes. A whole
YAML reader would be too strict and too clever here: it refuses `description: Use when: …`, which many files have,
turns `no` and `1.0` into things that are no texts, and knows references that no head needs.
"""

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

FENCE = "---"

_KEY = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(.*)|$)")
_BLOCK = re.compile(r"([|>])([+-]?[1-9]?|[1-9][+-])(?:[ \t]+#.*)?")
_COMMENT = re.compile(r"(?<![^ \t])#.*$")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"|\'((?:[^\']|\'\')*)\'', re.DOTALL)
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_PLAIN_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "e": "\x1b", "\n": ""}
_FOREIGN = {"&": "an anchor", "*": "a reference", "!": "a tag", "{": "a table in braces"}


class FrontmatterError(ValueError):
    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


class Field(Struct, frozen=True):
    """A field as it is written: what stands behind the colon, and the lines below that belong to it."""

    line: int
    first: str
    below: tuple[str, ...] = ()


class Document(Struct, frozen=True):
    fields: Mapping[str, Field]
    body: str

    def text(self, key: str) -> str:
        """A field as one text; empty if it is not there."""
        field = self.fields.get(key)
        return read_text(field) if field else ""

    def texts(self, key: str) -> list[str]:
        """A field as a list: in brackets, by dashes, or in one line, parted by commas or spaces."""
        field = self.fields.get(key)
        return read_texts(field) if field else []


def parse_document(text: str) -> Document:
    """A text with its head. Lines are counted from 1."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != FENCE:
        raise FrontmatterError(1, f"the file does not begin with `{FENCE}`")
    end = next((n for n, line in enumerate(lines) if n and line.rstrip() == FENCE), 0)
    if not end:
        raise FrontmatterError(1, f"the head is not closed by a second `{FENCE}`")
    return Document(dict(_fields(lines[1:end])), "\n".join(lines[end + 1 :]).strip("\n"))


def _fields(lines: list[str]) -> Iterator[tuple[str, Field]]:
    seen: dict[str, int] = {}
    key, line, first, below = "", 0, "", list[str]()
    for number, row in enumerate(lines, start=2):
        # A list may stand at the margin: `- a` below `key:` belongs to the key.
        if not row.strip() or row[0] in " \t" or row.startswith("- ") or row.rstrip() == "-":
            below.append(row)
            continue
        if row.startswith("#"):
            continue
        found = _KEY.fullmatch(row.rstrip())
        if not found:
            raise FrontmatterError(number, f"`{row.strip()[:60]}` is no `key: value`")
        if found[1] in seen:
            raise FrontmatterError(number, f"`{found[1]}` stands there twice, first in line {seen[found[1]]}")
        if key:
            yield key, Field(line, first, tuple(below))
        elif any(row.strip() for row in below):
            raise FrontmatterError(2, "the head begins with an indented line")
        key, line, first, below = found[1], number, (found[2] or "").strip(), []
        seen[key] = number
    if key:
        yield key, Field(line, first, tuple(below))


def read_text(field: Field) -> str:
    if block := _BLOCK.fullmatch(field.first):
        return _block(field, block[1], block[2])
    if field.first[:1] in ('"', "'"):
        return _quoted(field)
    if field.first[:1] in _FOREIGN:
        raise FrontmatterError(
            field.line, f"{_FOREIGN[field.first[0]]} is not understood here; quote the text"
        )
    below = [] if field.first.startswith("#") else [_uncommented(row) for row in field.below]
    return " ".join(part for part in [_uncommented(field.first), *below] if part)


def _uncommented(row: str) -> str:
    # The blanks before a comment are no part of the pattern: a long row of them would be looked at from each one.
    return _COMMENT.sub("", row).strip()


def _block(field: Field, style: str, marks: str) -> str:
    rows = [row.rstrip() for row in field.below]
    filled = [row for row in rows if row.strip()]
    if any("\t" in row[: len(row) - len(row.lstrip())] for row in filled):
        raise FrontmatterError(field.line, "the text below is indented by tabs; use spaces")
    indent = min((len(row) - len(row.lstrip(" ")) for row in filled), default=0)
    text = "\n".join(row[indent:] for row in rows)
    if style == ">":
        text = re.sub(r"(?<!\n)\n(?![\n ])", " ", text)
    return text if "+" in marks else text.strip("\n")


def _quoted(field: Field) -> str:
    whole = " ".join([field.first, *(row.strip() for row in field.below if row.strip())])
    found = _QUOTED.match(whole)
    if not found:
        raise FrontmatterError(field.line, "a quoted text has no closing quote")
    if _uncommented(whole[found.end() :]):
        raise FrontmatterError(field.line, "something stands behind the closing quote")
    return _unquoted(found)


def _unquoted(found: re.Match[str]) -> str:
    if found[2] is not None:
        return found[2].replace("''", "'")
    return _ESCAPE.sub(_character, found[1])


def _character(escape: re.Match[str]) -> str:
    written = escape[1]
    if len(written) > 1:
        number = int(written[1:], 16)
        return (
            chr(number)
            if number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF
            else "\N{REPLACEMENT CHARACTER}"
        )
    return _PLAIN_ESCAPES.get(written, written)


def read_texts(field: Field) -> list[str]:
    rows = [row.strip() for row in field.below if row.strip() and not row.strip().startswith("#")]
    if not field.first and rows:
        if not all(row.startswith("-") for row in rows):
            raise FrontmatterError(field.line, "a list was expected: lines that begin with `- `")
        return [_item(row[1:].strip(), field.line) for row in rows]
    text = " ".join([_uncommented(field.first), *rows]).strip()
    if text.startswith("["):
        if not text.endswith("]"):
            raise FrontmatterError(field.line, "a list in brackets is not closed")
        return [_item(item, field.line) for item in _parted(text[1:-1], ",")]
    return _parted(read_text(field), ",") if "," in text else read_text(field).split()


def _item(text: str, line: int) -> str:
    return read_text(Field(line, text))


def _parted(text: str, by: str) -> list[str]:
    """Parts of a text between commas that stand outside of quotes and parentheses."""
    ends, depth, quote, is_blank = list[int](), 0, "", True
    for at, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'" and is_blank:
            quote = character
        depth += (character == "(") - (character == ")")
        is_blank = is_blank and character.isspace()
        if character == by and not quote and depth <= 0:
            ends.append(at)
            is_blank = True
    starts = [0, *(end + 1 for end in ends)]
    parts = [text[start:end].strip() for start, end in zip(starts, [*ends, len(text)], strict=True)]
    return [part for part in parts if part]
