"""Task: a piece of work for a sub-agent, which has a log, a window and limits of its own.

Rule: what it does is in its own log, what it says is a bounded report that names this log, and what it spends is
spent by whoever asked. It changes nothing unless asked to, and then as the gate allows, one at a time.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from importlib.resources import files as package_files
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from holdfast.agents.agent import Agent
from holdfast.agents.build import Seat, shell_of
from holdfast.agents.coding.tool_state import ToolState
from holdfast.agents.limits import RunLimits, TaskSettings
from holdfast.agents.loop import run
from holdfast.agents.notices import Notice, Replied, SubAgentNotice, SummaryMade, Watch, innermost
from holdfast.agents.outcomes import Ask, Done, End
from holdfast.agents.project_rules import read_project_rules, rule_changes
from holdfast.agents.sessions import LONGEST_TITLE, TASK_SOURCE
from holdfast.log import Log
from holdfast.messages import Json, Usage, joined_text
from holdfast.models.model import Model, ModelRequest, StreamEvent
from holdfast.recall import RECALL_TOOL
from holdfast.tools.ask_user import NoAnswer
from holdfast.tools.call import CallStarted
from holdfast.tools.envelope import Envelope, ToolError, ToolResult, build_result
from holdfast.tools.files.seen_files import SeenFiles
from holdfast.tools.permissions import ApprovalAnswer, ApprovalQuestion, Approver, PermissionGate
from holdfast.tools.skill_files import Skills
from holdfast.tools.todo_write import TodoList
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.toolbox import Toolbox
from holdfast.tools.workspace import Workspace

__all__ = [
    "SUB_AGENT_PROMPT",
    "TASK_TOOL",
    "ParentAgent",
    "TaskSettings",
    "WaitingSubAgent",
    "current_call",
    "task_tool",
    "waiting_sub_agent",
]

TASK_TOOL = "Task"
SUB_AGENT_PROMPT = (package_files(__package__) / "task_system.md").read_text("utf-8").strip()
LONGEST_REPORT = 12_000
HEAD = 9_000
"""Characters of a report that is too long which are kept of its beginning; the rest is its end."""
ACTING = frozenset({"Edit", "MultiEdit", "Write", "Bash", "BashOutput", "BashStop"})

current_call: ContextVar[str] = ContextVar("current_call", default="")
"""The id of the call that runs. Set where a call is told to have started: what runs it inherits it."""


class TaskArguments(Struct, frozen=True, forbid_unknown_fields=True):
    description: Annotated[
        str, Meta(min_length=1, max_length=100, description="The work in three to six words.")
    ]
    prompt: Annotated[str, Meta(min_length=1, description="All that the sub-agent is told.")]
    writes: Annotated[bool, Meta(description="It may also change files and run commands.")] = False


class ParentAgent(Struct, frozen=True):
    """Who asks: its seat, who looks on, and how far a sub-agent may go. The seat's agent is there when one is."""

    seat: Seat
    watch: Watch
    settings: TaskSettings = TaskSettings()


class WaitingSubAgent(Struct, frozen=True):
    """The sub-agent that waits for a person's word: the call that it works for, its work in a few words, and the
    tools with which the call can be tried."""

    call: str
    title: str
    toolbox: Toolbox


waiting_sub_agent: ContextVar[WaitingSubAgent | None] = ContextVar("asker", default=None)
"""Set while an approver is asked for a sub-agent; with several in each other the outermost, with the innermost's
tools."""


def task_tool(employer: ParentAgent) -> Tool:
    beside = asyncio.Semaphore(employer.settings.parallel)
    writing = asyncio.Lock()
    asking = asyncio.Lock()

    async def work(arguments: TaskArguments, _workspace: Workspace) -> ToolResult:
        async with beside:
            if not arguments.writes:
                return await _work(arguments, employer, asking)
            async with writing:
                return await _work(arguments, employer, asking)

    return TypedTool(TASK_TOOL, TaskArguments, prompt_beside(__file__), work, is_read_only=True)


async def _work(arguments: TaskArguments, employer: ParentAgent, asking: asyncio.Lock) -> ToolResult:
    sub = SubAgent(arguments, employer, asking)
    try:
        end = await sub.run()
    finally:
        await sub.seat.aclose()
    return sub.report(end)


class SubAgent:
    """One piece of work: a session, a bench and an agent of its own."""

    def __init__(self, arguments: TaskArguments, employer: ParentAgent, asking: asyncio.Lock) -> None:
        self._employer = employer
        self._arguments = arguments
        self._call = current_call.get()
        above = employer.seat
        limits = _within(employer.settings.limits, above.agent)
        self.log = self._begin_log()
        opening = replace(
            above.opening,
            log=self.log,
            model=_SharedModel(above.opening.model),
            summarizer=None,
            is_beside=False,
            limits=limits,
        )
        files = SeenFiles(above.bench.files.snapshots, step=self._step, protected=above.bench.files.protected)
        bench = ToolState(files, shell_of(opening), TodoList(), Skills([]))
        # A gate of its own: ids of calls are another log's, and so is what was allowed there.
        approver = _SerialApprover(above.gate.approver, asking, self._asker)
        self.seat = Seat(
            opening, above.workspace, bench, PermissionGate(above.gate.permissions, approver, above.gate.mode)
        )
        self.seat.sit(self._tools(), SUB_AGENT_PROMPT, self._notice)
        self.seat.session.record(*rule_changes({}, read_project_rules(above.workspace)))

    async def run(self) -> End:
        self.seat.agent.say(self._arguments.prompt)
        return await run(self.seat.agent)

    def report(self, end: End) -> ToolResult:
        steps = self.seat.session.window.transcript.steps
        text = end.text if isinstance(end, Done) else joined_text(steps[-1].message.parts) if steps else ""
        changed = tuple(dict.fromkeys(change.path for change in self.seat.bench.files.made))
        lines = [_bounded(text.strip(), steps[-1].entry if steps else self.log)]
        if not isinstance(end, Done):
            why = end.question if isinstance(end, Ask) else end.sentence
            lines.append(
                f"[The sub-agent did not end by itself: {why}. What stands above is what it said last.]"
            )
        if changed:
            lines.append(f"[It changed: {', '.join(changed)}. Read them before you edit them.]")
        lines.append(f'[{len(steps)} steps; what it did and saw: Recall(id="{self.log}")]')
        data: dict[str, Json] = {"log": self.log, "steps": len(steps), "files": list(changed)}
        is_done = isinstance(end, Done) and bool(text.strip())
        envelope = Envelope(
            status="success" if is_done else "partial", text="\n".join(filter(None, lines)), data=data
        )
        return build_result(envelope, self._account(len(steps)))

    def _account(self, steps: int) -> str:
        """What it took, in a line for a person."""
        spent = self.seat.agent.spent
        parts = ["1 step" if steps == 1 else f"{steps} steps", f"{spent.usage.total:,} tokens"]
        if spent.dollars:
            parts.append(f"${spent.dollars:.4f}")
        return ", ".join([*parts, f"log {self.log}"])

    def _begin_log(self) -> str:
        above = self._employer.seat
        meta: dict[str, Json] = {"parent": above.session.log.id, "call": self._call}
        meta |= {"root": above.workspace.roots[0], "model": above.opening.model.name}
        title = " ".join(self._arguments.description.split())[:LONGEST_TITLE]
        redact = None if above.opening.profile.redact else str
        return Log.create(above.opening.store, title=title, source=TASK_SOURCE, meta=meta, redact=redact).id

    def _tools(self) -> list[Tool]:
        bench = self.seat.bench
        tools = bench.tools(NoAnswer(), RECALL_TOOL, self.seat.recall)
        looking = {tool.name for tool in bench.looking_tools(RECALL_TOOL, self.seat.recall)}
        allowed = looking | (ACTING if self._arguments.writes else frozenset())
        return [tool for tool in tools if tool.name in allowed] + self._deeper()

    def _deeper(self) -> list[Tool]:
        settings = self._employer.settings
        if settings.depth <= 1:
            return []
        inner = replace(settings, depth=settings.depth - 1)
        return [task_tool(ParentAgent(self.seat, self._notice, inner))]

    def _asker(self) -> WaitingSubAgent:
        return WaitingSubAgent(self._call, self._arguments.description, self.seat.agent.toolbox)

    def _step(self) -> int:
        return len(self.seat.session.window.transcript.steps)

    def _notice(self, notice: Notice) -> None:
        if isinstance(notice, CallStarted):
            current_call.set(notice.call.id)
        match innermost(notice):
            case Replied(reply=reply) if reply.usage:
                self._pay(reply.usage)
            case SummaryMade(compaction=made):
                for attempt in made.written.attempts:
                    self._pay(attempt.usage or Usage(0))
        self._employer.watch(SubAgentNotice(self._call, self.log, notice))

    def _pay(self, usage: Usage) -> None:
        """At once, and for each request: prices depend on its size, and limits of dollars are the parent's too."""
        above = self._employer.seat
        if usage.total:
            above.agent.charge(usage, above.opening.model.name, f"task {self.log}")


def _within(limits: RunLimits, parent: Agent) -> RunLimits:
    """The sub-agent's limits, and of dollars no more than the parent has left."""
    if not parent.limits.dollars:
        return limits
    left = parent.limits.dollars - parent.spent.dollars
    if left <= 0:
        raise ToolError(
            "EXECUTION_ERROR", "the limit of dollars is reached", hint="Go on without a sub-agent"
        )
    least = min(left, limits.dollars) if limits.dollars else left
    return RunLimits(limits.steps, least, limits.seconds, limits.tokens)


def _bounded(text: str, entry: str) -> str:
    if len(text) <= LONGEST_REPORT:
        return text
    end = LONGEST_REPORT - HEAD
    left = len(text) - LONGEST_REPORT
    return f'{text[:HEAD]}\n[{left} characters left out: Recall(id="{entry}")]\n{text[-end:]}'


class _SerialApprover(Struct, frozen=True):
    """A person is asked one thing at a time, by however many."""

    approver: Approver
    lock: asyncio.Lock
    who: Callable[[], WaitingSubAgent]

    async def approve(self, question: ApprovalQuestion) -> ApprovalAnswer:
        inner, who = waiting_sub_agent.get(), self.who()
        async with self.lock:
            token = waiting_sub_agent.set(
                WaitingSubAgent(who.call, who.title, inner.toolbox if inner else who.toolbox)
            )
            try:
                return await self.approver.approve(question)
            finally:
                waiting_sub_agent.reset(token)


class _SharedModel:
    """A model that somebody else closes."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return self._model.name

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        return self._model.stream(request)

    async def aclose(self) -> None:
        """It is the lender's."""
