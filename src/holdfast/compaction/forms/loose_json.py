"""JSON as models write it: cut off, with duplicate keys, stray quotes, trailing commas or Chinese punctuation.

Rule: reading never fails and looks at every character a bounded number of times. Sound JSON is read as it is meant.
"""

import re

from msgspec import Struct

DEEPEST = 24
"""Levels that are read; what is nested deeper is left out."""

LooseJson = None | str | list["LooseJson"] | dict[str, "LooseJson"]
"""Numbers and truth values come as their text: lines are made of it anyway."""

_SPACE = re.compile(r"(?:\s++|//[^\n]*+\n)*+")
_PLAIN = {'"': re.compile(r"[^\"\\]++"), "“": re.compile(r"[^\"“”＂\\]++")}
_ENDS = re.compile(r"\s*+(?:[,:}\]，：]|$)")
_WORD = re.compile(r"[^\s,:{}\[\]，：\"]++")
_QUOTES = '"“”＂'
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_HEX = re.compile(r"[0-9a-fA-F]{4}")


class JsonReader(Struct):
    """A place in a text, and what was found wrong on the way."""

    text: str
    at: int = 0
    notes: list[str] = []

    def note(self, what: str) -> None:
        if what not in self.notes:
            self.notes.append(what)

    def skip(self) -> str:
        """The next character that counts; empty at the end."""
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at
        return self.text[self.at : self.at + 1]


def read_object(text: str, start: int) -> tuple[dict[str, LooseJson], JsonReader]:
    """The object that opens at `start`, as far as it goes."""
    reading = JsonReader(text, start)
    return _object(reading, 0), reading


def _value(reading: JsonReader, depth: int) -> LooseJson:
    first = reading.skip()
    if first in ("{", "[") and depth >= DEEPEST:
        reading.note("it is nested too deep")
        reading.at += 1
        return None
    if first == "{":
        return _object(reading, depth + 1)
    if first == "[":
        return _list(reading, depth + 1)
    if first and first in _QUOTES:
        return _string(reading)
    word = _WORD.match(reading.text, reading.at)
    if not word:
        return None
    reading.at = word.end()
    return None if word[0] in ("null", "None", "undefined") else word[0]


def _object(reading: JsonReader, depth: int) -> dict[str, LooseJson]:
    read: dict[str, LooseJson] = {}
    reading.at += 1
    while (first := reading.skip()) != "}":
        if not first:
            reading.note("it is cut off")
            return read
        if first in ",，:：]":
            reading.at += 1
            continue
        key = _value(reading, depth)
        if not isinstance(key, str):
            reading.note("a key is no text")
            continue
        value: LooseJson = None
        if reading.skip() in (":", "："):
            reading.at += 1
            value = _value(reading, depth)
        if key in read:
            reading.note(f"the key `{key[:60]}` stands twice")
        read[key] = _joined(read.get(key), value)
    reading.at += 1
    return read


def _list(reading: JsonReader, depth: int) -> list[LooseJson]:
    read: list[LooseJson] = []
    reading.at += 1
    while (first := reading.skip()) != "]":
        if not first:
            reading.note("it is cut off")
            return read
        if first in ",，:：}":
            # A brace that closes more than was opened ends the list too: its bracket is missing.
            if first == "}":
                return read
            reading.at += 1
            continue
        value = _value(reading, depth)
        if value is not None:
            read.append(value)
    reading.at += 1
    return read


def _string(reading: JsonReader) -> str:
    """Up to the quote that something of JSON follows: a quote inside a sentence ends nothing.

    Only a string that a curly quote opens may end with one: in sound JSON they are characters like any other.
    """
    text, at = reading.text, reading.at + 1
    parts: list[str] = []
    pattern = _PLAIN['"' if text[at - 1] == '"' else "“"]
    while at < len(text):
        plain = pattern.match(text, at)
        if plain:
            parts.append(plain[0])
            at = plain.end()
        elif text[at] == "\\":
            part, at = _escaped(text, at)
            parts.append(part)
        else:
            at += 1
            if _closes(text, at):
                reading.at = at
                return "".join(parts)
            parts.append(text[at - 1])
    reading.at = at
    reading.note("it is cut off")
    return "".join(parts)


def _closes(text: str, after: int) -> bool:
    return _ENDS.match(text, after) is not None


def _escaped(text: str, at: int) -> tuple[str, int]:
    kind = text[at + 1 : at + 2]
    if kind == "u":
        code = _HEX.match(text, at + 2)
        if code:
            return _character(text, int(code[0], 16), code.end())
    return _ESCAPES.get(kind, kind), at + 2


def _character(text: str, code: int, after: int) -> tuple[str, int]:
    """A character of an escape; two escapes where they are the halves of one."""
    if 0xD800 <= code < 0xDC00 and text.startswith("\\u", after):
        low = _HEX.match(text, after + 2)
        if low and 0xDC00 <= int(low[0], 16) < 0xE000:
            return chr(0x10000 + ((code - 0xD800) << 10) + int(low[0], 16) - 0xDC00), low.end()
    return chr(code), after


def _joined(earlier: LooseJson, later: LooseJson) -> LooseJson:
    """Both values of a key that stands twice, so that neither is lost."""
    if earlier is None or later is None:
        return later if earlier is None else earlier
    if isinstance(earlier, dict) and isinstance(later, dict):
        return {key: _joined(earlier.get(key), later.get(key)) for key in (*earlier, *later)}
    return [*_listed(earlier), *_listed(later)]


def _listed(value: LooseJson) -> list[LooseJson]:
    return value if isinstance(value, list) else [value]
