"""A form as nested JSON in `<compact_summary>` tags: written whole, and read out of whatever a model wrote.

Rule: every key is written, also one that says nothing; every key that is read and not known is reported.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from holdfast.compaction.forms.content import (
    FormField,
    Lines,
    ParseProblem,
    SummaryContent,
    is_nothing,
    match_key,
    model_lines,
    one_line,
    tidy,
    visible_texts,
)
from holdfast.compaction.forms.loose_json import LooseJson, read_object
from holdfast.messages import Json

_NUMBER = re.compile(r"(?<![\w.])-?\d{1,15}(?:\.\d{1,4})?(?!\w)")

Nested = dict[str, Any]
"""Keys to fields, or to more keys."""


def value_of(fields: tuple[FormField, ...], content: SummaryContent) -> dict[str, Json]:
    return _values(nested(fields), content)


def nested(fields: tuple[FormField, ...]) -> Nested:
    """The fields by their keys; a name with dots is a path of keys."""
    keys: Nested = {}
    for field in fields:
        *outer, last = field.name.split(".")
        inner = keys
        for key in outer:
            inner = inner.setdefault(key, {})
        inner[last] = field
    return keys


def number_in(text: str) -> int | float | None:
    """The first number of a text, of a size that is written without an exponent and so comes back the same."""
    found = _NUMBER.search(one_line(text).replace(",", ""))
    if not found:
        return None
    return float(found[0]) if "." in found[0] else int(found[0])


def _values(keys: Nested, content: SummaryContent) -> dict[str, Json]:
    return {
        key: _values(below, content)
        if isinstance(below, dict)
        else _value(below, content.fields.get(below.name, ()))
        for key, below in keys.items()
    }


def _value(field: FormField, lines: Lines) -> Json:
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

Path = tuple[str, ...]


class _Place(Struct, frozen=True):
    """A field, the rest of a path inside it, and whether the form has it at that path."""

    field: FormField
    rest: Path = ()
    is_meant: bool = True


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
        place = _place_of(fields, path)
        if place is None:
            problems.append(ParseProblem(shown_path, f"the form has no key `{shown_path}`"))
            continue
        if not place.is_meant:
            problems.append(ParseProblem(place.field.name, f"it stands at `{shown_path}`"))
        label = "".join(f"{key}: " for key in place.rest)
        texts.setdefault(place.field.name, []).extend(label + text for text in _texts(value))
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
        read, reading = read_object(inside, start)
        known = sum(_place_of(fields, path) is not None for path, _ in _leaves(read, ()))
        if known > most:
            best, notes, most = read, reading.notes, known
        start = max(reading.at, start + 1)
    if not most:
        return {}, [ParseProblem("", "there is no JSON object with the form's keys")]
    return best, [ParseProblem("", note) for note in notes]


def _leaves(value: dict[str, LooseJson], above: Path) -> Iterator[tuple[Path, LooseJson]]:
    """Paths of keys that lead to something other than an object."""
    for key, below in value.items():
        if isinstance(below, dict) and below:
            yield from _leaves(below, (*above, key))
        else:
            yield (*above, key), below


def _place_of(fields: tuple[FormField, ...], path: Path) -> _Place | None:
    """Where a path of a model's keys leads: to its field, into an object that the form has as a list or text, or to
    a field of that last key that the form has elsewhere."""
    keys = [match_key(key) for key in path]
    named = [
        (field, [match_key(key) for key in name.split(".")])
        for field in fields
        for name in (field.name, *field.aliases)
    ]
    for field, own in named:
        if keys[-len(own) :] == own:
            return _Place(field)
    for field, own in named:
        if field.kind != "number" and keys[: len(own)] == own:
            return _Place(field, path[len(own) :])
    for field, own in named:
        if own[-1] == keys[-1]:
            return _Place(field, is_meant=False)
    return None


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
            problems.append(ParseProblem(field.name, f"`{texts[0][:80]}` is no number"))
        return [str(numbers[0])] if numbers else []
    if len(texts) > 1:
        problems.append(ParseProblem(field.name, "it is one text, not a list"))
    joined = field.separator.join(text for text in map(tidy, texts) if text)
    return [joined] if joined else []
