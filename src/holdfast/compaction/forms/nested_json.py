"""A form as nested JSON in `<compact_summary>` tags: written whole, and read out of whatever a model wrote.

Rule: every key is written, also one that says nothing; every key that is read and not known is reported.
"""

import re
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from holdfast.compaction.forms.content import Content, Field, Problem
from holdfast.compaction.forms.loose_json import Loose, read_object
from holdfast.compaction.forms.schema import number_in, value_of
from holdfast.compaction.forms.text import bare, by_model, tidy

TAG = "compact_summary"
_TAG = re.compile(rf"(?i)<\s*{TAG}\s*>")
_INNER_TAG = re.compile(rf"(?i)<(?=/?\s*{TAG})")
_CLOSING = re.compile(rf"(?i)<\s*/\s*{TAG}\s*>")
_MOST_STARTS = 8
"""Braces that are tried as the beginning of the summary; prose seldom has more before it."""

Path = tuple[str, ...]


class _Place(Struct, frozen=True):
    """A field, what of a path leads on inside it, and whether the form has it there."""

    field: Field
    rest: Path = ()
    is_meant: bool = True


def render_json(fields: tuple[Field, ...], content: Content) -> str:
    plain = msgspec.json.format(msgspec.json.encode(value_of(fields, content)), indent=2).decode()
    # A tag inside a string would end the summary for whoever looks for it.
    plain = _INNER_TAG.sub(lambda _: "\\u003c", plain)
    return f"<{TAG}>\n{plain}\n</{TAG}>"


def parse_json(fields: tuple[Field, ...], text: str) -> tuple[Content, tuple[Problem, ...]]:
    found, problems = _summary(fields, tidy(text))
    texts: dict[str, list[str]] = {}
    for path, value in _leaves(found, ()):
        shown_path = ".".join(path)[:80]
        place = _place_of(fields, path)
        if place is None:
            problems.append(Problem(shown_path, f"the form has no key `{shown_path}`"))
            continue
        if not place.is_meant:
            problems.append(Problem(place.field.name, f"it stands at `{shown_path}`"))
        label = "".join(f"{key}: " for key in place.rest)
        texts.setdefault(place.field.name, []).extend(label + text for text in _texts(value))
    read = {f.name: by_model(_typed(f, texts[f.name], problems)) for f in fields if f.name in texts}
    return Content(read), tuple(dict.fromkeys(problems))


def _summary(fields: tuple[Field, ...], text: str) -> tuple[dict[str, Loose], list[Problem]]:
    """The object that holds most of the form's keys: inside the tags, or anywhere."""
    tag = _TAG.search(text)
    inside = text[tag.end() :] if tag else text
    closing = _CLOSING.search(inside) if tag else None
    inside = inside[: closing.start()] if closing else inside
    best: dict[str, Loose] = {}
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
        return {}, [Problem("", "there is no JSON object with the form's keys")]
    return best, [Problem("", note) for note in notes]


def _leaves(value: dict[str, Loose], above: Path) -> Iterator[tuple[Path, Loose]]:
    """Paths of keys that lead to something other than an object."""
    for key, below in value.items():
        if isinstance(below, dict) and below:
            yield from _leaves(below, (*above, key))
        else:
            yield (*above, key), below


def _place_of(fields: tuple[Field, ...], path: Path) -> _Place | None:
    """Where a path of a model's keys leads: to its field, into an object that the form has as a list or text, or to
    a field of that last key that the form has elsewhere."""
    keys = [bare(key) for key in path]
    named = [
        (field, [bare(key) for key in name.split(".")])
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


def _texts(value: Loose) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    inner = [f"{key}: {'; '.join(_texts(below))}" for key, below in value.items()]
    return ["; ".join(inner)] if inner else []


def _typed(field: Field, texts: list[str], problems: list[Problem]) -> list[str]:
    """The texts as the field's kind has them."""
    if field.kind == "list":
        return texts
    if field.kind == "number":
        numbers = [number for text in texts if (number := number_in(text)) is not None]
        if texts and not numbers:
            problems.append(Problem(field.name, f"`{texts[0][:80]}` is no number"))
        return [str(numbers[0])] if numbers else []
    if len(texts) > 1:
        problems.append(Problem(field.name, "it is one text, not a list"))
    joined = field.separator.join(text for text in map(tidy, texts) if text)
    return [joined] if joined else []
