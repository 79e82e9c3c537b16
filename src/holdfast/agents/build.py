"""Building an agent: its configuration, its session, its permissions and its tools, put together in one place.

Rule: the coding agent, its sub-agents, the reviewer and the roles of a pair are all built here. The store belongs
to the caller and stays open.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.agent import Agent
from holdfast.agents.hooks import Hook
from holdfast.agents.limits import RunBudget, RunLimits, TaskSettings
from holdfast.agents.model_requests import RequestSettings
from holdfast.agents.notices import Watch, unwatched
from holdfast.agents.session_gate import SessionGate
from holdfast.agents.session_hooks import CallHooks, SessionHooks
from holdfast.agents.tool_results import DEFAULT_KEPT_DATA, KeptData
from holdfast.models.catalogue import ModelEntry
from holdfast.models.model import Model
from holdfast.packing.profile import Profile
from holdfast.session import Session
from holdfast.store import Store
from holdfast.tools.ask_user import NoAnswer, Responder
from holdfast.tools.call import CallSettings
from holdfast.tools.checks.checkers import CheckSettings
from holdfast.tools.permissions.gate import (
    Approver,
    NoRuleKeeper,
    RuleKeeper,
    UnattendedApprover,
)
from holdfast.tools.permissions.tool_rules import PermissionMode, Permissions
from holdfast.tools.shell.sandbox import Sandbox
from holdfast.tools.shell.shell import Shell
from holdfast.tools.tool import Tool
from holdfast.tools.workspace import Workspace

FindModel = Callable[[str], tuple[Model, ModelEntry] | None]
"""A model by its name in the catalogue, ready to be asked; None if it cannot be asked."""


def find_none(_name: str) -> None:
    """There are no other models."""


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
    rule_keeper: RuleKeeper = NoRuleKeeper()
    responder: Responder = NoAnswer()
    more_tools: tuple[Tool, ...] = ()
    """Tools from elsewhere, such as those of MCP servers."""
    tasks: TaskSettings = TaskSettings()
    sandbox: Sandbox | None = None
    checks: CheckSettings | None = None
    """Checks of the project after an edit, if any."""
    snapshots: Path | None = None
    skills: Path | None = None
    own_folders: tuple[Path, ...] = ()
    """Where the person's own commands and sub-agents are, in folders of these names."""
    hooks: tuple[Hook, ...] = ()
    find_model: FindModel = find_none
    """For sub-agents with a model of their own."""
    parent: str = ""
    """The log of the agent that started this one, if another did."""
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
    gate: SessionGate | None = None,
    budget: RunBudget | None = None,
    call_settings: CallSettings | None = None,
    kept_data: KeptData = DEFAULT_KEPT_DATA,
    watch: Watch | None = None,
) -> Agent:
    """An agent with these tools, and with the hooks around its calls. `watch` takes the place of the one in the
    configuration."""
    watch = watch or config.watch
    hooks = SessionHooks(config.hooks, session, config.root, watch, config.parent)
    around = CallHooks(hooks, gate)
    if hooks.has("after_tool"):
        call_settings = replace(call_settings or CallSettings(), after_call=around.after)
    agent = Agent(
        config.model,
        tools,
        session=session,
        workspace=workspace,
        gate=around.before if hooks.has("before_tool") else gate,
        request_settings=config.request_settings,
        summarizer=config.summarizer,
        compacts_in_background=config.compacts_in_background,
        budget=budget or RunBudget(config.limits),
        kept_data=kept_data,
        call_settings=call_settings,
        watch=watch,
    )
    around.remind = agent.remind
    return agent


def config_gate(config: AgentConfig, session: Session, workspace: Workspace, shell: Shell) -> SessionGate:
    """The gate with the configuration's permissions."""
    return SessionGate(
        config.permissions,
        config.approver,
        session,
        workspace,
        shell,
        mode=config.mode,
        keeper=config.rule_keeper,
        watch=config.watch,
    )
