"""The tools of a session, and the state that they share: files, shell, todo list, skills, and what was changed.

Rule: the state is rebuilt from the log; after a restart the tools answer as they did before. Each change that a
sub-agent makes is noted in its parent's log, so that it can be shown and undone like the parent's own.
"""

from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from holdfast.agents.agent_tools import session_recall_tool
from holdfast.agents.build import AgentConfig
from holdfast.agents.coding.command_effects import (
    ChangeDetector,
    CommandEffects,
    IrreversibleChange,
    TrackedBash,
    read_command_effects,
)
from holdfast.agents.coding.own_command import OWN_COMMAND
from holdfast.agents.notices import Notice, SubAgentNotice
from holdfast.agents.tool_results import is_uncertain
from holdfast.events import AssistantReplied, Entry, Noted, ToolReturned
from holdfast.messages import Json, ToolCall, joined_text
from holdfast.session import Session
from holdfast.tools.ask_user import Responder, ask_user_tool
from holdfast.tools.call import CallFinished
from holdfast.tools.checks.checked_edit import CheckedEdit, ProjectChecks
from holdfast.tools.files.edit import edit_tool, multi_edit_tool
from holdfast.tools.files.read import read_tool
from holdfast.tools.files.seen_files import CHANGING_TOOLS, UNDO, AgentEdit, IsVisible, SeenFiles
from holdfast.tools.files.snapshots import FolderSnapshots, MemorySnapshots, Snapshots
from holdfast.tools.files.write import write_tool
from holdfast.tools.permissions.decision import CallContext, decide
from holdfast.tools.search.glob import glob_tool
from holdfast.tools.search.grep import grep_tool
from holdfast.tools.search.ls import ls_tool
from holdfast.tools.shell.bash import bash_tool
from holdfast.tools.shell.bash_output import bash_output_tool
from holdfast.tools.shell.bash_stop import bash_stop_tool
from holdfast.tools.shell.sandbox import Unconfined
from holdfast.tools.shell.shell import Shell, ShellLimits
from holdfast.tools.skill import skill_tool
from holdfast.tools.skill_files import SkillFolder, Skills, project_folders
from holdfast.tools.todo_write import TodoList, todo_write_tool
from holdfast.tools.tool import Tool
from holdfast.tools.web.web_fetch import web_fetch_tool
from holdfast.tools.web.web_page import MayReach, nothing_private
from holdfast.tools.web.web_search import Search, web_search_tool

CHECK_OUTPUT = 20_000_000
CHECK_GRACE = 0.2
"""Bytes that a check may print, and seconds between the request to end and the kill: it has nothing to tidy up."""


class SubAgentChange(Struct, frozen=True):
    """An edit, or the effects of a command, by the sub-agent with this log."""

    log: str
    made: AgentEdit | None = None
    command: CommandEffects | None = None


class _Edited(Struct, frozen=True):
    """The part of an edit's data that matters here."""

    path: str
    before: str
    after: str
    file: str = ""
    dry_run: bool = False


def change_note(notice: Notice, step: int) -> Noted | None:
    """The note about a change by a sub-agent, with the parent's step; None if nothing was changed."""
    log = ""
    while isinstance(notice, SubAgentNotice):
        log, notice = notice.log, notice.notice
    if not log or not isinstance(notice, CallFinished) or notice.result.is_error:
        return None
    changed = _changed(log, notice, step)
    said = f"the sub-agent {log} called {notice.call.name}"
    return Noted("task", said, msgspec.to_builtins(changed)) if changed else None


def _changed(log: str, news: CallFinished, step: int) -> SubAgentChange | None:
    data = news.result.envelope.data
    if news.call.name == "Bash":
        found = read_command_effects(data)
        is_known = found.looked and not found.changed
        return None if is_known else SubAgentChange(log, command=replace(found, step=step))
    if news.call.name not in CHANGING_TOOLS:
        return None
    try:
        edited = msgspec.convert(data, _Edited)
    except msgspec.ValidationError:
        return None
    if edited.dry_run or edited.before == edited.after:
        return None
    made = AgentEdit(edited.file or edited.path, edited.path, edited.before, edited.after, step)
    return SubAgentChange(log, made)


class ToolState(Struct):
    """What the tools of one session share and remember."""

    files: SeenFiles
    shell: Shell
    todos: TodoList
    skills: Skills
    recall: Tool
    irreversible: list[IrreversibleChange] = field(default_factory=list)
    """What commands did to files that cannot be undone."""
    unseen: list[int] = field(default_factory=list)
    """Steps with a command whose effects are not fully known."""
    checks: ProjectChecks | None = None
    may_reach: MayReach = nothing_private
    """Which sites at addresses of this machine or its network WebFetch may reach."""

    def tools(self, responder: Responder) -> list[Tool]:
        """All tools, those that read and those that act."""
        return [
            *self.read_only_tools(),
            *map(self._checked, (edit_tool(self.files), multi_edit_tool(self.files), write_tool(self.files))),
            TrackedBash(bash_tool(self.shell), ChangeDetector(self.files), self.note_command),
            bash_output_tool(self.shell),
            bash_stop_tool(self.shell),
            todo_write_tool(self.todos),
            ask_user_tool(responder),
            *([skill_tool(self.skills)] if self.skills.by_name else []),
        ]

    def _checked(self, tool: Tool) -> Tool:
        return CheckedEdit(tool, self.checks) if self.checks else tool

    def read_only_tools(self) -> list[Tool]:
        return [ls_tool(), glob_tool(), grep_tool(), read_tool(self.files), self.recall]

    def web_tools(self, search: Search | None) -> list[Tool]:
        """Tools that reach the web, for the agent that a person talks to; `search` is what its provider has."""
        return [web_fetch_tool(self.may_reach), *([web_search_tool(search)] if search else [])]

    def note_command(self, effects: CommandEffects, log: str = "") -> None:
        """Take in what a command changed; `log` is that of the sub-agent that ran it."""
        edits, irreversible = effects.split(log)
        self.files.edits += edits
        self.irreversible += irreversible
        if not effects.looked or effects.more:
            self.unseen.append(effects.step)

    def note_sub_agent(self, data: dict[str, Json]) -> None:
        """Take in a change by a sub-agent, from the data of its note."""
        try:
            change = msgspec.convert(data, SubAgentChange)
        except msgspec.ValidationError:
            return
        if change.made:
            self.files.edits.append(change.made)
        if change.command:
            self.note_command(change.command, change.log)

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
                case Noted(kind=kind, data=data) if kind == OWN_COMMAND:
                    self.shell.restore(data)
                    self.note_command(read_command_effects(data))
                case Noted(kind="undo", data=data):
                    self.files.restore(UNDO, data)
                case Noted(kind="task", data=data):
                    self.note_sub_agent(data)

    def forget(self) -> None:
        """Start over, as if nothing had been seen or done; running commands go on."""
        self.files.by_key.clear()
        self.files.edits.clear()
        self.irreversible.clear()
        self.unseen.clear()
        self.shell.cwd = "."
        self.todos.written = ()
        self.todos.archive.clear()

    def close(self) -> None:
        self.shell.close()
        if self.checks:
            self.checks.close()


def new_tool_state(
    config: AgentConfig,
    session: Session,
    *,
    is_visible: IsVisible | None = None,
    snapshots: Snapshots | None = None,
    skills: Skills | None = None,
) -> ToolState:
    """`is_visible` says which lines of a file the model can see now. `snapshots` may be shared with a parent."""
    if snapshots is None:
        snapshots = FolderSnapshots(config.snapshots) if config.snapshots else MemorySnapshots()
    files = SeenFiles(
        snapshots,
        is_visible=is_visible,
        step=lambda: len(session.window.transcript.steps),
        protected=(config.snapshots,) if config.snapshots else (),
    )
    shell = Shell(
        sandbox=config.sandbox,
        access=config.permissions.usual_access,
        hidden=config.permissions.hidden,
        folders=config.permissions.folders,
        passes=config.permissions.variables,
    )
    recall = session_recall_tool(session)
    may_reach = config.permissions.may_reach
    checks = _project_checks(config)
    return ToolState(
        files, shell, TodoList(), skills or Skills([]), recall, checks=checks, may_reach=may_reach
    )


def _project_checks(config: AgentConfig) -> ProjectChecks | None:
    if not config.checks or not config.checks.seconds:
        return None
    permissions, sandbox = config.permissions, config.sandbox or Unconfined()
    context = CallContext(sandbox=sandbox.state)

    def may_run(command: str) -> bool:
        # As if the agent had called it: nothing can be changed in a sandbox, and else only a rule allows it.
        call = ToolCall("", "Bash", {"command": command, "access": "read"})
        return decide(call, "ask", permissions, context).verdict == "allow"

    shell = Shell(
        sandbox=sandbox,
        access="read",
        hidden=permissions.hidden,
        limits=ShellLimits(output_bytes=CHECK_OUTPUT, grace=CHECK_GRACE),
        passes=permissions.variables,
    )
    return ProjectChecks(config.checks, shell, may_run)


def load_skills(root: Path, own: Path | None) -> Skills:
    """The project's skills, then the user's own."""
    skills = Skills([*project_folders(root), *([SkillFolder(own)] if own else [])])
    skills.refresh()
    return skills
