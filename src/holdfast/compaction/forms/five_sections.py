"""The five-section form: Markdown with the headings of a session's archive.

Rule: an archive holds completed work only; what is unfinished stands in a state, or nowhere.
"""

from msgspec import Struct

from holdfast.compaction.facts.fact import LogFacts
from holdfast.compaction.forms.content import FormField, ParseProblem, SummaryContent
from holdfast.compaction.forms.form import content_of, told
from holdfast.compaction.forms.markdown import parse_sections, render_sections
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

TITLE = "Session Summary"

OBJECTIVES = FormField(
    name="Objectives & Status",
    about="what the user wants, what the user demanded or forbade, and how far it is",
    most_lines=30,
    aliases=("Objectives", "目标与状态"),
    weight=9,
)
CONTEXT = FormField(
    name="Technical Context",
    about="languages, frameworks, commands, paths and ids that the work depends on",
    most_lines=16,
    aliases=("技术背景", "技术上下文"),
    weight=3,
)
MILESTONES = FormField(
    name="Completed Milestones",
    about="what is finished, a line each",
    most_lines=20,
    aliases=("Milestones", "已完成里程碑", "已完成的里程碑", "已完成事项"),
    weight=2,
)
INSIGHTS = FormField(
    name="Key Insights & Decisions",
    about="what was found out, what was decided and why, what was tried and failed",
    most_lines=30,
    aliases=("Key Insights", "Insights & Decisions", "关键见解与决策", "关键决策"),
    weight=5,
)
FILES = FormField(
    name="File System State",
    about="files that were created, modified, deleted or read",
    most_lines=40,
    aliases=("Files", "文件系统状态", "文件系统快照"),
    weight=4,
)
FIELDS = (OBJECTIVES, CONTEXT, MILESTONES, INSIGHTS, FILES)


class FiveSections(Struct, frozen=True):
    name: str = "five_sections"
    fields: tuple[FormField, ...] = FIELDS
    has_every_key: bool = False

    def render(self, content: SummaryContent) -> str:
        return render_sections(TITLE, FIELDS, content)

    def parse(self, text: str) -> tuple[SummaryContent, tuple[ParseProblem, ...]]:
        return parse_sections(FIELDS, text)

    def value(self, content: SummaryContent) -> Json:
        return value_of(FIELDS, content)

    def schema(self) -> dict[str, Json]:
        return schema_of("SessionSummary", FIELDS)

    def instructions(self, *, archive: bool = False) -> str:
        opening = (
            "Write Markdown with these five headings (`## Name`), in this order, and a bullet for each fact:"
        )
        return told(opening, FIELDS, archive=archive)

    def fill(self, facts: LogFacts, *, archive: bool) -> SummaryContent:
        status = () if archive else todo_lines(facts)
        left_off = () if archive else left_off_lines(facts)
        errors, tests = error_lines(facts, archive=archive), test_lines(facts, archive=archive)
        commands = worked_lines(facts) if archive else command_lines(facts)
        is_passed = facts.tests is not None and facts.tests.is_passed
        lines = {
            OBJECTIVES.name: fit_lines(
                OBJECTIVES,
                (*goal_lines(facts), *directive_lines(facts), *(() if is_passed else tests)),
                LineGroup("todos", status),
                LineGroup("remarks", left_off),
            ),
            CONTEXT.name: fit_lines(
                CONTEXT, (), LineGroup("keys", key_lines(facts)), LineGroup("commands", commands)
            ),
            MILESTONES.name: fit_lines(
                MILESTONES, tests if is_passed else (), LineGroup("counts", done_lines(facts))
            ),
            INSIGHTS.name: fit_lines(
                INSIGHTS,
                errors,
                LineGroup("decisions", decision_lines(facts)),
                LineGroup("failed attempts", attempt_lines(facts)),
            ),
            FILES.name: fit_lines(FILES, changed_lines(facts), LineGroup("files read", read_lines(facts))),
        }
        return content_of(FIELDS, lines)
