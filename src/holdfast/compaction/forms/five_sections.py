"""The five-section form: Markdown with the headings of a session's archive.

Rule: an archive holds completed work only; what is unfinished stands in a state, or nowhere.
"""

from msgspec import Struct

from holdfast.compaction.facts.values import Facts
from holdfast.compaction.forms.content import Content, Field, Problem
from holdfast.compaction.forms.form import content_of, told
from holdfast.compaction.forms.limits import Group, within
from holdfast.compaction.forms.markdown import parse_sections, render_sections
from holdfast.compaction.forms.schema import schema_of, value_of
from holdfast.compaction.forms.telling import (
    attempt_lines,
    changed_lines,
    command_lines,
    decision_lines,
    directive_lines,
    done_lines,
    error_lines,
    goal_lines,
    key_lines,
    left_off_lines,
    read_lines,
    test_lines,
    todo_lines,
    worked_lines,
)
from holdfast.messages import Json

TITLE = "Session Summary"

OBJECTIVES = Field(
    name="Objectives & Status",
    about="what the user wants, what the user demanded or forbade, and how far it is",
    most_lines=30,
    aliases=("Objectives", "目标与状态"),
    weight=9,
)
CONTEXT = Field(
    name="Technical Context",
    about="languages, frameworks, commands, paths and ids that the work depends on",
    most_lines=16,
    aliases=("技术背景", "技术上下文"),
    weight=3,
)
MILESTONES = Field(
    name="Completed Milestones",
    about="what is finished, a line each",
    most_lines=20,
    aliases=("Milestones", "已完成里程碑", "已完成的里程碑", "已完成事项"),
    weight=2,
)
INSIGHTS = Field(
    name="Key Insights & Decisions",
    about="what was found out, what was decided and why, what was tried and failed",
    most_lines=30,
    aliases=("Key Insights", "Insights & Decisions", "关键见解与决策", "关键决策"),
    weight=5,
)
FILES = Field(
    name="File System State",
    about="files that were created, modified, deleted or read",
    most_lines=40,
    aliases=("Files", "文件系统状态", "文件系统快照"),
    weight=4,
)
FIELDS = (OBJECTIVES, CONTEXT, MILESTONES, INSIGHTS, FILES)


class FiveSections(Struct, frozen=True):
    name: str = "five_sections"
    fields: tuple[Field, ...] = FIELDS
    has_every_key: bool = False

    def render(self, content: Content) -> str:
        return render_sections(TITLE, FIELDS, content)

    def parse(self, text: str) -> tuple[Content, tuple[Problem, ...]]:
        return parse_sections(FIELDS, text)

    def value(self, content: Content) -> Json:
        return value_of(FIELDS, content)

    def schema(self) -> dict[str, Json]:
        return schema_of("SessionSummary", FIELDS)

    def instructions(self, *, archive: bool = False) -> str:
        opening = (
            "Write Markdown with these five headings (`## Name`), in this order, and a bullet for each fact:"
        )
        return told(opening, FIELDS, archive=archive)

    def fill(self, facts: Facts, *, archive: bool) -> Content:
        status = () if archive else todo_lines(facts)
        left_off = () if archive else left_off_lines(facts)
        errors, tests = error_lines(facts, archive=archive), test_lines(facts, archive=archive)
        commands = worked_lines(facts) if archive else command_lines(facts)
        is_passed = facts.tests is not None and facts.tests.is_passed
        lines = {
            OBJECTIVES.name: within(
                OBJECTIVES,
                (*goal_lines(facts), *directive_lines(facts), *(() if is_passed else tests)),
                Group("todos", status),
                Group("remarks", left_off),
            ),
            CONTEXT.name: within(CONTEXT, (), Group("keys", key_lines(facts)), Group("commands", commands)),
            MILESTONES.name: within(
                MILESTONES, tests if is_passed else (), Group("counts", done_lines(facts))
            ),
            INSIGHTS.name: within(
                INSIGHTS,
                errors,
                Group("decisions", decision_lines(facts)),
                Group("failed attempts", attempt_lines(facts)),
            ),
            FILES.name: within(FILES, changed_lines(facts), Group("files read", read_lines(facts))),
        }
        return content_of(FIELDS, lines)
