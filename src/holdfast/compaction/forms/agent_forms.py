"""The summary forms of a single agent: six lines, five Markdown sections, and the conclusions of a review.

Rule: names and limits of fields are stored and told to models, so they do not change; `aliases` may grow.
"""

from holdfast.compaction.forms import rule_lines as by_rule
from holdfast.compaction.forms.content import FormField
from holdfast.compaction.forms.form import Form

SIX_LINES = Form(
    name="six_lines",
    layout="rows",
    title="[Current State]",
    archive_title="[History Summary]",
    opening="Fill in this form: `{title}` on a line of its own, then `- Name: text` for each of these six:",
    fields=(
        FormField(
            name="Overall Goal",
            about="what the user wanted first, and what is wanted now",
            kind="line",
            most_lines=1,
            aliases=("Goal", "总体目标", "目标"),
            weight=9,
            always=(by_rule.goal_lines,),
        ),
        FormField(
            name="Current Plan & Progress",
            about="how far the work is, and the next step",
            kind="line",
            most_lines=1,
            most_chars=600,
            aliases=("Plan & Progress", "当前计划与进度", "计划与进度"),
            weight=5,
            newest=(("todos", by_rule.todo_or_done_lines),),
        ),
        FormField(
            name="Environment / Files",
            about="key files or paths that were created, modified or read, with commas between them",
            most_lines=1,
            most_chars=1_500,
            separator=", ",
            aliases=("Files", "Environment", "环境/文件", "文件"),
            weight=6,
            always=(by_rule.changed_lines,),
            newest=(("files read", by_rule.read_lines), ("keys", by_rule.key_lines)),
        ),
        FormField(
            name="Key Knowledge / Insights",
            about="key facts, conclusions and URLs, as short sentences with `;` between them",
            most_lines=1,
            most_chars=1_500,
            aliases=("Key Knowledge", "Insights", "关键知识/见解", "关键知识"),
            weight=4,
            always=(by_rule.directive_lines,),
            newest=(("decisions", by_rule.decision_lines), ("failed attempts", by_rule.attempt_lines)),
        ),
        FormField(
            name="Recent Actions",
            about="the newest tool calls in brief, and what came of each",
            most_lines=2,
            most_chars=1_000,
            aliases=("最近操作", "最近动作"),
            weight=2,
            newest=(("commands", by_rule.recent_command_lines),),
            behind=(by_rule.test_lines,),
        ),
        FormField(
            name="Left-off Point",
            about="where exactly the work is stuck, and what blocks it",
            kind="line",
            most_lines=1,
            most_chars=600,
            aliases=("Left off", "停止点", "中断点"),
            weight=8,
            always=(by_rule.error_lines, by_rule.left_off_lines),
        ),
    ),
)

FIVE_SECTIONS = Form(
    name="five_sections",
    layout="sections",
    title="Working State",
    archive_title="Archived Session Summary",
    opening="Write Markdown with these five headings (`## Name`), in this order, and a bullet for each fact:",
    fields=(
        FormField(
            name="Objectives & Status",
            about="what the user wants, what the user demanded or forbade, and how far it is",
            most_lines=30,
            aliases=("Objectives", "目标与状态"),
            weight=9,
            always=(by_rule.goal_lines, by_rule.directive_lines, by_rule.failed_test_lines),
            newest=(("todos", by_rule.todo_lines), ("remarks", by_rule.left_off_lines)),
        ),
        FormField(
            name="Technical Context",
            about="languages, frameworks, commands, paths and ids that the work depends on",
            most_lines=16,
            aliases=("技术背景", "技术上下文"),
            weight=3,
            newest=(("keys", by_rule.key_lines), ("commands", by_rule.command_lines)),
        ),
        FormField(
            name="Completed Milestones",
            about="what is finished, a line each",
            most_lines=20,
            aliases=("Milestones", "已完成里程碑", "已完成的里程碑", "已完成事项"),
            check="[✓] ",
            weight=2,
            always=(by_rule.passed_test_lines,),
            newest=(("counts", by_rule.done_lines),),
        ),
        FormField(
            name="Key Insights & Decisions",
            about="what was found out, what was decided and why, what was tried and failed",
            most_lines=30,
            aliases=("Key Insights", "Insights & Decisions", "关键见解与决策", "关键决策"),
            weight=5,
            always=(by_rule.error_lines,),
            newest=(("decisions", by_rule.decision_lines), ("failed attempts", by_rule.attempt_lines)),
        ),
        FormField(
            name="File System State",
            about="files that were created, modified, deleted or read",
            most_lines=40,
            aliases=("Files", "文件系统状态", "文件系统快照"),
            weight=4,
            always=(by_rule.changed_lines,),
            newest=(("files read", by_rule.read_lines),),
        ),
    ),
)

CONCLUSIONS = Form(
    name="conclusions",
    layout="sections",
    title="Review State",
    archive_title="Review Summary",
    opening="Write Markdown with these three headings (`## Name`) and a bullet for each fact:",
    may_be_empty=True,
    fields=(
        FormField(
            name="Conclusions",
            about="what was asked, and what the review has concluded so far",
            most_lines=40,
            aliases=("Findings", "结论"),
            weight=9,
            always=(by_rule.goal_lines, by_rule.error_lines),
            newest=(
                ("findings", by_rule.recap_lines),
                ("decisions", by_rule.decision_lines),
                ("failed attempts", by_rule.attempt_lines),
                ("todos", by_rule.todo_lines),
                ("remarks", by_rule.left_off_lines),
            ),
        ),
        FormField(
            name="Checks done",
            about="which files, commands and tests were looked at, and what came of each",
            most_lines=40,
            aliases=("Checks", "Checks completed", "已做检查", "已做过的检查", "已完成的检查"),
            weight=3,
            always=(by_rule.changed_lines, by_rule.test_lines),
            newest=(("files read", by_rule.read_lines), ("commands", by_rule.command_lines)),
        ),
        FormField(
            name="Confirmed assumptions",
            about="what is taken as given because the user said it or the code showed it",
            most_lines=30,
            aliases=("Assumptions", "已确认的假设", "已确认假设"),
            weight=6,
            always=(by_rule.directive_lines,),
            newest=(("keys", by_rule.key_lines),),
        ),
    ),
)
