"""The tools of the coding agent, and what they share and remember in one talk.

Rule: what they remember is rebuilt from the log; a bench that was restored answers as the one that was lost.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from msgspec import Struct, field

from holdfast.agents.coding.footprints import Footprint, Left, Looking, WatchedBash, footprint_in
from holdfast.agents.coding.task_changes import changed_by_task
from holdfast.agents.results import is_uncertain
from holdfast.events import AssistantReplied, Entry, Noted, ToolReturned
from holdfast.messages import Json, ToolDefinition, joined_text
from holdfast.tools.around.ask_user import Respondent, ask_tool
from holdfast.tools.around.recall import recall_tool
from holdfast.tools.around.skill import skill_tool
from holdfast.tools.around.skills import SkillFolder, Skills, project_folders
from holdfast.tools.around.todo_write import TodoList, todo_tool
from holdfast.tools.files.edit import edit_tool
from holdfast.tools.files.multi_edit import multi_edit_tool
from holdfast.tools.files.read import read_tool
from holdfast.tools.files.seen import UNDO, Files
from holdfast.tools.files.write import write_tool
from holdfast.tools.listing.glob import glob_tool
from holdfast.tools.listing.grep import grep_tool
from holdfast.tools.listing.ls import ls_tool
from holdfast.tools.protocol import Tool
from holdfast.tools.shell.bash import bash_tool
from holdfast.tools.shell.bash_output import bash_output_tool
from holdfast.tools.shell.bash_stop import bash_stop_tool
from holdfast.tools.shell.shell import Shell

Recalling = Callable[[Mapping[str, Json]], tuple[str, bool]]


class Bench(Struct):
    """Files that were seen, the shell, the todo list and the skills of one talk."""

    files: Files
    shell: Shell
    todos: TodoList
    skills: Skills
    left: list[Left] = field(default_factory=list)
    """What commands did to files that cannot be taken back."""
    unseen: list[int] = field(default_factory=list)
    """Steps with a command at which nobody looked what it changed."""

    def tools(self, respondent: Respondent, recall: ToolDefinition, answer: Recalling) -> list[Tool]:
        """All tools, those that look and those that act."""
        return [
            *self.looking_tools(recall, answer),
            edit_tool(self.files),
            multi_edit_tool(self.files),
            write_tool(self.files),
            WatchedBash(bash_tool(self.shell), Looking(self.files), self.note_command),
            bash_output_tool(self.shell),
            bash_stop_tool(self.shell),
            todo_tool(self.todos),
            ask_tool(respondent),
            *([skill_tool(self.skills)] if self.skills.by_name else []),
        ]

    def looking_tools(self, recall: ToolDefinition, answer: Recalling) -> list[Tool]:
        """Those that change nothing."""
        return [ls_tool(), glob_tool(), grep_tool(), read_tool(self.files), recall_tool(recall, answer)]

    def paths_changed(self, made: int = 0, left: int = 0) -> list[str]:
        """Files that were changed since there were so many edits, and so much that commands left."""
        return [*(one.path for one in self.files.made[made:]), *(one.path for one in self.left[left:])]

    def note_command(self, found: Footprint, log: str = "") -> None:
        """Take in what a command changed; `log` is that of the sub-agent that ran it."""
        self.files.made += found.made(log)
        self.left += found.left()
        if not found.looked or found.more:
            self.unseen.append(found.step)

    def note_task(self, data: dict[str, Json]) -> None:
        """Take in what a sub-agent did to a file, or a command of it."""
        noted = changed_by_task(data)
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
                    self.note_command(Footprint(steps))
                case ToolReturned(name=name, data=data) if data:
                    self.files.restore(name, data)
                    if name == "Bash":
                        self.shell.restore(data)
                        self.note_command(footprint_in(data))
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


def skills_of(root: Path, own: Path | None) -> Skills:
    """The project's skills, then the user's own."""
    skills = Skills([*project_folders(root), *([SkillFolder(own)] if own else [])])
    skills.refresh()
    return skills
