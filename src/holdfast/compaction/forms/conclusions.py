"""The form of a review: what was concluded, which checks were done, which assumptions are confirmed.

Rule: a review that has nothing to say yet renders to nothing, so that no message is spent on it.
"""

from msgspec import Struct

from holdfast.compaction.facts.fact import LogFacts
from holdfast.compaction.forms.content import FormField, ParseProblem, SummaryContent, visible_texts
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
    error_lines,
    fit_lines,
    goal_lines,
    key_lines,
    left_off_lines,
    read_lines,
    standing_lines,
    test_lines,
    todo_lines,
    worked_lines,
)
from holdfast.messages import Json

TITLE = "Review Summary"

CONCLUSIONS = FormField(
    name="Conclusions",
    about="what was asked, and what the review has concluded so far",
    most_lines=40,
    aliases=("Findings", "结论"),
    weight=9,
)
CHECKS = FormField(
    name="Checks done",
    about="which files, commands and tests were looked at, and what came of each",
    most_lines=40,
    aliases=("Checks", "Checks completed", "已做检查", "已做过的检查", "已完成的检查"),
    weight=3,
)
ASSUMPTIONS = FormField(
    name="Confirmed assumptions",
    about="what is taken as given because the user said it or the code showed it",
    most_lines=30,
    aliases=("Assumptions", "已确认的假设", "已确认假设"),
    weight=6,
)
FIELDS = (CONCLUSIONS, CHECKS, ASSUMPTIONS)


class Conclusions(Struct, frozen=True):
    name: str = "conclusions"
    fields: tuple[FormField, ...] = FIELDS
    has_every_key: bool = False

    def render(self, content: SummaryContent) -> str:
        if not any(visible_texts(content.fields.get(field.name, ())) for field in FIELDS):
            return ""
        return render_sections(TITLE, FIELDS, content)

    def parse(self, text: str) -> tuple[SummaryContent, tuple[ParseProblem, ...]]:
        return parse_sections(FIELDS, text)

    def value(self, content: SummaryContent) -> Json:
        return value_of(FIELDS, content)

    def schema(self) -> dict[str, Json]:
        return schema_of("ReviewSummary", FIELDS)

    def instructions(self, *, archive: bool = False) -> str:
        opening = "Write Markdown with these three headings (`## Name`) and a bullet for each fact:"
        return told(opening, FIELDS, archive=archive)

    def fill(self, facts: LogFacts, *, archive: bool) -> SummaryContent:
        pending = () if archive else todo_lines(facts)
        left_off = () if archive else left_off_lines(facts)
        commands = worked_lines(facts) if archive else command_lines(facts)
        lines = {
            CONCLUSIONS.name: fit_lines(
                CONCLUSIONS,
                (*goal_lines(facts), *error_lines(facts, archive=archive)),
                LineGroup("findings", () if archive else standing_lines(facts)),
                LineGroup("decisions", decision_lines(facts)),
                LineGroup("failed attempts", attempt_lines(facts)),
                LineGroup("todos", pending),
                LineGroup("remarks", left_off),
            ),
            CHECKS.name: fit_lines(
                CHECKS,
                (*changed_lines(facts), *test_lines(facts, archive=archive)),
                LineGroup("files read", read_lines(facts)),
                LineGroup("commands", commands),
            ),
            ASSUMPTIONS.name: fit_lines(
                ASSUMPTIONS, directive_lines(facts), LineGroup("keys", key_lines(facts))
            ),
        }
        return content_of(FIELDS, lines)
