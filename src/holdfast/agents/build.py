"""Building an agent: its configuration, its session, its permissions and its tools, put together in one place.

Rule: the coding agent, its sub-agents, the reviewer and the roles of a pair are all built here. The store belongs
to the caller and stays open.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from holdfast.agents.agent import Agent, RequestSettings
from holdfast.agents.limits import RunBudget, RunLimits, TaskSettings
from holdfast.agents.notices import Watch, unwatched
from holdfast.agents.tool_results import DEFAULT_KEPT_DATA, KeptData
from holdfast.events import ApprovalGiven, AssistantReplied, Entry, ToolsSet
from holdfast.messages import ToolCall
from holdfast.models.model import Model
from holdfast.packing.profile import Profile
from holdfast.recall import RECALL_TOOL, answer_recall
from holdfast.session import Session
from holdfast.store import Store
from holdfast.tools.ask_user import NoAnswer, Responder
from holdfast.tools.call import CallGate, CallSettings
from holdfast.tools.envelope import ToolResult
from holdfast.tools.permissions.gate import (
    Approver,
    PermissionGate,
    UnattendedApprover,
    call_context,
    keep_nothing,
)
from holdfast.tools.permissions.tool_rules import PermissionMode, Permissions
from holdfast.tools.recall import recall_tool
from holdfast.tools.shell.sandbox import Sandbox
from holdfast.tools.shell.shell import Shell
from holdfast.tools.tool import Tool
from holdfast.tools.toolbox import Toolbox
from holdfast.tools.workspace import Workspace


class AgentConfig(Struct, frozen=True, kw_only=True):
    """What an agent is built from. `snapshots` is the folder for what files were before they were changed; without
    one they are kept in memory, and undo works only as long as the process lives."""

    root: Path
    store: Store
    log: str = ""
    model: Model
    request_settings: RequestSettings = RequestSettings()
    summarizer: Model | None = None
    profile: Profile
    limits: RunLimits = RunLimits()
    permissions: Permissions
    approver: Approver = UnattendedApprover()
    mode: PermissionMode | None = None
    keep_rule: Callable[[str], None] = keep_nothing
    """Keeps a rule that a person approved for good."""
    responder: Responder = NoAnswer()
    more_tools: tuple[Tool, ...] = ()
    """Tools from elsewhere, such as those of MCP servers."""
    tasks: TaskSettings = TaskSettings()
    sandbox: Sandbox | None = None
    snapshots: Path | None = None
    skills: Path | None = None
    compacts_in_background: bool = True
    watch: Watch = unwatched


def open_log_session(config: AgentConfig, system: str) -> Session:
    """The session on the log that the configuration names; its tools are set when the agent is built."""
    return Session(
        profile=config.profile,
        store=config.store,
        log=config.log,
        system=system,
        tools=None,
        model=config.model.name,
    )


def build_agent(
    config: AgentConfig,
    session: Session,
    tools: Iterable[Tool],
    workspace: Workspace,
    *,
    gate: CallGate | None = None,
    budget: RunBudget | None = None,
    call_settings: CallSettings | None = None,
    kept_data: KeptData = DEFAULT_KEPT_DATA,
    watch: Watch | None = None,
) -> Agent:
    """An agent with these tools. `watch` takes the place of the one in the configuration."""
    toolbox = Toolbox(tools, workspace, gate=gate, settings=call_settings)
    # Recall comes last, as in every session.
    definitions = tuple(sorted(toolbox.definitions, key=lambda tool: tool.name == RECALL_TOOL.name))
    if definitions != session.window.transcript.tools:
        session.record(ToolsSet(definitions))
    return Agent(
        session,
        config.model,
        toolbox,
        request_settings=config.request_settings,
        summarizer=config.summarizer,
        compacts_in_background=config.compacts_in_background,
        budget=budget or RunBudget(config.limits),
        kept_data=kept_data,
        watch=watch or config.watch,
    )


def session_recall_tool(session: Session) -> Tool:
    """Recall, for texts of this session's log."""
    return recall_tool(
        RECALL_TOOL, lambda arguments: answer_recall(session.store, arguments, log=session.log.id)
    )


class SessionGate:
    """Asks for approval where it is needed, and records every approval and denial in the log."""

    def __init__(self, config: AgentConfig, session: Session, workspace: Workspace, shell: Shell) -> None:
        self._configured = config.permissions
        self._session = session
        self._workspace = workspace
        self._shell = shell
        self.permission_gate = PermissionGate(
            config.permissions, config.approver, config.mode, config.keep_rule
        )

    async def __call__(self, call: ToolCall, tool: Tool) -> ToolResult | None:
        cwd = self._shell.place(self._workspace).path
        context = call_context(
            call,
            self._workspace,
            cwd,
            is_read_only=tool.is_read_only,
            sandbox=self._shell.sandbox.state,
            folders=self._configured.folders,
        )
        checked = await self.permission_gate.check(call, context)
        if checked.event:
            self._session.record(checked.event)
            if checked.event.decision == "pattern":
                self._configured = self._configured.allowing(checked.event.rule)
        if call.name == "Bash":
            # Commands run one after another, each right after this.
            self._shell.access = checked.access
            self._shell.is_access_fixed = self.permission_gate.mode == "plan"
        return checked.refusal

    def reset(self) -> None:
        """Forget the answers of this log; the mode and rules for good stay."""
        gate = self.permission_gate
        self.permission_gate = PermissionGate(self._configured, gate.approver, gate.mode, gate.keep_rule)

    def restore(self, entries: Sequence[Entry]) -> None:
        """Take the answers of a person from the log."""
        calls: dict[str, ToolCall] = {}
        for entry in entries:
            match entry.event:
                case AssistantReplied(parts=parts):
                    calls.update((part.id, part) for part in parts if isinstance(part, ToolCall))
                case ApprovalGiven(call_id=call_id) as approval:
                    self.permission_gate.restore(approval, calls.get(call_id))
