"""The session of one role of a pair: it takes turns, each from a message to a handover.

Rule: all roles work the same way; they differ in the role's values. A session can be closed at any moment and
resumed from its log. Nothing that a crash interrupted is run again by itself: the role is told to look first, and a
person is asked about calls that may do harm twice.
"""

import asyncio
import posixpath
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from holdfast.agents.build import AgentConfig, build_agent, config_gate, open_log_session
from holdfast.agents.coding.tool_state import new_tool_state
from holdfast.agents.limits import RunLimits, Spent, reached_limit
from holdfast.agents.loop import run
from holdfast.agents.notices import Notice
from holdfast.agents.outcomes import Ask, Done, Stop
from holdfast.agents.pair.measuring import TurnWork
from holdfast.agents.project_rules import rule_changes
from holdfast.agents.tool_results import UNCERTAIN, UNCERTAIN_EFFECT, open_calls
from holdfast.events import RecapSet, RulesSet, ToolReturned, UserSaid
from holdfast.messages import Text, ToolCall, joined_text, system_reminder
from holdfast.pair.handover import OF_DESIGN, Handover
from holdfast.pair.roles import Definitions, Role
from holdfast.pair.turn_texts import quoted
from holdfast.recall import RECALL_TOOL
from holdfast.tools.call import CallFinished
from holdfast.tools.envelope import Envelope, ToolError, ToolResult, build_result
from holdfast.tools.files.seen_files import CHANGING_TOOLS
from holdfast.tools.short_definitions import (
    ShortPrompt,
    short_prompt_beside,
    short_prompts,
    with_short_definition,
)
from holdfast.tools.tool import Tool, TypedTool, decode_arguments, prompt_beside
from holdfast.tools.workspace import Workspace
from holdfast.views import path
from holdfast.views.transcript import User

HAND_OVER_TOOL = "HandOver"
HAND_OVER_PROMPT = str(Path(__file__).with_name("hand_over"))
HARMLESS = (
    "[holdfast: the process ended before a result of this call was written. It changes nothing, so call it again "
    "if you still need it.]"
)
REPEATABLE = frozenset({"AskUser", "BashOutput", "BashStop", "Edit", "MultiEdit", "TodoWrite", "Write"})
"""Tools whose calls can safely be made twice: what was written is written again, and what was replaced is not found
any more. All others may do harm."""
ROLE_TOOLS = (
    *("AskUser", "Bash", "BashOutput", "BashStop", "Edit", "Glob"),
    *("Grep", "LS", "MultiEdit", "Read", "TodoWrite", "Write"),
)
"""The tools that a role may have; every role has Recall and HandOver too."""
DECISIONS, PROGRESS = "decisions", "progress"
MOST_NUDGES = 2
NUDGE = system_reminder(
    "You ended without handing over. Your turn ends with HandOver: call it now, or continue with the work."
)

FindFaults = Callable[[Role, Handover, int], tuple[str, ...]]
"""Finds what is wrong with the handover of a role in an iteration."""


class RoleSession:
    """**Contract:** `open_turn` before `work`. The store belongs to the caller and stays open. `rules` are the
    project's. They are not read from the disk: one agent could have written them for the other."""

    def __init__(
        self, config: AgentConfig, role: Role, find_faults: FindFaults, rules: RulesSet | None = None
    ) -> None:
        self.role = role
        self._iteration = 1
        self._limits, self._spent = RunLimits(), Spent()
        self._watch = config.watch
        workspace = Workspace([config.root])
        self.session = session = open_log_session(config, role.prompt)
        self.tool_state = state = new_tool_state(config, session)
        self._workspace = workspace
        self._gate = gate = config_gate(config, session, workspace, state.shell)
        allowed = {*role.tools, RECALL_TOOL.name}
        own = [tool for tool in state.tools(config.responder) if tool.name in allowed]
        hand_over = hand_over_tool(lambda handover: find_faults(role, handover, self._iteration))
        tools = define_tools([*own, hand_over], role.definitions, OF_DESIGN if role.measures else ())
        self.agent = build_agent(config, session, tools, workspace, gate=gate, watch=self._notice)
        entries = path(session.log.entries())
        state.restore(entries)
        gate.restore(entries)
        session.record(*rule_changes(session.window.transcript.rules, rules))

    def freeze(self, files: Sequence[str]) -> None:
        """Keep the role from changing these files: by its tools, and by its commands where the sandbox can."""
        self._gate.deny_changes(files)
        root = self._workspace.roots[0]
        self.tool_state.shell.frozen = tuple(f"{root}/{name}" for name in files)

    def turn_work(self, results: str) -> TurnWork:
        """What was done in the newest turn, by the log; `results` is the folder of results."""
        transcript = self.session.window.transcript
        commands, written = 0, set[str]()
        for step in reversed(transcript.steps):
            if step.round < len(transcript.rounds) - 1:
                break
            for id_, call in step.calls.items():
                result = step.results.get(id_)
                if result is None or result.error:
                    continue
                commands += call.name == "Bash"
                path = posixpath.normpath(str(call.arguments.get("path", "")))
                if call.name in CHANGING_TOOLS and path.startswith(f"{results}/"):
                    written.add(posixpath.basename(path))
        return TurnWork(commands, tuple(sorted(written)))

    @property
    def steps(self) -> int:
        return len(self.session.window.transcript.steps)

    def count(self, text: str) -> int:
        """Tokens of a text, as this agent's model counts them."""
        return self.session.window.counter.text(text)

    def uncertain_calls(self) -> tuple[str, ...]:
        """Calls that a crash interrupted and that may do harm twice, in a few words each."""
        return tuple(_describe(call) for _, call in open_calls(self.session) if self._may_harm(call))

    def resolve_calls(self, words: str = "") -> None:
        """Give each interrupted call a result that says so. `words` are what a person says of those that may do
        harm twice."""
        for recorded, call in open_calls(self.session):
            text = HARMLESS if self.agent.toolbox.only_reads(call) else UNCERTAIN
            if words and self._may_harm(call):
                text += f"\n[holdfast: {UNCERTAIN_EFFECT}; a person was asked, and says: {quoted(words)}]"
            self.session.record(ToolReturned(recorded, call.name, (Text(text),), error=True))

    def _may_harm(self, call: ToolCall) -> bool:
        return not self.agent.toolbox.only_reads(call) and call.name not in REPEATABLE

    def set_recaps(self, decisions: Sequence[str], progress: Sequence[str]) -> None:
        """What is repeated at the end of every request from now on: no fold and no summary touches it."""
        recaps = (
            (DECISIONS, "Decisions of a person", decisions),
            (PROGRESS, "Measured on the disk", progress),
        )
        for key, title, lines in recaps:
            before = self.session.window.transcript.recaps.get(key)
            if tuple(lines) != (before.lines if before else ()):
                self.session.record(RecapSet(key, title, tuple(lines), whole=key == DECISIONS))

    def open_turn(self, said: UserSaid, number: int, iteration: int, limits: RunLimits) -> None:
        """Record the message that opens the turn with this number, counted from 1, unless the log has it already.
        The limits hold until the turn ends, however often the agent stops without handing over."""
        self._iteration = iteration
        self._limits, self._spent = limits, Spent()
        if self._turns() < number:
            self.session.record(said)
        assert self._turns() == number, "a turn is opened when the one before it was"

    async def work(self) -> Handover | Ask | Stop:
        """Work until something is handed over, or until something prevents it."""
        while True:
            if handover := self.handed():
                return handover
            if stop := reached_limit(self._limits, self._spent, 0.0):
                return stop
            end = await self._run()
            if handover := self.handed():
                return handover
            if not isinstance(end, Done):
                return end
            if self._nudges() >= MOST_NUDGES:
                return Stop(
                    "empty",
                    f"`{self.role.name}` ended {MOST_NUDGES + 1} times without handing over",
                    "choose another model",
                )
            self.agent.remind(NUDGE)

    async def _run(self) -> Done | Ask | Stop:
        """One run, within what is left of the turn's limits."""
        limits, spent = self._limits, self._spent
        # No limit is reached, so none becomes 0, which would mean no limit.
        self.agent.budget.limits = replace(
            limits,
            steps=limits.steps - spent.steps if limits.steps else 0,
            dollars=limits.dollars - spent.dollars if limits.dollars else 0.0,
        )
        end = await run(self.agent)
        more = self.agent.budget.spent
        self._spent = Spent(spent.steps + more.steps, dollars=spent.dollars + more.dollars)
        is_limit = isinstance(end, Stop) and end.reason in ("steps", "cost")
        # The sentence must name the limit of the turn, not what was left of it.
        return (reached_limit(self._limits, self._spent, 0.0) or end) if is_limit else end

    def handed(self) -> Handover | None:
        """The handover of this turn, if the log has one."""
        transcript = self.session.window.transcript
        for step in reversed(transcript.steps):
            if step.round < len(transcript.rounds) - 1:
                break
            for id_, call in step.calls.items():
                result = step.results.get(id_)
                if call.name == HAND_OVER_TOOL and result is not None and not result.error:
                    return decode_arguments(Handover, call.arguments, HAND_OVER_TOOL)
        return None

    async def end_commands(self) -> None:
        """End what still runs in the background: nothing of a turn works on while it is measured."""
        await asyncio.to_thread(self.tool_state.shell.stop_all)

    async def aclose(self) -> None:
        await self.agent.aclose()
        self.tool_state.close()

    def _turns(self) -> int:
        items = self.session.window.transcript.items
        return sum(isinstance(item, User) and item.origin != "reminder" for item in items)

    def _nudges(self) -> int:
        transcript = self.session.window.transcript
        since = transcript.items[transcript.rounds[-1] :]
        return sum(isinstance(item, User) and joined_text(item.message.parts) == NUDGE for item in since)

    def _notice(self, notice: Notice) -> None:
        match notice:
            case CallFinished(call=ToolCall(name="HandOver"), result=result) if not result.is_error:
                # The turn ends here: further calls of the same reply are not started.
                self.agent.interrupt()
        self._watch(notice)


def hand_over_tool(check: Callable[[Handover], tuple[str, ...]]) -> Tool:
    """Gives the work to the other role, after a check, and ends the turn. It changes nothing: the log has the call
    and its result. So it is safe to repeat, and declared as a tool that only reads."""

    async def work(handover: Handover, _workspace: Workspace) -> ToolResult:
        if wrong := check(handover):
            raise ToolError(
                "INVALID_PARAM",
                f"the handover was refused: {'; '.join(wrong)}",
                hint="Correct this, and call HandOver again",
            )
        envelope = Envelope(status="success", text="Handed over. Your turn ends here.")
        return build_result(envelope, f"handed over: {' '.join(handover.summary.split())[:200]}")

    return TypedTool(HAND_OVER_TOOL, Handover, prompt_beside(HAND_OVER_PROMPT), work, is_read_only=True)


def define_tools(
    tools: Iterable[Tool], definitions: Definitions, not_handed: Sequence[str] = ()
) -> list[Tool]:
    """The tools with full or short definitions; one without a short form stays as it is. What a call does is the
    same."""
    if definitions == "full":
        return list(tools)
    known = role_prompts(not_handed)
    return [with_short_definition(tool, known) for tool in tools]


def role_prompts(not_handed: Sequence[str] = ()) -> dict[str, ShortPrompt]:
    """The short prompts of all tools that a role may have, by name; `not_handed` are fields of a handover that are
    not its to fill."""
    return {**short_prompts(), HAND_OVER_TOOL: short_prompt_beside(HAND_OVER_PROMPT, *not_handed)}


def _describe(call: ToolCall) -> str:
    about = str(call.arguments.get("command") or call.arguments.get("path") or "")
    return f"{call.name} {' '.join(about.split())[:200]}".strip()
