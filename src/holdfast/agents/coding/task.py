"""Task: gives a piece of work to a sub-agent, which has a log, a window and limits of its own.

Rule: what a sub-agent does is in its own log, its report is bounded and names that log, and what it spends is spent
by its parent. It only reads, unless the call says `writes`; then it acts as the permissions allow, one at a time.
"""

import asyncio
from collections.abc import Callable
from contextlib import nullcontext
from contextvars import ContextVar
from importlib.resources import files as package_files
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from holdfast.agents.agent import current_call
from holdfast.agents.build import AgentConfig, build_agent, config_gate, open_log_session
from holdfast.agents.coding.environment import environment_reminder, read_environment
from holdfast.agents.coding.own_sub_agents import SubAgentKind, SubAgentKinds
from holdfast.agents.coding.tool_state import ToolState, new_tool_state
from holdfast.agents.limits import RunBudget, RunLimits, TaskSettings
from holdfast.agents.loop import run
from holdfast.agents.notices import Notice, Replied, SubAgentNotice, SummaryMade, Watch, innermost
from holdfast.agents.outcomes import Ask, Done, End, Stop
from holdfast.agents.project_rules import read_rules, rule_changes
from holdfast.agents.session_gate import SessionGate
from holdfast.agents.sessions import PARENT, TASK_SOURCE, begin_session
from holdfast.agents.spending import TASK_PURPOSE
from holdfast.agents.tool_results import SUB_AGENT_STOPPED
from holdfast.effort import Effort
from holdfast.events import UsageReported
from holdfast.messages import Json, Usage
from holdfast.models.catalogue import ModelEntry, request_cost
from holdfast.models.model import Model
from holdfast.numbers import counted, grouped
from holdfast.session import Session
from holdfast.tools.ask_user import NoAnswer
from holdfast.tools.envelope import ToolError, ToolResult, tool_result
from holdfast.tools.permissions.gate import ApprovalAnswer, ApprovalQuestion, Approver
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.toolbox import Toolbox
from holdfast.tools.workspace import Workspace

TASK_TOOL = "Task"
SUB_AGENT_PROMPT = (package_files(__package__) / "task_system.md").read_text("utf-8").strip()
LONGEST_REPORT = 12_000
HEAD = 9_000
"""Characters that are kept of the beginning of a report that is too long; the rest is kept of its end."""
ACTING = frozenset({"Edit", "MultiEdit", "Write", "Bash", "BashOutput", "BashStop"})


class TaskArguments(Struct, frozen=True, forbid_unknown_fields=True):
    description: Annotated[
        str, Meta(min_length=1, max_length=100, description="The work in three to six words.")
    ]
    prompt: Annotated[str, Meta(min_length=1, description="All that the sub-agent is told.")]
    writes: Annotated[bool, Meta(description="It may also change files and run commands.")] = False
    effort: Annotated[
        Effort | None, Meta(description="How much it thinks before each step; without it, as much as you do.")
    ] = None


class KindTaskArguments(TaskArguments, frozen=True, forbid_unknown_fields=True):
    """Where a person or a project has kinds of sub-agents of their own."""

    subagent_type: Annotated[
        str, Meta(description="One of the kinds listed above; without it, a general sub-agent.")
    ] = ""


class ParentAgent(Struct, frozen=True):
    """What a sub-agent needs of the agent that calls it, and how far it may go."""

    config: AgentConfig
    session: Session
    workspace: Workspace
    tool_state: ToolState
    gate: SessionGate
    budget: RunBudget
    watch: Watch
    effort: Callable[[], Effort]
    """How much the agent itself thinks now."""
    settings: TaskSettings = TaskSettings()
    kinds: SubAgentKinds = SubAgentKinds({})
    models: dict[str, ModelEntry] = field(default_factory=dict)
    """Models of sub-agents that are not ours, by their names."""

    def kind(self, arguments: TaskArguments) -> SubAgentKind | None:
        name = arguments.subagent_type if isinstance(arguments, KindTaskArguments) else ""
        if name and name not in self.kinds.by_name:
            known = f"There are: {', '.join(self.kinds.by_name)}"
            raise ToolError("NOT_FOUND", f"there is no kind of sub-agent `{name[:80]}`", hint=known)
        return self.kinds.by_name.get(name)

    def model_of(self, kind: SubAgentKind | None) -> tuple[Model, ModelEntry]:
        """The model that a kind names, if it can be asked, else our own. One without a known price would spend past
        a limit in dollars."""
        found = self.config.find_model(kind.model) if kind and kind.model else None
        if found is None or (found[1].price is None and self.budget.limits.dollars):
            return self.config.model, self.config.request_settings.entry
        self.models[found[0].name] = found[1]
        return found

    def charge(self, usage: Usage | None, dollars: float | None, log: str, model: str) -> None:
        """Spend what a sub-agent spent: for each request at once, since prices depend on its size."""
        if usage and usage.total:
            self.session.record(UsageReported(usage, model, f"{TASK_PURPOSE}{log}"))
            self.budget.add_reply(usage, dollars)

    def limits(self) -> RunLimits:
        """The limits of a sub-agent; in dollars no more than the parent has left."""
        limits, own = self.settings.limits, self.budget
        if not own.limits.dollars:
            return limits
        left = own.limits.dollars - own.spent.dollars
        if left <= 0:
            raise ToolError(
                "EXECUTION_ERROR", "the cost limit is reached", hint="Continue without a sub-agent"
            )
        return replace(limits, dollars=min(left, limits.dollars) if limits.dollars else left)


class WaitingSubAgent(Struct, frozen=True):
    """A sub-agent that waits for a person's approval: the call that it works for, its work in a few words, and the
    tools with which the call can be tried."""

    call: str
    title: str
    toolbox: Toolbox


waiting_sub_agent: ContextVar[WaitingSubAgent | None] = ContextVar("waiting_sub_agent", default=None)
"""Set while a person is asked for a sub-agent. If sub-agents are nested: the outermost, with the innermost's
tools."""


def task_tool(parent: ParentAgent) -> Tool:
    parallel = asyncio.Semaphore(parent.settings.parallel)
    writing = asyncio.Lock()
    asking = asyncio.Lock()

    async def work(arguments: TaskArguments, _workspace: Workspace) -> ToolResult:
        async with parallel, writing if arguments.writes else nullcontext():
            # Off the event loop: files are read, and a terminal must go on painting.
            agent = await asyncio.to_thread(SubAgent, arguments, parent, asking)
            return await agent.run()

    prompt = prompt_beside(__file__)
    if not parent.kinds.by_name:
        return TypedTool(TASK_TOOL, TaskArguments, prompt, work, is_read_only=True)
    prompt = f"{prompt}\n\n{parent.kinds.describe(ACTING)}"
    return TypedTool(TASK_TOOL, KindTaskArguments, prompt, work, is_read_only=True)


class SubAgent:
    """One piece of work: a session, tools and an agent of its own."""

    def __init__(self, arguments: TaskArguments, parent: ParentAgent, asking: asyncio.Lock) -> None:
        self._parent = parent
        self._arguments = arguments
        self._call = current_call.get()
        self._kind = kind = parent.kind(arguments)
        self._model, self._entry = parent.model_of(kind)
        self._asking = asking
        limits = parent.limits()
        self.log = begin_session(
            parent.config.store,
            Path(parent.workspace.roots[0]),
            title=arguments.description,
            model=self._model.name,
            redact=parent.config.profile.redact,
            source=TASK_SOURCE,
            meta={PARENT: parent.session.log.id, "call": self._call, **({"kind": kind.name} if kind else {})},
        )
        config = self._config(limits)
        self._session = session = open_log_session(
            config, f"{SUB_AGENT_PROMPT}\n\n{kind.prompt}" if kind else SUB_AGENT_PROMPT
        )
        self._tool_state = state = new_tool_state(
            config, session, snapshots=parent.tool_state.files.snapshots
        )
        gate = config_gate(config, session, parent.workspace, state.shell)
        budget = RunBudget(limits)
        tools = self._tools()
        if (depth := parent.settings.depth - 1) > 0 and self._may_have(TASK_TOOL):
            inner = replace(parent.settings, depth=depth)
            below = ParentAgent(
                *(config, session, parent.workspace, state, gate, budget, self._notice),
                lambda: self._agent.effort,
                inner,
                parent.kinds,
                parent.models,
            )
            tools.append(task_tool(below))
        self._agent = build_agent(config, session, tools, parent.workspace, gate=gate, budget=budget)
        session.record(*rule_changes({}, read_rules(parent.workspace)))

    def _config(self, limits: RunLimits) -> AgentConfig:
        """The parent's configuration, with permissions of its own: the ids of its calls belong to another log, and
        so do the approvals."""
        parent, permissions = self._parent, self._parent.gate.permission_gate
        effort = self._arguments.effort or (self._kind and self._kind.effort) or parent.effort()
        # The parent's profile fits its own model already, or is as small as a person wanted it.
        window = 0 if self._model is parent.config.model else self._entry.window
        asked = replace(parent.config.request_settings, entry=self._entry, effort=effort)
        title = self._arguments.description
        return replace(
            parent.config,
            log=self.log,
            model=self._model,
            profile=parent.config.profile.for_model(window),
            request_settings=asked,
            summarizer=None,
            compacts_in_background=False,
            limits=limits,
            parent=parent.session.log.id,
            permissions=permissions.permissions,
            approver=_SerialApprover(
                permissions.approver,
                self._asking,
                lambda: WaitingSubAgent(self._call, title, self._agent.toolbox),
            ),
            mode=permissions.mode,
            watch=self._notice,
        )

    async def run(self) -> ToolResult:
        """Do the work and report, also when interrupted: something may have been changed. The parent's model stays
        open."""
        try:
            lines = await read_environment(Path(self._parent.workspace.roots[0]))
            self._agent.say(self._arguments.prompt, *([environment_reminder(lines)] if lines else []))
            return self._report(await run(self._agent))
        except asyncio.CancelledError:
            return self._report(Stop("interrupted", "it was interrupted"))
        finally:
            # Looks through all processes of the machine.
            await asyncio.to_thread(self._tool_state.close)
            if self._model is not self._parent.config.model:
                await self._model.aclose()

    def _report(self, end: End) -> ToolResult:
        steps = self._session.window.transcript.steps
        text = end.text if isinstance(end, Done) else self._agent.last_reply
        changed = tuple(dict.fromkeys(change.path for change in self._tool_state.files.edits))
        lines = [_bounded(text.strip(), steps[-1].entry if steps else self.log)]
        if not isinstance(end, Done):
            why = end.question if isinstance(end, Ask) else end.sentence
            lines.append(f"{SUB_AGENT_STOPPED}{why}. The text above is its last message.]")
        if changed:
            lines.append(f"[It changed: {', '.join(changed)}. Read them before you edit them.]")
        lines.append(f'[{len(steps)} steps; what it did and saw: Recall(id="{self.log}")]')
        data: dict[str, Json] = {"log": self.log, "steps": len(steps), "files": list(changed)}
        is_done = isinstance(end, Done) and bool(text.strip())
        text, shown = "\n".join(filter(None, lines)), self._summary(len(steps))
        return tool_result(text, shown, data=data, is_partial=not is_done)

    def _summary(self, steps: int) -> str:
        """What it took, in a line for a person."""
        spent = self._agent.budget.spent
        dollars = f"${spent.dollars:.4f}, " if spent.dollars else ""
        return f"{counted(steps, 'step')}, {grouped(spent.usage.total)} tokens, {dollars}log {self.log}"

    def _tools(self) -> list[Tool]:
        state = self._tool_state
        reading = state.read_only_tools()
        allowed = {tool.name for tool in reading} | (ACTING if self._arguments.writes else set())
        tools = [tool for tool in state.tools(NoAnswer()) if tool.name in allowed]
        return [tool for tool in tools if self._may_have(tool.name)]

    def _may_have(self, tool: str) -> bool:
        return self._kind is None or self._kind.has(tool)

    def _notice(self, notice: Notice) -> None:
        match innermost(notice):
            case Replied(reply=reply, dollars=dollars):
                # A sub-agent of this one may have a model of its own.
                name = reply.model if reply.model in self._parent.models else self._model.name
                self._parent.charge(reply.usage, dollars, self.log, name)
            case SummaryMade(compaction=made):
                for attempt in made.written.attempts:
                    dollars = request_cost(self._entry, attempt.usage) if attempt.usage else None
                    self._parent.charge(attempt.usage, dollars, self.log, self._model.name)
        self._parent.watch(SubAgentNotice(self._call, self.log, notice))


def _bounded(text: str, entry: str) -> str:
    if len(text) <= LONGEST_REPORT:
        return text
    left, end = len(text) - LONGEST_REPORT, text[HEAD - LONGEST_REPORT :]
    return f'{text[:HEAD]}\n[{left} characters left out: Recall(id="{entry}")]\n{end}'


class _SerialApprover(Struct, frozen=True):
    """Asks a person one thing at a time, however many sub-agents wait."""

    approver: Approver
    lock: asyncio.Lock
    who: Callable[[], WaitingSubAgent]

    async def approve(self, question: ApprovalQuestion) -> ApprovalAnswer:
        inner, who = waiting_sub_agent.get(), self.who()
        async with self.lock:
            token = waiting_sub_agent.set(replace(who, toolbox=inner.toolbox) if inner else who)
            try:
                return await self.approver.approve(question)
            finally:
                waiting_sub_agent.reset(token)
