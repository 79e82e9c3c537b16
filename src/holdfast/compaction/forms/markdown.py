"""A form as Markdown: a heading for each field and a bullet for each line.

Rule: what is rendered begins every line with `#`, `- ` or `  >`, so that no text can pass for a heading or a bullet
of its own when it is read back; what a model wrote may be laid out in any other way.
"""

import re

from msgspec import Struct

from holdfast.compaction.forms.content import (
    NOTHING,
    FormField,
    ParseProblem,
    SummaryContent,
    has_bullet,
    match_key,
    model_lines,
    tidy,
    unwrapped,
    visible_texts,
    without_bullet,
)

_HEADING = re.compile(r"(#{1,6})\s*(.+)")
_QUOTED = re.compile(r"\s+> ?(.*)")
_COLON = re.compile(r"\s*+[:：]\s*+")
_UNMARKED = 7
"""The level of a heading without `#`: any that has some stands above it."""


def render_sections(title: str, fields: tuple[FormField, ...], content: SummaryContent) -> str:
    sections = [f"# {title}"]
    for field in fields:
        items = visible_texts(content.fields.get(field.name, ())) or [NOTHING]
        sections.append("\n".join([f"## {field.name}", *map(_item, items)]))
    return "\n\n".join(sections)


def _item(text: str) -> str:
    """A bullet; further lines of its text are quoted below it."""
    first, *rest = text.split("\n")
    return "\n".join([f"- {first}", *(f"  > {line}".rstrip() for line in rest)])


def parse_sections(
    fields: tuple[FormField, ...], text: str
) -> tuple[SummaryContent, tuple[ParseProblem, ...]]:
    rows = unwrapped(text).split("\n")
    sections = _read(fields, rows, is_dashed=False)
    if not sections.items:
        sections = _read(fields, rows, is_dashed=True)
    read = {f.name: model_lines(sections.items[f.name]) for f in fields if f.name in sections.items}
    if not read:
        sections.problems.append(ParseProblem("", "there is no heading of the form"))
    return SummaryContent(read), tuple(dict.fromkeys(sections.problems))


def _read(fields: tuple[FormField, ...], rows: list[str], *, is_dashed: bool) -> "_Sections":
    sections = _Sections({match_key(name): f for f in fields for name in (f.name, *f.aliases)}, is_dashed)
    for row in rows:
        if row and not sections.heads(row):
            sections.take(row)
    return sections


class _Sections(Struct):
    """Sections as they are read, row by row. `is_dashed` says that bullets may be headings."""

    names: dict[str, FormField]
    is_dashed: bool
    items: dict[str, list[str]] = {}
    problems: list[ParseProblem] = []
    current: str = ""
    level: int = 0

    def take(self, row: str) -> None:
        """A row below a heading: a line of its own, or more of the one before."""
        if not self.current:
            return
        items = self.items[self.current]
        quoted = _QUOTED.match(row)
        if items and quoted:
            items[-1] += "\n" + quoted[1]
        elif items and row[0].isspace() and not has_bullet(row):
            items[-1] += " " + row.strip()
        elif said := tidy(without_bullet(row)):
            items.append(said)

    def heads(self, row: str) -> bool:
        """Whether a row is a heading; if so what follows belongs to its section, or to none."""
        heading = _HEADING.match(row)
        if heading:
            field = self.names.get(match_key(heading[2]))
            self._enter(field, len(heading[1])) if field else self._leave(heading)
            return True
        if row[0].isspace() or (row.startswith("- ") and not self.is_dashed):
            return False
        field, rest = self.names.get(match_key(row)), ""
        if field is None:
            head, rest = _parted(row)
            field = self.names.get(match_key(head))
        if field is None:
            return False
        self._enter(field, _UNMARKED)
        self.items[field.name] += [rest] if rest else []
        return True

    def _enter(self, field: FormField, level: int) -> None:
        if field.name in self.items:
            self.problems.append(ParseProblem(field.name, "the section stands twice"))
        self.items.setdefault(field.name, [])
        self.current, self.level = field.name, level

    def _leave(self, heading: re.Match[str]) -> None:
        """A heading that the form does not have: a title, a part of a section, or a section too many."""
        level, title = len(heading[1]), heading[2]
        if self.current and level > self.level:
            return
        if level > 1 and "summary" not in title.casefold():
            self.problems.append(ParseProblem("", f"the form has no section “{title[:80]}”"))
        self.current = ""


def _parted(row: str) -> tuple[str, str]:
    """A row such as `**Technical Context**: Python`, which is heading and line at once."""
    head, _, rest = _COLON.sub(":", row, count=1).partition(":")
    return head, tidy(rest.lstrip("*_"))
