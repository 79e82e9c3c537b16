"""A form as rows: a header, and `- Name: text` for each field, which may have a second row.

Rule: a form never has more rows than that, whatever it says; a list that grows grows along its row.
"""

import re
from collections.abc import Mapping

from msgspec import Struct

from holdfast.compaction.forms.content import (
    NOTHING,
    FormField,
    Lines,
    ParseProblem,
    SummaryContent,
    has_bullet,
    is_nothing,
    match_key,
    model_lines,
    one_line,
    unwrapped,
    visible_texts,
    without_bullet,
)

_NAMED = re.compile(r"\s*+(?:\*\*|__|`)?([^:：]{2,60}?)(?:\*\*|__|`)?\s*+[:：](?:\*\*|__)?(.*)")
_TITLE = re.compile(r"[A-Z][\w-]*(?: (?:[/&] )?[A-Z][\w-]*){1,4}")


def render_rows(header: str, fields: tuple[FormField, ...], content: SummaryContent) -> str:
    rows = (f"- {field.name}: {_rendered(field, content.fields.get(field.name, ()))}" for field in fields)
    return "\n".join([header, *rows])


def parse_rows(
    header: str, fields: tuple[FormField, ...], text: str
) -> tuple[SummaryContent, tuple[ParseProblem, ...]]:
    rows = unwrapped(text).split("\n")
    opening = match_key(header)
    head = next((i for i, row in enumerate(rows) if match_key(row) == opening and not row[0].isspace()), -1)
    reading = _Rows({match_key(name): field for field in fields for name in (field.name, *field.aliases)})
    for row in rows[head + 1 :]:
        reading.take(row)
    read = {f.name: model_lines(_items(f, reading.found[f.name])) for f in fields if f.name in reading.found}
    if not read:
        reading.problems.append(ParseProblem("", "there is no field of the form"))
    return SummaryContent(read), tuple(dict.fromkeys(reading.problems))


def _rendered(field: FormField, lines: Lines) -> str:
    texts = [text for text in map(_plain, visible_texts(lines)) if text]
    if field.most_lines > 1 and len(texts) > 1:
        return f"{field.separator.join(texts[:-1])}\n  {texts[-1]}"
    joined = field.separator.join(texts)
    if field.kind == "list" and field.most_lines == 1:
        joined = field.separator.join(filter(None, map(_plain, _parts(field, joined))))
    return NOTHING if is_nothing(joined) else joined


def _plain(text: str) -> str:
    """The text in one line and without bullets, of which one behind a field's name would pass for a field."""
    text = one_line(text)
    while (shorter := without_bullet(text)) != text:
        text = shorter
    return text


def _parts(field: FormField, text: str) -> list[str]:
    return [part for part in map(str.strip, text.split(field.separator)) if part]


def _items(field: FormField, rows: list[str]) -> list[str]:
    """What a field says: a line for each row, and for each part of a list that shares its row."""
    texts = [text for text in map(_plain, rows) if text]
    if field.kind == "line":
        return [field.separator.join(texts)] if texts else []
    return texts if field.most_lines > 1 else [part for text in texts for part in _parts(field, text)]


class _Rows(Struct):
    """Rows by field, as they are read. `names` are the fields by what a model may call them."""

    names: Mapping[str, FormField]
    found: dict[str, list[str]] = {}
    problems: list[ParseProblem] = []
    current: str = ""

    def take(self, row: str) -> None:
        is_outer = not row[:1].isspace()
        named = _NAMED.match(without_bullet(row)) if is_outer or has_bullet(row) else None
        field = self.names.get(match_key(named[1])) if named else None
        if not row:
            self.current = ""
        elif named and field:
            if field.name in self.found:
                self.problems.append(ParseProblem(field.name, "the field stands twice"))
            self.found.setdefault(field.name, []).append(named[2])
            self.current = field.name
        elif named and is_outer and has_bullet(row) and _TITLE.fullmatch(named[1]):
            self.problems.append(ParseProblem("", f"the form has no field “{named[1]}”"))
            self.current = ""
        elif self.current:
            self.found[self.current].append(row)
