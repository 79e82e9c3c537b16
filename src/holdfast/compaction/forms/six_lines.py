"""The six-line form: `[History Summary]` and six fields, a line each; *Recent Actions* may have two.

Rule: it never has more lines than that, whatever it says; a list that grows grows along its line.
"""

import re

from msgspec import Struct

from holdfast.compaction.facts.fact import LogFacts
from holdfast.compaction.forms.content import (
    NOTHING,
    FormField,
    FormLine,
    ParseProblem,
    SummaryContent,
    has_bullet,
    is_nothing,
    match_key,
    model_lines,
    one_line,
    unwrapped,
    visible_texts,
)
from holdfast.compaction.forms.content import without_bullet as unbulleted
from holdfast.compaction.forms.form import content_of, told
from holdfast.compaction.forms.nested_json import schema_of, value_of
from holdfast.compaction.forms.rule_lines import (
    LineGroup,
    attempt_lines,
    changed_lines,
    command_lines,
    decision_lines,
    directive_lines,
    done_lines,
    error_lines,
    fit_lines,
    goal_lines,
    key_lines,
    left_off_lines,
    read_lines,
    test_lines,
    todo_lines,
    worked_lines,
)
from holdfast.messages import Json

HEADER = "[History Summary]"

GOAL = FormField(
    name="Overall Goal",
    about="what the user wanted first, and what is wanted now",
    kind="line",
    most_lines=1,
    aliases=("Goal", "总体目标", "目标"),
    weight=9,
)
PROGRESS = FormField(
    name="Current Plan & Progress",
    about="how far the work is, and the next step",
    kind="line",
    most_lines=1,
    most_chars=600,
    aliases=("Plan & Progress", "当前计划与进度", "计划与进度"),
    weight=5,
)
FILES = FormField(
    name="Environment / Files",
    about="key files or paths that were created, modified or read, with commas between them",
    most_lines=1,
    most_chars=1_500,
    separator=", ",
    aliases=("Files", "Environment", "环境/文件", "文件"),
    weight=6,
)
KNOWLEDGE = FormField(
    name="Key Knowledge / Insights",
    about="key facts, conclusions and URLs, as short sentences with `;` between them",
    most_lines=1,
    most_chars=1_500,
    aliases=("Key Knowledge", "Insights", "关键知识/见解", "关键知识"),
    weight=4,
)
ACTIONS = FormField(
    name="Recent Actions",
    about="the newest tool calls in brief, and what came of each",
    most_lines=2,
    most_chars=1_000,
    aliases=("最近操作", "最近动作"),
    weight=2,
)
LEFT_OFF = FormField(
    name="Left-off Point",
    about="where exactly the work stands still, and what blocks it",
    kind="line",
    most_lines=1,
    most_chars=600,
    aliases=("Left off", "停止点", "中断点"),
    weight=8,
)
FIELDS = (GOAL, PROGRESS, FILES, KNOWLEDGE, ACTIONS, LEFT_OFF)

_NAMES = {match_key(name): field for field in FIELDS for name in (field.name, *field.aliases)}
_NAMED = re.compile(r"\s*+(?:\*\*|__|`)?([^:：]{2,60}?)(?:\*\*|__|`)?\s*+[:：](?:\*\*|__)?(.*)")
_TITLE = re.compile(r"[A-Z][\w-]*(?: (?:[/&] )?[A-Z][\w-]*){1,4}")


class SixLines(Struct, frozen=True):
    name: str = "six_lines"
    fields: tuple[FormField, ...] = FIELDS
    has_every_key: bool = False

    def render(self, content: SummaryContent) -> str:
        rows = (f"- {field.name}: {_rendered(field, content.fields.get(field.name, ()))}" for field in FIELDS)
        return "\n".join([HEADER, *rows])

    def parse(self, text: str) -> tuple[SummaryContent, tuple[ParseProblem, ...]]:
        rows = unwrapped(text).split("\n")
        head = next(
            (i for i, row in enumerate(rows) if match_key(row) == match_key(HEADER) and not row[0].isspace()),
            -1,
        )
        reading = _Rows()
        for row in rows[head + 1 :]:
            reading.take(row)
        read = {
            f.name: model_lines(_items(f, reading.found[f.name])) for f in FIELDS if f.name in reading.found
        }
        if not read:
            reading.problems.append(ParseProblem("", "there is no field of the form"))
        return SummaryContent(read), tuple(dict.fromkeys(reading.problems))

    def value(self, content: SummaryContent) -> Json:
        return value_of(FIELDS, content)

    def schema(self) -> dict[str, Json]:
        return schema_of("HistorySummary", FIELDS)

    def instructions(self, *, archive: bool = False) -> str:
        opening = (
            f"Fill in this form: `{HEADER}` on a line of its own, then `- Name: text` for each of these six:"
        )
        return told(opening, FIELDS, archive=archive)

    def fill(self, facts: LogFacts, *, archive: bool) -> SummaryContent:
        directives, errors = directive_lines(facts), error_lines(facts, archive=archive)
        tests = test_lines(facts, archive=archive)
        commands = worked_lines(facts) if archive else command_lines(facts)
        progress = done_lines(facts) if archive else todo_lines(facts)
        left_off = () if archive else left_off_lines(facts)
        lines = {
            GOAL.name: goal_lines(facts),
            PROGRESS.name: fit_lines(PROGRESS, (), LineGroup("todos", progress)),
            FILES.name: fit_lines(
                FILES,
                changed_lines(facts),
                LineGroup("files read", read_lines(facts)),
                LineGroup("keys", key_lines(facts)),
            ),
            KNOWLEDGE.name: fit_lines(
                KNOWLEDGE,
                directives,
                LineGroup("decisions", decision_lines(facts)),
                LineGroup("failed attempts", attempt_lines(facts)),
            ),
            ACTIONS.name: (*fit_lines(ACTIONS, (), LineGroup("commands", commands[-6:])), *tests),
            LEFT_OFF.name: (*errors, *fit_lines(LEFT_OFF, (), LineGroup("remarks", left_off))),
        }
        return content_of(FIELDS, lines)


def _rendered(field: FormField, lines: tuple[FormLine, ...]) -> str:
    texts = [text for text in map(_plain, visible_texts(lines)) if text]
    if field is ACTIONS and len(texts) > 1:
        return f"{field.separator.join(texts[:-1])}\n  {texts[-1]}"
    joined = field.separator.join(texts)
    if field.kind == "list" and field is not ACTIONS:
        joined = field.separator.join(filter(None, map(_plain, _parts(field, joined))))
    return NOTHING if is_nothing(joined) else joined


def _plain(text: str) -> str:
    """The text in one line and without bullets, of which one behind a field's name would pass for a field."""
    text = one_line(text)
    while (shorter := unbulleted(text)) != text:
        text = shorter
    return text


def _parts(field: FormField, text: str) -> list[str]:
    return [part for part in map(str.strip, text.split(field.separator)) if part]


def _items(field: FormField, rows: list[str]) -> list[str]:
    """What a field says: a line for each row, and for each part of a list that shares its row."""
    texts = [text for text in map(_plain, rows) if text]
    if field.kind == "line":
        return [field.separator.join(texts)] if texts else []
    return texts if field is ACTIONS else [part for text in texts for part in _parts(field, text)]


class _Rows(Struct):
    """Rows by field, as they are read."""

    found: dict[str, list[str]] = {}
    problems: list[ParseProblem] = []
    current: str = ""

    def take(self, row: str) -> None:
        is_outer = not row[:1].isspace()
        named = _NAMED.match(unbulleted(row)) if is_outer or has_bullet(row) else None
        field = _NAMES.get(match_key(named[1])) if named else None
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
