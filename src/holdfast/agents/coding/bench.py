"""The tools of the coding agent, and what they share and remember in one talk.

Rule: what they remember is rebuilt from the log; a bench that was restored answers as the one that was lost.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from holdfast.events import Entry, Noted, ToolReturned
from holdfast.messages import Json, ToolDefinition
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

    def tools(self, respondent: Respondent, recall: ToolDefinition, answer: Recalling) -> list[Tool]:
        """All tools, those that look and those that act."""
        return [
            *self.looking_tools(recall, answer),
            edit_tool(self.files),
            multi_edit_tool(self.files),
            write_tool(self.files),
            bash_tool(self.shell),
            bash_output_tool(self.shell),
            bash_stop_tool(self.shell),
            todo_tool(self.todos),
            ask_tool(respondent),
            *([skill_tool(self.skills)] if self.skills.by_name else []),
        ]

    def looking_tools(self, recall: ToolDefinition, answer: Recalling) -> list[Tool]:
        """Those that change nothing."""
        return [ls_tool(), glob_tool(), grep_tool(), read_tool(self.files), recall_tool(recall, answer)]

    def restore(self, entries: Iterable[Entry]) -> None:
        """Take in what the results in a log say."""
        for entry in entries:
            match entry.event:
                case ToolReturned(name=name, data=data) if data:
                    self.files.restore(name, data)
                    if name == "Bash":
                        self.shell.restore(data)
                    elif name == "TodoWrite":
                        self.todos.restore(data)
                case Noted(kind="undo", data=data):
                    self.files.restore(UNDO, data)

    def close(self) -> None:
        self.shell.close()


def skills_of(root: Path, own: Path | None) -> Skills:
    """The project's skills, then the user's own."""
    skills = Skills([*project_folders(root), *([SkillFolder(own)] if own else [])])
    skills.refresh()
    return skills
