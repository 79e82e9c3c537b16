"""The summary forms of a pair: JSON of the agent that designs (`init`) and of the one that executes (`execute`).

Rule: each has every key that its agent's prompt promises; decisions that wait for a person stay among what is
pending.
"""

from msgspec.structs import replace

from holdfast.compaction.forms import rule_lines as by_rule
from holdfast.compaction.forms.content import FormField
from holdfast.compaction.forms.form import Form
from holdfast.compaction.forms.nested_json import TAG

_OPENING = f"Write one JSON object inside `<{TAG}>` tags, with these keys (a dot is a level of nesting):"

_OUTPUT_DIR = FormField(
    name="key_paths.execution_output_dir",
    about="folder of the outputs",
    kind="line",
    weight=6,
    always=(by_rule.output_dir,),
)
_OTHER_PATHS = FormField(
    name="key_paths.other",
    about="other paths and ids that lead back to large content",
    is_required=False,
    most_lines=40,
    aliases=("key_paths",),
    weight=2,
)

INIT_JSON = Form(
    name="init_json",
    layout="json",
    opening=_OPENING,
    fields=(
        FormField(
            name="current_design_summary.unified_scenario_design",
            about="main points of the scenario's design",
            kind="text",
            separator="\n",
            lasts=True,
            weight=9,
            always=(by_rule.goal_lines,),
        ),
        FormField(
            name="current_design_summary.business_rules_key_points",
            about="key business rules, and what the user demanded or forbade",
            most_lines=40,
            lasts=True,
            weight=8,
            always=(by_rule.directive_lines,),
        ),
        FormField(
            name="current_design_summary.format_specifications",
            about="formats, in brief",
            kind="text",
            separator="\n",
            lasts=True,
            weight=4,
        ),
        FormField(
            name="execute_feedback_summary.execution_output_dir",
            about="folder of the outputs that the feedback is about",
            kind="line",
            weight=6,
            always=(by_rule.output_dir,),
        ),
        FormField(
            name="execute_feedback_summary.total_failure_samples",
            about="how many samples failed",
            kind="number",
            weight=5,
            always=(by_rule.failure_count,),
        ),
        FormField(
            name="execute_feedback_summary.layer1_problems_summary",
            about="problems of layer 1, `type: description` each",
            most_lines=40,
            weight=7,
            always=(by_rule.design_problem_lines,),
        ),
        FormField(
            name="analysis_conclusions",
            about="samples that were analysed with what was found, flaws of the design with their causes, "
            "parts to change",
            most_lines=40,
            lasts=True,
            weight=3,
            always=(by_rule.test_lines,),
            newest=(
                ("decisions", by_rule.decision_lines),
                ("failed attempts", by_rule.attempt_lines),
                ("commands", by_rule.command_lines),
            ),
        ),
        FormField(
            name="pending_actions",
            about="samples still to analyse, parts still to change, decisions that a person must take",
            most_lines=30,
            weight=7,
            always=(by_rule.recap_lines, by_rule.left_off_lines),
            newest=(("todos", by_rule.todo_lines),),
        ),
        _OUTPUT_DIR,
        FormField(
            name="key_paths.layer1_problems_report",
            about="path of the report on layer 1",
            kind="line",
            weight=5,
            always=(by_rule.report,),
        ),
        replace(
            _OTHER_PATHS,
            always=(by_rule.changed_lines,),
            newest=(("files read", by_rule.read_lines), ("keys", by_rule.key_lines)),
        ),
    ),
)

EXECUTE_JSON = Form(
    name="execute_json",
    layout="json",
    opening=_OPENING,
    fields=(
        FormField(
            name="generated_components.tools",
            about="tools that were made, `file: what it does` each",
            most_lines=40,
            lasts=True,
            weight=6,
            always=(by_rule.changed_tool_lines,),
        ),
        FormField(
            name="generated_components.checkers",
            about="checkers that were made, `file: what it checks` each",
            most_lines=40,
            lasts=True,
            weight=6,
            always=(by_rule.changed_checker_lines,),
        ),
        FormField(
            name="generated_components.samples",
            about="how many samples there are, and of what kinds",
            kind="text",
            weight=5,
            always=(by_rule.changed_sample_lines,),
        ),
        FormField(
            name="evaluation_progress.current_iteration",
            about="number of the iteration",
            kind="number",
            weight=6,
            always=(by_rule.iteration,),
        ),
        FormField(
            name="evaluation_progress.success_rate",
            about="such as `12/15 (80%)`",
            kind="line",
            weight=6,
            always=(by_rule.success_rate,),
        ),
        FormField(
            name="evaluation_progress.layer_status",
            about="which layer is done and which is being worked on, with the last test run",
            kind="text",
            weight=8,
            always=(by_rule.progress_lines, by_rule.test_lines),
        ),
        FormField(
            name="identified_issues.layer2_problems",
            about="problems of tools",
            most_lines=40,
            weight=7,
            always=(by_rule.tool_problem_lines,),
        ),
        FormField(
            name="identified_issues.layer3_problems",
            about="problems of checkers",
            most_lines=40,
            weight=7,
            always=(by_rule.checker_problem_lines,),
        ),
        FormField(
            name="identified_issues.fix_attempts",
            about="what was tried as a fix, and whether it held",
            most_lines=40,
            lasts=True,
            weight=4,
            newest=(("decisions", by_rule.decision_lines), ("failed attempts", by_rule.attempt_lines)),
        ),
        FormField(
            name="pending_work",
            about="the task with what the user demanded or forbade, what is next, on what grounds to stop, return "
            "or go on, decisions that a person must take",
            most_lines=60,
            weight=9,
            always=(by_rule.recap_lines, by_rule.goal_lines, by_rule.directive_lines, by_rule.left_off_lines),
            newest=(("todos", by_rule.todo_lines),),
        ),
        _OUTPUT_DIR,
        replace(
            _OTHER_PATHS,
            newest=(
                ("keys", by_rule.key_lines),
                ("files read", by_rule.read_lines),
                ("commands", by_rule.command_lines),
            ),
        ),
    ),
)
