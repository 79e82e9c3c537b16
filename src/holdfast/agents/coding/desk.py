"""A desk: one talk with the coding agent, its tools, its rules, and what is around it.

Rule: it can be closed at any moment and opened again from the log; what was sent before is sent again to the byte.
"""

from collections.abc import Mapping, Sequence
from importlib.resources import files as package_files
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.agent import Agent
from holdfast.agents.asking import Asking
from holdfast.agents.coding.bench import Bench, skills_of
from holdfast.agents.limits import Limits
from holdfast.agents.loop import run
from holdfast.agents.mentions import Said, with_mentions
from holdfast.agents.notices import FoldMade, Notice, Watch, unwatched
from holdfast.agents.outcomes import End
from holdfast.agents.project_rules import changes, folders_above, rules_in, rules_of_project
from holdfast.agents.task import NAME, Employer, TaskSettings, current_call, task_tool
from holdfast.events import ApprovalGiven, AssistantReplied, Entry, Noted, SystemSet, ToolsSet
from holdfast.messages import Json, ToolCall, joined_text
from holdfast.models.protocol import Model
from holdfast.packing.ledger import ledger
from holdfast.packing.profile import Profile
from holdfast.recall import RECALL_TOOL, answer_recall
from holdfast.session import Session
from holdfast.store import Store
from holdfast.tools.around.ask_user import Respondent
from holdfast.tools.around.todo_write import TodoList
from holdfast.tools.around.unattended import DecideYourself
from holdfast.tools.calling import CallFinished, CallSettings, CallStarted
from holdfast.tools.envelope import ToolResult
from holdfast.tools.files.seen import Files
from holdfast.tools.files.snapshots import FolderSnapshots, MemorySnapshots, Snapshots
from holdfast.tools.files.undoing import undo
from holdfast.tools.permissions import Approver, Gate, Mode, Permissions, Unattended, scene_of
from holdfast.tools.protocol import Tool
from holdfast.tools.shell.sandbox import Sandbox
from holdfast.tools.shell.shell import Shell
from holdfast.tools.toolbox import Toolbox
from holdfast.tools.workspace import Workspace
from holdfast.views import path

SYSTEM = (package_files(__package__) / "system.md").read_text("utf-8").strip()
INIT = (package_files(__package__) / "init.md").read_text("utf-8").strip()


class Opening(Struct, frozen=True, kw_only=True):
    """What a desk is opened with. `snapshots` is the folder for what files were before they were changed; without
    one they are kept in memory, and an undo ends with the process."""

    root: Path
    store: Store
    log: str = ""
    model: Model
    asking: Asking = Asking()
    summarizer: Model | None = None
    profile: Profile
    limits: Limits = Limits()
    permissions: Permissions
    approver: Approver = Unattended()
    mode: Mode | None = None
    respondent: Respondent = DecideYourself()
    more_tools: tuple[Tool, ...] = ()
    """Tools from elsewhere, such as those of MCP servers."""
    tasks: TaskSettings = TaskSettings()
    sandbox: Sandbox | None = None
    snapshots: Path | None = None
    skills: Path | None = None
    is_beside: bool = True
    watch: Watch = unwatched


class Desk:
    """**Contract:** `aclose` ends what runs; the store is the opener's and stays open."""

    def __init__(self, opening: Opening) -> None:
        self.workspace = Workspace([opening.root])
        self.watch = opening.watch
        self._reminded: set[str] = set()
        """Folders whose rules were told since the last fold."""
        kept: Snapshots = FolderSnapshots(opening.snapshots) if opening.snapshots else MemorySnapshots()
        protected = [opening.snapshots] if opening.snapshots else []
        files = Files(kept, resident=self._is_resident, step=self._step, protected=protected)
        shell = Shell(sandbox=opening.sandbox, passes=opening.permissions.variables)
        self.bench = Bench(files, shell, TodoList(), skills_of(opening.root, opening.skills))
        self._permissions = opening.permissions
        self.gate = Gate(opening.permissions, opening.approver, opening.mode)
        self.summarizer = opening.summarizer or opening.model
        tools = self.bench.tools(opening.respondent, RECALL_TOOL, self._recall)
        task = task_tool(self._employer(opening, kept))
        toolbox = Toolbox(
            [*tools, task, *opening.more_tools],
            self.workspace,
            gate=self._check,
            settings=_call_settings(),
        )
        self.session = Session(
            profile=opening.profile,
            store=opening.store,
            log=opening.log,
            system=SYSTEM,
            tools=[tool for tool in toolbox.definitions if tool.name != RECALL_TOOL.name],
            model=opening.model.name,
        )
        self._restore(path(self.session.log.entries()))
        self.agent = Agent(
            self.session,
            opening.model,
            toolbox,
            asking=opening.asking,
            summarizer=opening.summarizer,
            is_beside=opening.is_beside,
            limits=opening.limits,
            watch=self._notice,
        )

    async def say(self, text: str) -> End:
        """What a person says, up to the end that it comes to."""
        self.hear(text)
        return await run(self.agent)

    async def go_on(self) -> End:
        """From where the log stands, with nothing more said."""
        self._read_rules()
        return await run(self.agent)

    def hear(self, text: str) -> Said:
        """Take in what a person says, mentions resolved; while the agent works it waits for the next step."""
        said = with_mentions(text, self.workspace)
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
    def mode(self) -> Mode:
        return self.gate.mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
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
        bench = self.bench
        bench.files.sights.clear()
        bench.files.made.clear()
        bench.shell.cwd = "."
        bench.todos.written = ()
        bench.todos.archive.clear()
        self.gate = Gate(self._permissions, self.gate.approver, self.gate.mode)
        self._restore(path(self.session.log.entries()))

    async def aclose(self) -> None:
        await self.agent.aclose()
        self.bench.close()

    def _restore(self, entries: Sequence[Entry]) -> None:
        self.bench.restore(entries)
        calls: dict[str, ToolCall] = {}
        for entry in entries:
            match entry.event:
                case AssistantReplied(parts=parts):
                    calls.update((part.id, part) for part in parts if isinstance(part, ToolCall))
                case ApprovalGiven(call_id=call_id) as approval:
                    self.gate.restore(approval, calls.get(call_id))

    async def _check(self, call: ToolCall, tool: Tool) -> ToolResult | None:
        """Whether a call may be made; every answer goes into the log."""
        cwd = self.bench.shell.place(self.workspace).path
        scene = scene_of(call, self.workspace, cwd, is_read_only=tool.is_read_only)
        passage = await self.gate.check(call, scene)
        if passage.event:
            self.session.record(passage.event)
        return passage.refusal

    def _read_rules(self) -> None:
        if not self.agent.is_running:
            before = self.session.window.transcript.rules
            self.session.record(*changes(before, rules_of_project(self.workspace)))

    def _notice(self, notice: Notice) -> None:
        match notice:
            case FoldMade():
                self._reminded.clear()
            case CallStarted(call=call):
                current_call.set(call.id)
            case CallFinished(call=call, result=result) if not result.is_error:
                self._tell_rules_near(str(call.arguments.get("path", "")))
        self.watch(notice)

    def _tell_rules_near(self, path: str) -> None:
        """Rules of the folders above a file that was touched: told at the end, where they cost no cache."""
        for folder in folders_above(path):
            if folder in self._reminded:
                continue
            self._reminded.add(folder)
            if rules := rules_in(self.workspace, folder):
                self.agent.remind(
                    f"<system-reminder>\nFor files in `{folder}` these rules hold too ({rules.path}):\n"
                    f"{rules.text.strip()}\n</system-reminder>"
                )

    def _employer(self, opening: Opening, snapshots: Snapshots) -> Employer:
        return Employer(
            parent=lambda: self.agent,
            gate=lambda: self.gate,
            workspace=self.workspace,
            store=opening.store,
            model=opening.model,
            asking=opening.asking,
            profile=opening.profile,
            snapshots=snapshots,
            protected=(opening.snapshots,) if opening.snapshots else (),
            sandbox=opening.sandbox,
            passes=opening.permissions.variables,
            watch=self._notice,
            settings=opening.tasks,
        )

    def _recall(self, arguments: Mapping[str, Json]) -> tuple[str, bool]:
        return answer_recall(self.session.store, arguments, log=self.session.log.id)

    def _is_resident(self, path: str, first: int, last: int, since: int) -> bool:
        return ledger(self.session.window).resident(path, first, last, since=since)

    def _step(self) -> int:
        return len(self.session.window.transcript.steps)


def _call_settings() -> CallSettings:
    """As for all tools, but a sub-agent keeps time itself."""
    usual = CallSettings()
    return replace(usual, seconds_by_tool={NAME: 0.0, **usual.seconds_by_tool})


def last_words(desk: Desk) -> str:
    """What the agent said last, for a person who comes back."""
    steps = desk.session.window.transcript.steps
    return joined_text(steps[-1].message.parts) if steps else ""
