"""The form of the agent that builds and evaluates: JSON with components, progress, problems and pending work.

Rule: it has every key of the summary that this agent's prompt promises, and what the user asked stands first among
what is pending.
"""

from msgspec import Struct

from holdfast.compaction.facts.fact import LogFacts
from holdfast.compaction.forms.content import FormField, FormLine, ParseProblem, SummaryContent
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
    fit_lines,
    goal_lines,
    iteration,
    key_lines,
    left_off_lines,
    output_dir,
    problem_lines,
    progress_lines,
    read_lines,
    standing_lines,
    success_rate,
    test_lines,
    todo_lines,
    worked_lines,
)
from holdfast.messages import Json

TOOLS = FormField(
    name="generated_components.tools",
    about="tools that were made, `file: what it does` each",
    most_lines=40,
    lasts=True,
    weight=6,
)
CHECKERS = FormField(
    name="generated_components.checkers",
    about="checkers that were made, `file: what it checks` each",
    most_lines=40,
    lasts=True,
    weight=6,
)
SAMPLES = FormField(
    name="generated_components.samples",
    about="how many samples there are, and of what kinds",
    kind="text",
    weight=5,
)
ITERATION = FormField(
    name="evaluation_progress.current_iteration", about="number of the iteration", kind="number", weight=6
)
RATE = FormField(
    name="evaluation_progress.success_rate", about="such as `12/15 (80%)`", kind="line", weight=6
)
LAYERS = FormField(
    name="evaluation_progress.layer_status",
    about="which layer is done and which is being worked on, with the last test run",
    kind="text",
    weight=8,
)
LAYER2 = FormField(
    name="identified_issues.layer2_problems", about="problems of tools", most_lines=40, weight=7
)
LAYER3 = FormField(
    name="identified_issues.layer3_problems", about="problems of checkers", most_lines=40, weight=7
)
FIXES = FormField(
    name="identified_issues.fix_attempts",
    about="what was tried as a fix, and whether it held",
    most_lines=40,
    lasts=True,
    weight=4,
)
PENDING = FormField(
    name="pending_work",
    about="the task with what the user demanded or forbade, what is next, on what grounds to stop, return or go "
    "on, decisions that a person must take",
    most_lines=60,
    weight=9,
)
OUTPUT_DIR = FormField(
    name="key_paths.execution_output_dir", about="folder of the outputs", kind="line", weight=6
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
    TOOLS,
    CHECKERS,
    SAMPLES,
    ITERATION,
    RATE,
    LAYERS,
    LAYER2,
    LAYER3,
    FIXES,
    PENDING,
    OUTPUT_DIR,
    OTHER_PATHS,
)


class ExecuteJson(Struct, frozen=True):
    name: str = "execute_json"
    fields: tuple[FormField, ...] = FIELDS
    has_every_key: bool = True

    def render(self, content: SummaryContent) -> str:
        return render_json(FIELDS, content)

    def parse(self, text: str) -> tuple[SummaryContent, tuple[ParseProblem, ...]]:
        return parse_json(FIELDS, text)

    def value(self, content: SummaryContent) -> Json:
        return value_of(FIELDS, content)

    def schema(self) -> dict[str, Json]:
        return schema_of("ExecuteSummary", FIELDS)

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
        changed, errors = changed_lines(facts), error_lines(facts, archive=archive)
        lines = {
            TOOLS.name: tuple(line for line in changed if _component(line) == TOOLS.name),
            CHECKERS.name: tuple(line for line in changed if _component(line) == CHECKERS.name),
            SAMPLES.name: tuple(line for line in changed if _component(line) == SAMPLES.name),
            ITERATION.name: iteration(facts),
            RATE.name: success_rate(facts),
            LAYERS.name: (*progress_lines(facts), *test_lines(facts, archive=archive)),
            LAYER2.name: (
                *problem_lines(facts, 2),
                *(line for line in errors if "checker" not in line.text.lower()),
            ),
            LAYER3.name: (
                *problem_lines(facts, 3),
                *(line for line in errors if "checker" in line.text.lower()),
            ),
            FIXES.name: fit_lines(
                FIXES,
                (),
                LineGroup("decisions", decision_lines(facts)),
                LineGroup("failed attempts", attempt_lines(facts)),
            ),
            PENDING.name: fit_lines(
                PENDING,
                (*standing, *goal_lines(facts), *directive_lines(facts), *left_off),
                LineGroup("todos", pending),
            ),
            OUTPUT_DIR.name: output_dir(facts),
            OTHER_PATHS.name: fit_lines(
                OTHER_PATHS,
                (),
                LineGroup("keys", key_lines(facts)),
                LineGroup("files read", read_lines(facts)),
                LineGroup("commands", commands),
            ),
        }
        return content_of(FIELDS, lines, facts.earlier)


def _component(line: FormLine) -> str:
    """Which component a changed file is, as far as its path tells."""
    path = line.text.rsplit(" (", 1)[0].lower()
    if "checker" in path:
        return CHECKERS.name
    return SAMPLES.name if "sample" in path else TOOLS.name
