"""What a crash left open in the log of one agent of a pair.

Rule: nothing is run again by itself. A call that only reads did nothing, and may be made again; of any other nobody
knows what it did, and the agent is told to look first. What may do harm twice a person is asked about.
"""

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from holdfast.agents.build import AgentConfig, Seat, protected_by, shell_of
from holdfast.agents.coding.tool_state import ToolState
from holdfast.agents.limits import RunLimits, Spent, reached_limit
from holdfast.agents.loop import run
from holdfast.agents.notices import Notice
from holdfast.agents.outcomes import Ask, Done, Stop
from holdfast.agents.pair import hand_over
from holdfast.agents.pair.hand_over import HAND_OVER_TOOL, hand_over_tool
from holdfast.agents.project_rules import RulesFile, rule_changes
from holdfast.agents.tool_results import UNCERTAIN, UNCERTAIN_EFFECT
from holdfast.events import RecapSet, ToolReturned, UserSaid
from holdfast.messages import Text, ToolCall, joined_text
from holdfast.pair.handover import Handover
from holdfast.pair.roles import Definitions, Role
from holdfast.pair.turn_texts import quoted
from holdfast.recall import RECALL_TOOL
from holdfast.session import Session
from holdfast.tools.call import CallFinished
from holdfast.tools.files.seen_files import SeenFiles
from holdfast.tools.files.snapshots import FolderSnapshots, MemorySnapshots, Snapshots
from holdfast.tools.permissions import PermissionGate
from holdfast.tools.short_definitions import (
    ShortPrompt,
    short_prompt_beside,
    short_prompts,
    with_short_definition,
)
from holdfast.tools.skill_files import Skills
from holdfast.tools.todo_write import TodoList
from holdfast.tools.tool import Tool, decode_arguments
from holdfast.tools.toolbox import Toolbox
from holdfast.tools.workspace import Workspace
from holdfast.views.transcript import User

HARMLESS = (
    "[holdfast: the process ended before a result of this call was written. It changes nothing, so call it again "
    "if you still need it.]"
)
REPEATABLE = frozenset({"AskUser", "BashOutput", "BashStop", "Edit", "MultiEdit", "TodoWrite", "Write"})
"""Tools that come to the same if a call is made twice: what was written is written again, what was replaced is not
found any more. All others may do harm."""


def open_calls(session: Session) -> tuple[tuple[str, ToolCall], ...]:
    """Calls without a result, each with the id that it was recorded under."""
    steps = session.window.transcript.steps
    if not steps:
        return ()
    step = steps[-1]
    return tuple((recorded, step.calls[id_]) for recorded, ids in step.waiting.items() for id_ in ids)


def uncertain_calls(session: Session, toolbox: Toolbox) -> tuple[str, ...]:
    """Those of which nobody knows what they did and that may do harm twice, in a few words each."""
    return tuple(_said(call) for _, call in open_calls(session) if _may_harm(call, toolbox))


def settle_calls(session: Session, toolbox: Toolbox, words: str = "") -> None:
    """Give each a result that says so; `words` are what a person says of those that may do harm twice."""
    for recorded, call in open_calls(session):
        text = HARMLESS if toolbox.only_reads(call) else UNCERTAIN
        if words and _may_harm(call, toolbox):
            text += f"\n[holdfast: {UNCERTAIN_EFFECT}; a person was asked, and says: {quoted(words)}]"
        session.record(ToolReturned(recorded, call.name, (Text(text),), error=True))


def _may_harm(call: ToolCall, toolbox: Toolbox) -> bool:
    return not toolbox.only_reads(call) and call.name not in REPEATABLE


def _said(call: ToolCall) -> str:
    about = str(call.arguments.get("command") or call.arguments.get("path") or "")
    return f"{call.name} {' '.join(about.split())[:200]}".strip()


# How the tools of a role are defined to its model: in full or in short.
#
# Rule: the definition alone differs; what a call does, and what is refused, is the same.


def define_tools(tools: Iterable[Tool], definitions: Definitions) -> list[Tool]:
    """The tools as a role has them defined; one without a short form stays as it is."""
    if definitions == "full":
        return list(tools)
    known = role_briefs()
    return [with_short_definition(tool, known) for tool in tools]


def role_briefs() -> dict[str, ShortPrompt]:
    """By name, of every tool that a role may have."""
    return {**short_prompts(), hand_over.HAND_OVER_TOOL: short_prompt_beside(hand_over.__file__)}


# One agent of a pair at its tools: it takes turns, each from what it is told to what it hands over.
#
# Rule: the same for every role; what differs is in the role's values. It can be closed at any moment and opened again
# from its log: whether a turn was opened, and whether it ended, stands there.

ROLE_TOOLS = (
    "AskUser",
    "Bash",
    "BashOutput",
    "BashStop",
    "Edit",
    "Glob",
    "Grep",
    "LS",
    "MultiEdit",
    "Read",
    "TodoWrite",
    "Write",
)
"""What a role may be given; Recall and HandOver every role has."""
DECISIONS, PROGRESS = "decisions", "progress"
MOST_NUDGES = 2
NUDGE = (
    "<system-reminder>\nYou ended without handing over. Your turn ends with HandOver: call it now, or go on with "
    "the work.\n</system-reminder>"
)

FindFaults = Callable[[Role, Handover, int], tuple[str, ...]]
"""What is wrong with a handover of a role in an iteration."""


class RoleSession:
    """**Contract:** `open_turn` before `work`. The store is the opener's and stays open. `law` are the rules of the
    project, which are not read from the disk: an agent could have written them for the other."""

    def __init__(
        self, opening: AgentConfig, role: Role, faults: FindFaults, law: RulesFile | None = None
    ) -> None:
        self.role = role
        self._faults = faults
        self._iteration = 1
        self._limits, self._spent = RunLimits(), Spent()
        self._watch = opening.watch
        workspace = Workspace([opening.root])
        kept: Snapshots = FolderSnapshots(opening.snapshots) if opening.snapshots else MemorySnapshots()
        files = SeenFiles(kept, step=lambda: self.steps, protected=protected_by(opening))
        self.bench = ToolState(files, shell_of(opening), TodoList(), Skills([]))
        gate = PermissionGate(opening.permissions, opening.approver, opening.mode)
        self._seat = seat = Seat(opening, workspace, self.bench, gate)
        given = {*role.tools, RECALL_TOOL.name}
        tools = self.bench.tools(opening.respondent, RECALL_TOOL, seat.recall)
        own = [tool for tool in tools if tool.name in given]
        seat.sit(
            define_tools([*own, hand_over_tool(self._wrong)], role.definitions), role.prompt, self._notice
        )
        self.session, self.agent = seat.session, seat.agent
        seat.restore()
        before = self.session.window.transcript.rules
        self.session.record(*rule_changes(before, law))

    @property
    def steps(self) -> int:
        return len(self.session.window.transcript.steps)

    def count(self, text: str) -> int:
        """Tokens of a text, as this agent's model counts them."""
        return self.session.window.counter.text(text)

    def uncertain(self) -> tuple[str, ...]:
        """What a crash left behind of which nobody knows what it did, and which may do harm twice."""
        return uncertain_calls(self.session, self.agent.toolbox)

    def settle(self, words: str = "") -> None:
        settle_calls(self.session, self.agent.toolbox, words)

    def stand(self, decisions: Sequence[str], progress: Sequence[str]) -> None:
        """What stands at the end of every request from now on: no fold and no summary touches it."""
        standing = (
            (DECISIONS, "Decisions of a person", decisions),
            (PROGRESS, "Measured on the disk", progress),
        )
        for key, title, lines in standing:
            before = self.session.window.transcript.recaps.get(key)
            if tuple(lines) != (before.lines if before else ()):
                self.session.record(RecapSet(key, title, tuple(lines), whole=key == DECISIONS))

    def open_turn(self, said: UserSaid, number: int, iteration: int, limits: RunLimits) -> None:
        """Say what opens the turn of this number, counted from 1, unless it stands in the log already. The limits
        hold from here to the end of the turn, however often the agent ends without handing over."""
        self._iteration = iteration
        self._limits, self._spent = limits, Spent()
        if self._turns() < number:
            self.session.record(said)
        assert self._turns() == number, "a turn is opened when the one before it was"

    async def work(self) -> Handover | Ask | Stop:
        """Up to what is handed over, or to what keeps it from being handed over."""
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
        """Within what is left of the limits of the turn."""
        self.agent.limits = _left(self._limits, self._spent)
        end = await run(self.agent)
        self._spent = _both(self._spent, self.agent.spent)
        is_limit = isinstance(end, Stop) and end.reason in ("steps", "cost")
        # The sentence names the limit of the turn, and not what was left of it.
        return (reached_limit(self._limits, self._spent, 0.0) or end) if is_limit else end

    def handed(self) -> Handover | None:
        """What was handed over in this turn, as the log has it."""
        transcript = self.session.window.transcript
        for step in reversed(transcript.steps):
            if step.round < len(transcript.rounds) - 1:
                break
            for id_, call in step.calls.items():
                result = step.results.get(id_)
                if call.name == HAND_OVER_TOOL and result is not None and not result.error:
                    return decode_arguments(Handover, call.arguments, HAND_OVER_TOOL)
        return None

    async def aclose(self) -> None:
        await self._seat.aclose()

    def _wrong(self, handover: Handover) -> tuple[str, ...]:
        return self._faults(self.role, handover, self._iteration)

    def _turns(self) -> int:
        items = self.session.window.transcript.items
        return sum(isinstance(item, User) and item.origin != "reminder" for item in items)

    def _nudges(self) -> int:
        transcript = self.session.window.transcript
        since = transcript.items[transcript.rounds[-1] :]
        return sum(isinstance(item, User) and joined_text(item.message.parts) == NUDGE for item in since)

    def _notice(self, notice: Notice) -> None:
        if (
            isinstance(notice, CallFinished)
            and notice.call.name == HAND_OVER_TOOL
            and not notice.result.is_error
        ):
            # The turn ends here: what the same reply calls behind it is not begun.
            self.agent.interrupt()
        self._watch(notice)


def turn_opening(text: str, *, by_person: bool) -> UserSaid:
    """A message as it opens a turn."""
    return UserSaid((Text(text),), "person" if by_person else "agent")


def _left(limits: RunLimits, spent: Spent) -> RunLimits:
    """**Contract:** no limit is reached, so that none comes to 0, which would be none."""
    return replace(
        limits,
        steps=limits.steps - spent.steps if limits.steps else 0,
        dollars=limits.dollars - spent.dollars if limits.dollars else 0.0,
    )


def _both(one: Spent, other: Spent) -> Spent:
    return replace(one, steps=one.steps + other.steps, dollars=one.dollars + other.dollars)
