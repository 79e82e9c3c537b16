"""A desk: one talk with the coding agent, its tools, its rules, and what is around it.

Rule: it can be closed at any moment and opened again from the log; what was sent before is sent again to the byte.
"""

from importlib.resources import files as package_files

from msgspec.structs import replace

from holdfast.agents.build import AgentConfig, Seat, protected_by, shell_of
from holdfast.agents.coding.task import TASK_TOOL, ParentAgent, current_call, task_tool
from holdfast.agents.coding.tool_state import ToolState, change_note, load_skills
from holdfast.agents.loop import run
from holdfast.agents.mentions import ResolvedPrompt, resolve_mentions
from holdfast.agents.notices import FoldMade, Notice, SubAgentNotice
from holdfast.agents.outcomes import End
from holdfast.agents.project_rules import (
    parent_folders,
    read_project_rules,
    read_rules,
    rule_changes,
)
from holdfast.events import Noted, SystemSet, ToolsSet
from holdfast.messages import joined_text
from holdfast.packing.visibility import Visibility, visibility_of
from holdfast.recall import RECALL_TOOL
from holdfast.tools.call import CallFinished, CallSettings, CallStarted
from holdfast.tools.files.seen_files import SeenFiles
from holdfast.tools.files.snapshots import FolderSnapshots, MemorySnapshots, Snapshots
from holdfast.tools.files.undo import undo
from holdfast.tools.permissions import PermissionGate, PermissionMode
from holdfast.tools.todo_write import TodoList
from holdfast.tools.workspace import Workspace

__all__ = ["INIT_PROMPT", "SYSTEM_PROMPT", "AgentConfig", "CodingSession", "last_reply"]

SYSTEM_PROMPT = (package_files(__package__) / "system.md").read_text("utf-8").strip()
INIT_PROMPT = (package_files(__package__) / "init.md").read_text("utf-8").strip()


class CodingSession:
    """**Contract:** `aclose` ends what runs; the store is the opener's and stays open."""

    def __init__(self, opening: AgentConfig) -> None:
        self.workspace = Workspace([opening.root])
        self.watch = opening.watch
        self.summarizer = opening.summarizer or opening.model
        self._permissions = opening.permissions
        self._reminded: set[str] = set()
        """Folders whose rules were told since the last fold."""
        self._ledger: tuple[tuple[int, int], Visibility] | None = None
        kept: Snapshots = FolderSnapshots(opening.snapshots) if opening.snapshots else MemorySnapshots()
        files = SeenFiles(kept, resident=self._is_resident, step=self._step, protected=protected_by(opening))
        skills = load_skills(opening.root, opening.skills)
        self.bench = ToolState(files, shell_of(opening), TodoList(), skills)
        gate = PermissionGate(opening.permissions, opening.approver, opening.mode)
        self._seat = seat = Seat(opening, self.workspace, self.bench, gate)
        tools = self.bench.tools(opening.respondent, RECALL_TOOL, seat.recall)
        task = task_tool(ParentAgent(seat, self._notice, opening.tasks))
        seat.sit([*tools, task, *opening.more_tools], SYSTEM_PROMPT, self._notice, _call_settings())
        self.session, self.agent = seat.session, seat.agent
        self._seat.restore()

    async def say(self, text: str) -> End:
        """What a person says, up to the end that it comes to."""
        self.hear(text)
        return await run(self.agent)

    async def go_on(self) -> End:
        """From where the log stands, with nothing more said."""
        self._read_rules()
        return await run(self.agent)

    def hear(self, text: str) -> ResolvedPrompt:
        """Take in what a person says, mentions resolved; while the agent works it waits for the next step."""
        said = resolve_mentions(text, self.workspace)
        self._read_rules()
        self.agent.say(said.text, *([said.reminder] if said.reminder else []))
        return said

    def undo(self, count: int = 1) -> str:
        """Take back the last edits; a diff for the person. Raises `ToolError` where that cannot be done."""
        result = undo(self.bench.files, self.workspace, count)
        self.session.record(Noted("undo", result.envelope.text, result.envelope.data))
        self.agent.remind(
            f"The user took back your last edits. {result.envelope.text} Read before you edit again."
        )
        return result.shown

    @property
    def gate(self) -> PermissionGate:
        return self._seat.gate

    @property
    def mode(self) -> PermissionMode:
        return self.gate.mode

    @mode.setter
    def mode(self, mode: PermissionMode) -> None:
        self.gate.mode = mode

    def reread(self) -> None:
        """Take up the log again after its path went elsewhere: all is as if the desk were opened on it. Commands
        that run go on, and the mode stays."""
        before = self.session.window.transcript
        self.session.catch_up()
        now = self.session.window.transcript
        if now.system != before.system:
            self.session.record(SystemSet(before.system))
        if now.tools != before.tools:
            self.session.record(ToolsSet(before.tools))
        self._reminded.clear()
        self.bench.forget()
        self._ledger = None
        self._seat.gate = PermissionGate(self._permissions, self.gate.approver, self.gate.mode)
        self._seat.restore()

    async def aclose(self) -> None:
        await self._seat.aclose()

    def _read_rules(self) -> None:
        if not self.agent.is_running:
            before = self.session.window.transcript.rules
            self.session.record(*rule_changes(before, read_project_rules(self.workspace)))

    def _notice(self, notice: Notice) -> None:
        match notice:
            case FoldMade():
                self._reminded.clear()
            case CallStarted(call=call):
                current_call.set(call.id)
            case CallFinished(call=call, result=result) if not result.is_error:
                self._tell_rules_near(str(call.arguments.get("path", "")))
            case SubAgentNotice() if noted := change_note(notice, self._step()):
                self.session.record(noted)
                self.bench.note_task(noted.data)
        self.watch(notice)

    def _tell_rules_near(self, path: str) -> None:
        """Rules of the folders above a file that was touched: told at the end, where they cost no cache."""
        for folder in parent_folders(path):
            if folder in self._reminded:
                continue
            self._reminded.add(folder)
            if rules := read_rules(self.workspace, folder):
                self.agent.remind(
                    f"<system-reminder>\nFor files in `{folder}` these rules hold too ({rules.path}):\n"
                    f"{rules.text.strip()}\n</system-reminder>"
                )

    def _is_resident(self, path: str, first: int, last: int, since: int) -> bool:
        # One for all reads of a step: nothing is folded in between, and what is not in it yet counts as not shown.
        state = (self._step(), len(self.bench.files.made))
        if self._ledger is None or self._ledger[0] != state:
            self._ledger = (state, visibility_of(self.session.window.view()))
        return self._ledger[1].resident(path, first, last, since=since)

    def _step(self) -> int:
        return len(self.session.window.transcript.steps)


def _call_settings() -> CallSettings:
    """As for all tools, but a sub-agent keeps time itself."""
    usual = CallSettings()
    return replace(usual, seconds_by_tool={TASK_TOOL: 0.0, **usual.seconds_by_tool})


def last_reply(desk: CodingSession) -> str:
    """What the agent said last, for a person who comes back."""
    steps = desk.session.window.transcript.steps
    return joined_text(steps[-1].message.parts) if steps else ""
