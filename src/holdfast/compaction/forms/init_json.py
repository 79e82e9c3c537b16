"""The form of the agent that designs: JSON with the design, the other's feedback, conclusions and what is pending.

Rule: it has every key of the summary that this agent's prompt promises, and decisions that wait for a person stay
among what is pending.
"""

from msgspec import Struct

from holdfast.compaction.facts.fact import LogFacts
from holdfast.compaction.forms.content import FormField, ParseProblem, SummaryContent
from holdfast.compaction.forms.form import content_of, told
from holdfast.compaction.forms.nested_json import TAG, parse_json, render_json, schema_of, value_of
from holdfast.compaction.forms.rule_lines import (
    LineGroup,
    attempt_lines,
    changed_lines,
    command_lines,
    decision_lines,
    directive_lines,
    error_lines,
    failure_count,
    fit_lines,
    goal_lines,
    key_lines,
    left_off_lines,
    output_dir,
    problem_lines,
    read_lines,
    report,
    standing_lines,
    test_lines,
    todo_lines,
    worked_lines,
)
from holdfast.messages import Json

DESIGN = FormField(
    name="current_design_summary.unified_scenario_design",
    about="main points of the scenario's design",
    kind="text",
    separator="\n",
    lasts=True,
    weight=9,
)
RULES = FormField(
    name="current_design_summary.business_rules_key_points",
    about="key business rules, and what the user demanded or forbade",
    most_lines=40,
    lasts=True,
    weight=8,
)
FORMATS = FormField(
    name="current_design_summary.format_specifications",
    about="formats, in brief",
    kind="text",
    separator="\n",
    lasts=True,
    weight=4,
)
FEEDBACK_DIR = FormField(
    name="execute_feedback_summary.execution_output_dir",
    about="folder of the outputs that the feedback is about",
    kind="line",
    weight=6,
)
FAILURES = FormField(
    name="execute_feedback_summary.total_failure_samples",
    about="how many samples failed",
    kind="number",
    weight=5,
)
PROBLEMS = FormField(
    name="execute_feedback_summary.layer1_problems_summary",
    about="problems of layer 1, `type: description` each",
    most_lines=40,
    weight=7,
)
CONCLUSIONS = FormField(
    name="analysis_conclusions",
    about="samples that were analysed with what was found, flaws of the design with their causes, parts to change",
    most_lines=40,
    lasts=True,
    weight=3,
)
PENDING = FormField(
    name="pending_actions",
    about="samples still to analyse, parts still to change, decisions that a person must take",
    most_lines=30,
    weight=7,
)
OUTPUT_DIR = FormField(
    name="key_paths.execution_output_dir", about="folder of the outputs", kind="line", weight=6
)
REPORT = FormField(
    name="key_paths.layer1_problems_report", about="path of the report on layer 1", kind="line", weight=5
)
OTHER_PATHS = FormField(
    name="key_paths.other",
    about="other paths and ids that lead back to large content",
    is_required=False,
    most_lines=40,
    aliases=("key_paths",),
    weight=2,
)
FIELDS = (
    DESIGN,
    RULES,
    FORMATS,
    FEEDBACK_DIR,
    FAILURES,
    PROBLEMS,
    CONCLUSIONS,
    PENDING,
    OUTPUT_DIR,
    REPORT,
    OTHER_PATHS,
)


class InitJson(Struct, frozen=True):
    name: str = "init_json"
    fields: tuple[FormField, ...] = FIELDS
    has_every_key: bool = True

    def render(self, content: SummaryContent) -> str:
        return render_json(FIELDS, content)

    def parse(self, text: str) -> tuple[SummaryContent, tuple[ParseProblem, ...]]:
        return parse_json(FIELDS, text)

    def value(self, content: SummaryContent) -> Json:
        return value_of(FIELDS, content)

    def schema(self) -> dict[str, Json]:
        return schema_of("InitSummary", FIELDS)

    def instructions(self, *, archive: bool = False) -> str:
        opening = (
            f"Write one JSON object inside `<{TAG}>` tags, with these keys (a dot is a level of nesting):"
        )
        return told(opening, FIELDS, archive=archive)

    def fill(self, facts: LogFacts, *, archive: bool) -> SummaryContent:
        pending = () if archive else todo_lines(facts)
        left_off = () if archive else left_off_lines(facts)
        standing = () if archive else standing_lines(facts)
        commands = worked_lines(facts) if archive else command_lines(facts)
        lines = {
            DESIGN.name: goal_lines(facts),
            RULES.name: directive_lines(facts),
            FEEDBACK_DIR.name: output_dir(facts),
            FAILURES.name: failure_count(facts),
            PROBLEMS.name: (*problem_lines(facts, 1), *error_lines(facts, archive=archive)),
            CONCLUSIONS.name: fit_lines(
                CONCLUSIONS,
                test_lines(facts, archive=archive),
                LineGroup("decisions", decision_lines(facts)),
                LineGroup("failed attempts", attempt_lines(facts)),
                LineGroup("commands", commands),
            ),
            PENDING.name: fit_lines(PENDING, (*standing, *left_off), LineGroup("todos", pending)),
            OUTPUT_DIR.name: output_dir(facts),
            REPORT.name: report(facts),
            OTHER_PATHS.name: fit_lines(
                OTHER_PATHS,
                changed_lines(facts),
                LineGroup("files read", read_lines(facts)),
                LineGroup("keys", key_lines(facts)),
            ),
        }
        return content_of(FIELDS, lines, facts.earlier)
