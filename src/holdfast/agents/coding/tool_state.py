"""What sub-agents did to files, as it stands in the log of the talk they worked for.

Rule: one note for each change, written when it was made, so that it can be seen and taken back like the talk's own,
also after a crash. The step is the talk's.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from holdfast.agents.coding.command_effects import (
    ChangeDetector,
    CommandEffects,
    IrreversibleChange,
    TrackedBash,
    read_command_effects,
)
from holdfast.agents.notices import Notice, SubAgentNotice
from holdfast.agents.tool_results import is_uncertain
from holdfast.events import AssistantReplied, Entry, Noted, ToolReturned
from holdfast.messages import Json, ToolDefinition, joined_text
from holdfast.tools.ask_user import Responder, ask_user_tool
from holdfast.tools.call import CallFinished
from holdfast.tools.files.edit import edit_tool
from holdfast.tools.files.multi_edit import multi_edit_tool
from holdfast.tools.files.read import read_tool
from holdfast.tools.files.seen_files import CHANGING_TOOLS, UNDO, AgentEdit, SeenFiles
from holdfast.tools.files.write import write_tool
from holdfast.tools.recall import recall_tool
from holdfast.tools.search.glob import glob_tool
from holdfast.tools.search.grep import grep_tool
from holdfast.tools.search.ls import ls_tool
from holdfast.tools.shell.bash import bash_tool
from holdfast.tools.shell.bash_output import bash_output_tool
from holdfast.tools.shell.bash_stop import bash_stop_tool
from holdfast.tools.shell.shell import Shell
from holdfast.tools.skill import skill_tool
from holdfast.tools.skill_files import SkillFolder, Skills, project_folders
from holdfast.tools.todo_write import TodoList, todo_write_tool
from holdfast.tools.tool import Tool

SUB_AGENT_NOTE = "task"


class SubAgentChange(Struct, frozen=True):
    """An edit, or what a command left behind, by the sub-agent with this log."""

    log: str
    made: AgentEdit | None = None
    command: CommandEffects | None = None


class _Edited(Struct, frozen=True):
    """Of the data of an edit, what matters here."""

    path: str
    before: str
    after: str
    file: str = ""
    dry_run: bool = False


def change_note(notice: Notice, step: int) -> Noted | None:
    """What is noted of a sub-agent's news in the given step of the talk; None where nothing was changed."""
    log = ""
    while isinstance(notice, SubAgentNotice):
        log, notice = notice.log, notice.news
    if not log or not isinstance(notice, CallFinished) or notice.result.is_error:
        return None
    changed = _changed(log, notice, step)
    if changed is None:
        return None
    return Noted(
        SUB_AGENT_NOTE, f"the sub-agent {log} called {notice.call.name}", msgspec.to_builtins(changed)
    )


def read_sub_agent_change(data: dict[str, Json]) -> SubAgentChange:
    try:
        return msgspec.convert(data, SubAgentChange)
    except msgspec.ValidationError:
        return SubAgentChange("")


def _changed(log: str, news: CallFinished, step: int) -> SubAgentChange | None:
    data = news.result.envelope.data
    if news.call.name == "Bash":
        found = read_command_effects(data)
        return (
            SubAgentChange(log, command=replace(found, step=step))
            if found.changed or not found.looked
            else None
        )
    if news.call.name not in CHANGING_TOOLS:
        return None
    try:
        edited = msgspec.convert(data, _Edited)
    except msgspec.ValidationError:
        return None
    if edited.dry_run or edited.before == edited.after:
        return None
    return SubAgentChange(
        log, AgentEdit(edited.file or edited.path, edited.path, edited.before, edited.after, step)
    )


# The tools of the coding agent, and what they share and remember in one talk.
#
# Rule: what they remember is rebuilt from the log; a bench that was restored answers as the one that was lost.

AnswerRecall = Callable[[Mapping[str, Json]], tuple[str, bool]]


class ToolState(Struct):
    """Files that were seen, the shell, the todo list and the skills of one talk."""

    files: SeenFiles
    shell: Shell
    todos: TodoList
    skills: Skills
    left: list[IrreversibleChange] = field(default_factory=list)
    """What commands did to files that cannot be taken back."""
    unseen: list[int] = field(default_factory=list)
    """Steps with a command at which nobody looked what it changed."""

    def tools(self, respondent: Responder, recall: ToolDefinition, answer: AnswerRecall) -> list[Tool]:
        """All tools, those that look and those that act."""
        return [
            *self.looking_tools(recall, answer),
            edit_tool(self.files),
            multi_edit_tool(self.files),
            write_tool(self.files),
            TrackedBash(bash_tool(self.shell), ChangeDetector(self.files), self.note_command),
            bash_output_tool(self.shell),
            bash_stop_tool(self.shell),
            todo_write_tool(self.todos),
            ask_user_tool(respondent),
            *([skill_tool(self.skills)] if self.skills.by_name else []),
        ]

    def looking_tools(self, recall: ToolDefinition, answer: AnswerRecall) -> list[Tool]:
        """Those that change nothing."""
        return [ls_tool(), glob_tool(), grep_tool(), read_tool(self.files), recall_tool(recall, answer)]

    def paths_changed(self, made: int = 0, left: int = 0) -> list[str]:
        """Files that were changed since there were so many edits, and so much that commands left."""
        return [*(one.path for one in self.files.made[made:]), *(one.path for one in self.left[left:])]

    def note_command(self, found: CommandEffects, log: str = "") -> None:
        """Take in what a command changed; `log` is that of the sub-agent that ran it."""
        self.files.made += found.made(log)
        self.left += found.left()
        if not found.looked or found.more:
            self.unseen.append(found.step)

    def note_task(self, data: dict[str, Json]) -> None:
        """Take in what a sub-agent did to a file, or a command of it."""
        noted = read_sub_agent_change(data)
        if noted.made:
            self.files.made.append(noted.made)
        if noted.command:
            self.note_command(noted.command, noted.log)

    def restore(self, entries: Iterable[Entry]) -> None:
        """Take in what the results in a log say."""
        steps = 0
        for entry in entries:
            match entry.event:
                case AssistantReplied():
                    steps += 1
                case ToolReturned(name="Bash", data={}, parts=parts) if is_uncertain(joined_text(parts)):
                    self.note_command(CommandEffects(steps))
                case ToolReturned(name=name, data=data) if data:
                    self.files.restore(name, data)
                    if name == "Bash":
                        self.shell.restore(data)
                        self.note_command(read_command_effects(data))
                    elif name == "TodoWrite":
                        self.todos.restore(data)
                case Noted(kind="undo", data=data):
                    self.files.restore(UNDO, data)
                case Noted(kind="task", data=data):
                    self.note_task(data)

    def forget(self) -> None:
        """As if nothing had been seen or done; commands that run go on."""
        self.files.sights.clear()
        self.files.made.clear()
        self.left.clear()
        self.unseen.clear()
        self.shell.cwd = "."
        self.todos.written = ()
        self.todos.archive.clear()

    def close(self) -> None:
        self.shell.close()


def load_skills(root: Path, own: Path | None) -> Skills:
    """The project's skills, then the user's own."""
    skills = Skills([*project_folders(root), *([SkillFolder(own)] if own else [])])
    skills.refresh()
    return skills
