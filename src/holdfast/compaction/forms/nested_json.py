"""A form as nested JSON in `<compact_summary>` tags: written whole, and read out of whatever a model wrote:
cut off, with duplicate keys, stray quotes, trailing commas or Chinese punctuation.

Rule: every key is written, also one that says nothing; every key that is read and not known is reported. Reading
never fails and looks at every character a bounded number of times. Sound JSON is read as it is meant.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from holdfast.compaction.forms.content import (
    FormField,
    ParseProblem,
    SummaryContent,
    SummaryLines,
    is_nothing,
    match_key,
    model_lines,
    one_line,
    tidy,
    visible_texts,
)
from holdfast.messages import Json

_NUMBER = re.compile(r"(?<![\w.])-?\d{1,15}(?:\.\d{1,4})?(?!\w)")


def value_of(fields: tuple[FormField, ...], content: SummaryContent) -> dict[str, Json]:
    """The values of the fields by their keys; a name with dots is a path of keys."""
    values: dict[str, Any] = {}
    for field in fields:
        *outer, last = field.name.split(".")
        inner = values
        for key in outer:
            inner = inner.setdefault(key, {})
        inner[last] = _value(field, content.fields.get(field.name, ()))
    return values


def number_in(text: str) -> int | float | None:
    """The first number of a text, of a size that is written without an exponent and so comes back the same."""
    found = _NUMBER.search(one_line(text).replace(",", ""))
    if not found:
        return None
    return float(found[0]) if "." in found[0] else int(found[0])


def _value(field: FormField, lines: SummaryLines) -> Json:
    texts = visible_texts(lines)
    if field.kind == "list":
        return texts
    if field.kind == "number":
        return next((number for text in texts if (number := number_in(text)) is not None), None)
    joined = field.separator.join(texts)
    return "" if is_nothing(joined) else joined


TAG = "compact_summary"
_TAG = re.compile(rf"(?i)<\s*{TAG}\s*>")
_INNER_TAG = re.compile(rf"(?i)<(?=/?\s*{TAG})")
_CLOSING = re.compile(rf"(?i)<\s*/\s*{TAG}\s*>")
_MOST_STARTS = 8
"""Braces that are tried as the beginning of the summary; prose seldom has more before it."""

KeyPath = tuple[str, ...]
LooseJson = None | str | list["LooseJson"] | dict[str, "LooseJson"]
"""Numbers and truth values come as their text: lines are made of it anyway."""


def render_json(fields: tuple[FormField, ...], content: SummaryContent) -> str:
    plain = msgspec.json.format(msgspec.json.encode(value_of(fields, content)), indent=2).decode()
    # A tag inside a string would end the summary too early.
    plain = _INNER_TAG.sub(lambda _: "\\u003c", plain)
    return f"<{TAG}>\n{plain}\n</{TAG}>"


def parse_json(fields: tuple[FormField, ...], text: str) -> tuple[SummaryContent, tuple[ParseProblem, ...]]:
    found, problems = _summary(fields, tidy(text))
    texts: dict[str, list[str]] = {}
    for path, value in _leaves(found, ()):
        shown_path = ".".join(path)[:80]
        field, rest, is_meant = _place_of(fields, path)
        if field is None:
            problems.append(ParseProblem(shown_path, f"the form has no key `{shown_path}`"))
            continue
        if not is_meant:
            problems.append(ParseProblem(field.name, f"it is at `{shown_path}`"))
        label = "".join(f"{key}: " for key in rest)
        texts.setdefault(field.name, []).extend(label + text for text in _texts(value))
    read = {f.name: model_lines(_typed(f, texts[f.name], problems)) for f in fields if f.name in texts}
    return SummaryContent(read), tuple(dict.fromkeys(problems))


def _summary(fields: tuple[FormField, ...], text: str) -> tuple[dict[str, LooseJson], list[ParseProblem]]:
    """The object that holds most of the form's keys: inside the tags, or anywhere."""
    tag = _TAG.search(text)
    inside = text[tag.end() :] if tag else text
    closing = _CLOSING.search(inside) if tag else None
    inside = inside[: closing.start()] if closing else inside
    best: dict[str, LooseJson] = {}
    notes: list[str] = []
    most = start = 0
    for _ in range(_MOST_STARTS):
        start = inside.find("{", start)
        if start < 0:
            break
        reading = JsonReader(inside, start)
        read = reading.object(0)
        known = sum(_place_of(fields, path)[0] is not None for path, _ in _leaves(read, ()))
        if known > most:
            best, notes, most = read, reading.notes, known
        start = max(reading.at, start + 1)
    if not most:
        return {}, [ParseProblem("", "there is no JSON object with the form's keys")]
    return best, [ParseProblem("", note) for note in notes]


def _leaves(value: dict[str, LooseJson], above: KeyPath) -> Iterator[tuple[KeyPath, LooseJson]]:
    """Paths of keys that lead to something other than an object."""
    for key, below in value.items():
        if isinstance(below, dict) and below:
            yield from _leaves(below, (*above, key))
        else:
            yield (*above, key), below


def _place_of(fields: tuple[FormField, ...], path: KeyPath) -> tuple[FormField | None, KeyPath, bool]:
    """Where a path of a model's keys leads: to its field, into an object that the form has as a list or text, or to
    a field of that last key that the form has elsewhere. With the rest of the path inside the field, and whether
    the form has it there."""
    keys = [match_key(key) for key in path]
    named = [
        (field, [match_key(key) for key in name.split(".")])
        for field in fields
        for name in (field.name, *field.aliases)
    ]
    for field, own in named:
        if keys[-len(own) :] == own:
            return field, (), True
    for field, own in named:
        if field.kind != "number" and keys[: len(own)] == own:
            return field, path[len(own) :], True
    for field, own in named:
        if own[-1] == keys[-1]:
            return field, (), False
    return None, (), True


def _texts(value: LooseJson) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    inner = [f"{key}: {'; '.join(_texts(below))}" for key, below in value.items()]
    return ["; ".join(inner)] if inner else []


def _typed(field: FormField, texts: list[str], problems: list[ParseProblem]) -> list[str]:
    """The texts as the field's kind has them."""
    if field.kind == "list":
        return texts
    if field.kind == "number":
        numbers = [number for text in texts if (number := number_in(text)) is not None]
        if texts and not numbers:
            problems.append(ParseProblem(field.name, f"`{texts[0][:80]}` is not a number"))
        return [str(numbers[0])] if numbers else []
    if len(texts) > 1:
        problems.append(ParseProblem(field.name, "it is one text, not a list"))
    joined = field.separator.join(text for text in map(tidy, texts) if text)
    return [joined] if joined else []


DEEPEST = 24
"""Levels that are read; what is nested deeper is left out."""

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

    def object(self, depth: int) -> dict[str, LooseJson]:
        """The object that opens here, as far as it goes."""
        read: dict[str, LooseJson] = {}
        self.at += 1
        while (first := self.skip()) != "}":
            if not first:
                self.note("it is cut off")
                return read
            if first in ",，:：]":
                self.at += 1
                continue
            key = self._value(depth)
            if not isinstance(key, str):
                self.note("a key is not a string")
                continue
            value: LooseJson = None
            if self.skip() in (":", "："):
                self.at += 1
                value = self._value(depth)
            if key in read:
                self.note(f"the key `{key[:60]}` occurs twice")
            read[key] = _joined(read.get(key), value)
        self.at += 1
        return read

    def _value(self, depth: int) -> LooseJson:
        first = self.skip()
        if first in ("{", "[") and depth >= DEEPEST:
            self.note("it is nested too deep")
            self.at += 1
            return None
        if first == "{":
            return self.object(depth + 1)
        if first == "[":
            return self._list(depth + 1)
        if first and first in _QUOTES:
            return self._string()
        word = _WORD.match(self.text, self.at)
        if not word:
            return None
        self.at = word.end()
        return None if word[0] in ("null", "None", "undefined") else word[0]

    def _list(self, depth: int) -> list[LooseJson]:
        read: list[LooseJson] = []
        self.at += 1
        while (first := self.skip()) != "]":
            if not first:
                self.note("it is cut off")
                return read
            if first == "}":
                # A brace that closes more than was opened ends the list too: its bracket is missing.
                return read
            if first in ",，:：":
                self.at += 1
            elif (value := self._value(depth)) is not None:
                read.append(value)
        self.at += 1
        return read

    def _string(self) -> str:
        """Up to the quote that something of JSON follows: a quote inside a sentence ends nothing.

        Only a string that a curly quote opens may end with one: in sound JSON they are characters like any other.
        """
        text, start = self.text, self.at
        self.at += 1
        parts: list[str] = []
        pattern = _PLAIN['"' if text[start] == '"' else "“"]
        while self.at < len(text):
            if plain := pattern.match(text, self.at):
                parts.append(plain[0])
                self.at = plain.end()
            elif text[self.at] == "\\":
                part, self.at = _escaped(text, self.at)
                parts.append(part)
            else:
                self.at += 1
                if _ENDS.match(text, self.at):
                    return "".join(parts)
                parts.append(text[self.at - 1])
        self.note("it is cut off")
        return "".join(parts)


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
    """Both values of a key that occurs twice, so that neither is lost."""
    if earlier is None or later is None:
        return later if earlier is None else earlier
    if isinstance(earlier, dict) and isinstance(later, dict):
        return {key: _joined(earlier.get(key), later.get(key)) for key in (*earlier, *later)}
    return [one for value in (earlier, later) for one in (value if isinstance(value, list) else [value])]
