"""What an agent is opened with: the talk's, and with other limits that of its sub-agents.

Rule: a plain value; whoever opens it opens nothing else.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from holdfast.agents.agent import Agent, RequestSettings
from holdfast.agents.coding.tool_state import ToolState
from holdfast.agents.limits import RunLimits, TaskSettings
from holdfast.agents.notices import Watch, unwatched
from holdfast.agents.tool_results import DEFAULT_KEPT_DATA, KeptData
from holdfast.events import ApprovalGiven, AssistantReplied
from holdfast.messages import Json, ToolCall
from holdfast.models.model import Model
from holdfast.packing.profile import Profile
from holdfast.recall import RECALL_TOOL, answer_recall
from holdfast.session import Session
from holdfast.store import Store
from holdfast.tools.ask_user import NoAnswer, Responder
from holdfast.tools.call import CallSettings
from holdfast.tools.envelope import ToolResult
from holdfast.tools.permissions import (
    Approver,
    PermissionGate,
    PermissionMode,
    Permissions,
    UnattendedApprover,
    call_context,
)
from holdfast.tools.shell.sandbox import Sandbox
from holdfast.tools.shell.shell import Shell
from holdfast.tools.tool import Tool
from holdfast.tools.toolbox import Toolbox
from holdfast.tools.workspace import Workspace
from holdfast.views import path


class AgentConfig(Struct, frozen=True, kw_only=True):
    """What a desk is opened with. `snapshots` is the folder for what files were before they were changed; without
    one they are kept in memory, and an undo ends with the process."""

    root: Path
    store: Store
    log: str = ""
    model: Model
    asking: RequestSettings = RequestSettings()
    summarizer: Model | None = None
    profile: Profile
    limits: RunLimits = RunLimits()
    permissions: Permissions
    approver: Approver = UnattendedApprover()
    mode: PermissionMode | None = None
    respondent: Responder = NoAnswer()
    more_tools: tuple[Tool, ...] = ()
    """Tools from elsewhere, such as those of MCP servers."""
    tasks: TaskSettings = TaskSettings()
    sandbox: Sandbox | None = None
    snapshots: Path | None = None
    skills: Path | None = None
    is_beside: bool = True
    watch: Watch = unwatched


# Putting an agent together: a session on a log, a toolbox, a model, limits.
#
# Rule: this is the one place where it is done, for the coding agent, its sub-agents, the reviewer and whoever comes.


def build_agent(
    opening: AgentConfig,
    toolbox: Toolbox,
    system: str,
    watch: Watch,
    remembered: KeptData = DEFAULT_KEPT_DATA,
) -> Agent:
    """An agent at these tools, in the log that the opening names. The store is the opener's and stays open."""
    others = [tool for tool in toolbox.definitions if tool.name != RECALL_TOOL.name]
    own = [tool for tool in toolbox.definitions if tool.name == RECALL_TOOL.name]
    session = Session(
        profile=opening.profile,
        store=opening.store,
        log=opening.log,
        system=system,
        tools=others,
        recall=own[0] if own else RECALL_TOOL,
        model=opening.model.name,
    )
    return Agent(
        session,
        opening.model,
        toolbox,
        asking=opening.asking,
        summarizer=opening.summarizer,
        is_beside=opening.is_beside,
        limits=opening.limits,
        remembered=remembered,
        watch=watch,
    )


# A seat: an agent at its tools, with a log, a window and a gate of its own. A talk has one, and each sub-agent.
#
# Rule: every call passes the gate, and every answer of a person goes into the log.


class Seat:
    """**Contract:** `sit` is called once, when the tools are made; `session` and `agent` are there from then on.
    The store is the opener's and stays open."""

    session: Session
    agent: Agent

    def __init__(
        self, opening: AgentConfig, workspace: Workspace, bench: ToolState, gate: PermissionGate
    ) -> None:
        self.opening = opening
        self.workspace = workspace
        self.bench = bench
        self.gate = gate

    def sit(
        self, tools: Iterable[Tool], system: str, watch: Watch, settings: CallSettings | None = None
    ) -> None:
        toolbox = Toolbox(tools, self.workspace, gate=self._check, settings=settings)
        self.agent = build_agent(self.opening, toolbox, system, watch)
        self.session = self.agent.session

    def restore(self) -> None:
        """What the log says of files, todos and answers of a person, for whoever goes on with it."""
        entries = path(self.session.log.entries())
        self.bench.restore(entries)
        calls: dict[str, ToolCall] = {}
        for entry in entries:
            match entry.event:
                case AssistantReplied(parts=parts):
                    calls.update((part.id, part) for part in parts if isinstance(part, ToolCall))
                case ApprovalGiven(call_id=call_id) as approval:
                    self.gate.restore(approval, calls.get(call_id))

    def recall(self, arguments: Mapping[str, Json]) -> tuple[str, bool]:
        return answer_recall(self.session.store, arguments, log=self.session.log.id)

    async def aclose(self) -> None:
        await self.agent.aclose()
        self.bench.close()

    async def _check(self, call: ToolCall, tool: Tool) -> ToolResult | None:
        """Whether a call may be made; every answer goes into the log."""
        cwd = self.bench.shell.place(self.workspace).path
        scene = call_context(call, self.workspace, cwd, is_read_only=tool.is_read_only)
        passage = await self.gate.check(call, scene)
        if passage.event:
            self.session.record(passage.event)
        return passage.refusal


def shell_of(opening: AgentConfig) -> Shell:
    return Shell(sandbox=opening.sandbox, passes=opening.permissions.variables)


def protected_by(opening: AgentConfig) -> tuple[Path, ...]:
    """Folders that no edit may reach."""
    return (opening.snapshots,) if opening.snapshots else ()
