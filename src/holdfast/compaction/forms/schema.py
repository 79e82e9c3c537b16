"""A form's content as a JSON value, and the schema of such values (draft 2020-12), both made from its fields.

Rule: every field is there, also one that says nothing; what does not fit the schema is never made.
"""

import re
from typing import Annotated, Any

import msgspec
from msgspec import Meta, defstruct

from holdfast.compaction.forms.content import Content, Field, Line
from holdfast.compaction.forms.text import is_nothing, one_line, shown
from holdfast.messages import Json

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_NUMBER = re.compile(r"(?<![\w.])-?\d{1,15}(?:\.\d{1,4})?(?!\w)")

Nested = dict[str, Any]
"""Keys to fields, or to more keys."""


def schema_of(title: str, fields: tuple[Field, ...]) -> dict[str, Json]:
    return {"$schema": DRAFT, **msgspec.json.schema(type_of(title, fields))}


def type_of(title: str, fields: tuple[Field, ...]) -> Any:
    """A type that `msgspec.convert` holds values against: what it takes is what the schema takes."""
    return _struct(title, nested(fields))


def value_of(fields: tuple[Field, ...], content: Content) -> dict[str, Json]:
    return _values(nested(fields), content)


def nested(fields: tuple[Field, ...]) -> Nested:
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


def _struct(title: str, keys: Nested) -> Any:
    members: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    names: dict[str, str] = {}
    for number, (key, below) in enumerate(keys.items()):
        member = f"f{number}"
        names[member] = key
        kind = _struct(f"{title}.{key}", below) if isinstance(below, dict) else _kind(below)
        is_required = isinstance(below, dict) or below.is_required
        members.append((member, kind) if is_required else (member, kind, _absent(below)))
    return defstruct(title, members, rename=names, forbid_unknown_fields=True, kw_only=True)


def _absent(field: Field) -> Any:
    """What a field is that need not be there."""
    if field.kind == "list":
        return msgspec.field(default_factory=list)
    return None if field.kind == "number" else ""


def _kind(field: Field) -> Any:
    about = Meta(description=field.about)
    if field.kind == "list":
        return Annotated[list[str], about]
    if field.kind == "number":
        return Annotated[int | float | None, about]
    return Annotated[str, about]


def _values(keys: Nested, content: Content) -> dict[str, Json]:
    return {
        key: _values(below, content)
        if isinstance(below, dict)
        else _value(below, content.fields.get(below.name, ()))
        for key, below in keys.items()
    }


def _value(field: Field, lines: tuple[Line, ...]) -> Json:
    texts = shown(lines)
    if field.kind == "list":
        return texts
    if field.kind == "number":
        return next((number for text in texts if (number := number_in(text)) is not None), None)
    joined = field.separator.join(texts)
    return "" if is_nothing(joined) else joined
