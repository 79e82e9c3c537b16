"""Task: a piece of work for a sub-agent, which has a log, a window and limits of its own.

Rule: what it does is in its own log, what it says is a bounded report that names this log, and what it spends is
spent by whoever asked. It changes nothing unless asked to, and then as the gate allows, one at a time.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextvars import ContextVar
from importlib.resources import files as package_files
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from holdfast.agents.agent import Agent
from holdfast.agents.asking import Asking
from holdfast.agents.coding.bench import Bench
from holdfast.agents.coding.talks import LONGEST_TITLE, TASK_SOURCE
from holdfast.agents.limits import Limits
from holdfast.agents.loop import run
from holdfast.agents.notices import Notice, Replied, SummaryMade, TaskNews, Watch
from holdfast.agents.outcomes import Ask, Done, End
from holdfast.agents.project_rules import changes, rules_of_project
from holdfast.log import Log
from holdfast.messages import Json, ToolCall, Usage, joined_text
from holdfast.models.protocol import Came, Model, Request
from holdfast.packing.profile import Profile
from holdfast.recall import RECALL_TOOL, answer_recall
from holdfast.session import Session
from holdfast.store import Store
from holdfast.tools.around.skills import Skills
from holdfast.tools.around.todo_write import TodoList
from holdfast.tools.around.unattended import DecideYourself
from holdfast.tools.calling import CallStarted
from holdfast.tools.envelope import Envelope, ToolError, ToolResult, answered
from holdfast.tools.files.seen import Files
from holdfast.tools.files.snapshots import Snapshots
from holdfast.tools.permissions import Answer, Approver, Gate, Question, scene_of
from holdfast.tools.protocol import Tool, TypedTool, prompt_beside
from holdfast.tools.shell.sandbox import Sandbox
from holdfast.tools.shell.shell import Shell
from holdfast.tools.toolbox import Toolbox
from holdfast.tools.workspace import Workspace

NAME = "Task"
SYSTEM = (package_files(__package__) / "task_system.md").read_text("utf-8").strip()
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


class TaskSettings(Struct, frozen=True, kw_only=True):
    """How far a sub-agent may go. `depth` is how many deep they may be: 1 lets none have sub-agents of its own."""

    limits: Limits = Limits(steps=60, seconds=1_800.0, tokens=4_000_000)
    parallel: int = 4
    depth: int = 1


class Employer(Struct, frozen=True, kw_only=True):
    """What a sub-agent has from the one that asks. `parent` and `gate` are functions because both come later than
    the tool that needs them."""

    parent: Callable[[], Agent]
    gate: Callable[[], Gate]
    workspace: Workspace
    store: Store
    model: Model
    asking: Asking
    profile: Profile
    snapshots: Snapshots
    protected: tuple[Path, ...] = ()
    sandbox: Sandbox | None = None
    passes: tuple[str, ...] = ()
    watch: Watch
    settings: TaskSettings = TaskSettings()


def task_tool(employer: Employer) -> Tool:
    beside = asyncio.Semaphore(employer.settings.parallel)
    writing = asyncio.Lock()
    asking = asyncio.Lock()

    async def work(arguments: TaskArguments, _workspace: Workspace) -> ToolResult:
        async with beside:
            if not arguments.writes:
                return await _work(arguments, employer, asking)
            async with writing:
                return await _work(arguments, employer, asking)

    return TypedTool(NAME, TaskArguments, prompt_beside(__file__), work, is_read_only=True)


async def _work(arguments: TaskArguments, employer: Employer, asking: asyncio.Lock) -> ToolResult:
    sub = SubAgent(arguments, employer, asking)
    try:
        end = await sub.run()
    finally:
        await sub.aclose()
    return sub.report(end)


class SubAgent:
    """One piece of work: a session, a bench and an agent of its own."""

    def __init__(self, arguments: TaskArguments, employer: Employer, asking: asyncio.Lock) -> None:
        self._employer = employer
        self._arguments = arguments
        parent = employer.parent()
        self._call = current_call.get()
        self.log = self._begin_log(parent)
        gate = employer.gate()
        # A gate of its own: ids of calls are another log's, and so is what was allowed there.
        self._gate = Gate(gate.permissions, _OneByOne(gate.approver, asking), gate.mode)
        files = Files(employer.snapshots, protected=employer.protected)
        self.bench = Bench(
            files, Shell(sandbox=employer.sandbox, passes=employer.passes), TodoList(), Skills([])
        )
        toolbox = Toolbox(self._tools(), employer.workspace, gate=self._check)
        self.session = Session(
            profile=employer.profile,
            store=employer.store,
            log=self.log,
            system=SYSTEM,
            tools=[tool for tool in toolbox.definitions if tool.name != RECALL_TOOL.name],
            model=employer.model.name,
        )
        self.session.record(*changes({}, rules_of_project(employer.workspace)))
        self.agent = Agent(
            self.session,
            _Borrowed(employer.model),
            toolbox,
            asking=employer.asking,
            is_beside=False,
            limits=_within(employer.settings.limits, parent),
            watch=self._notice,
        )

    async def run(self) -> End:
        self.agent.say(self._arguments.prompt)
        return await run(self.agent)

    async def aclose(self) -> None:
        await self.agent.aclose()
        self.bench.close()

    def report(self, end: End) -> ToolResult:
        steps = self.session.window.transcript.steps
        text = end.text if isinstance(end, Done) else joined_text(steps[-1].message.parts) if steps else ""
        changed = tuple(dict.fromkeys(change.path for change in self.bench.files.made))
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
        return answered(envelope, f"{len(steps)} steps, log {self.log}")

    def _begin_log(self, parent: Agent) -> str:
        meta: dict[str, Json] = {"parent": parent.session.log.id, "call": self._call}
        meta |= {"root": self._employer.workspace.roots[0], "model": self._employer.model.name}
        title = " ".join(self._arguments.description.split())[:LONGEST_TITLE]
        redact = None if self._employer.profile.redact else str
        return Log.create(self._employer.store, title=title, source=TASK_SOURCE, meta=meta, redact=redact).id

    def _tools(self) -> list[Tool]:
        tools = self.bench.tools(DecideYourself(), RECALL_TOOL, self._recall)
        looking = {tool.name for tool in self.bench.looking_tools(RECALL_TOOL, self._recall)}
        allowed = looking | (ACTING if self._arguments.writes else frozenset())
        return [tool for tool in tools if tool.name in allowed] + self._deeper()

    def _deeper(self) -> list[Tool]:
        settings = self._employer.settings
        if settings.depth <= 1:
            return []
        inner = TaskSettings(limits=settings.limits, parallel=settings.parallel, depth=settings.depth - 1)
        return [task_tool(_employing(self, self._employer, inner))]

    async def _check(self, call: ToolCall, tool: Tool) -> ToolResult | None:
        workspace = self._employer.workspace
        cwd = self.bench.shell.place(workspace).path
        scene = scene_of(call, workspace, cwd, is_read_only=tool.is_read_only)
        passage = await self._gate.check(call, scene)
        if passage.event:
            self.session.record(passage.event)
        return passage.refusal

    def _recall(self, arguments: Mapping[str, Json]) -> tuple[str, bool]:
        return answer_recall(self.session.store, arguments, log=self.log)

    def _notice(self, notice: Notice) -> None:
        match notice:
            case CallStarted(call=call):
                current_call.set(call.id)
            case Replied(reply=reply) if reply.usage:
                self._pay(reply.usage)
            case SummaryMade(compaction=made):
                for attempt in made.written.attempts:
                    self._pay(attempt.usage or Usage(0))
        self._employer.watch(TaskNews(self._call, self.log, notice))

    def _pay(self, usage: Usage) -> None:
        """At once, and for each request: prices depend on its size, and limits of dollars are the parent's too."""
        if usage.total:
            self._employer.parent().charge(usage, self._employer.model.name, f"task {self.log}")

    @property
    def gate(self) -> Gate:
        return self._gate


def _employing(sub: SubAgent, above: Employer, settings: TaskSettings) -> Employer:
    """A sub-agent as the employer of others."""
    return Employer(
        parent=lambda: sub.agent,
        gate=lambda: sub.gate,
        workspace=above.workspace,
        store=above.store,
        model=above.model,
        asking=above.asking,
        profile=above.profile,
        snapshots=above.snapshots,
        protected=above.protected,
        sandbox=above.sandbox,
        passes=above.passes,
        watch=above.watch,
        settings=settings,
    )


def _within(limits: Limits, parent: Agent) -> Limits:
    """The sub-agent's limits, and of dollars no more than the parent has left."""
    if not parent.limits.dollars:
        return limits
    left = parent.limits.dollars - parent.spent.dollars
    if left <= 0:
        raise ToolError(
            "EXECUTION_ERROR", "the limit of dollars is reached", hint="Go on without a sub-agent"
        )
    least = min(left, limits.dollars) if limits.dollars else left
    return Limits(limits.steps, least, limits.seconds, limits.tokens)


def _bounded(text: str, entry: str) -> str:
    if len(text) <= LONGEST_REPORT:
        return text
    end = LONGEST_REPORT - HEAD
    left = len(text) - LONGEST_REPORT
    return f'{text[:HEAD]}\n[{left} characters left out: Recall(id="{entry}")]\n{text[-end:]}'


class _OneByOne(Struct, frozen=True):
    """A person is asked one thing at a time, by however many."""

    approver: Approver
    lock: asyncio.Lock

    async def approve(self, question: Question) -> Answer:
        async with self.lock:
            return await self.approver.approve(question)


class _Borrowed:
    """A model that somebody else closes."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return self._model.name

    def stream(self, request: Request) -> AsyncIterator[Came]:
        return self._model.stream(request)

    async def aclose(self) -> None:
        """It is the lender's."""
