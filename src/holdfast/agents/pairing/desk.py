"""One agent of a pair at its tools: it takes turns, each from what it is told to what it hands over.

Rule: the same for every role; what differs is in the role's values. It can be closed at any moment and opened again
from its log: whether a turn was opened, and whether it ended, stands there.
"""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from holdfast.agents.coding.bench import Bench
from holdfast.agents.coding.seat import Seat, protected_by, shell_of
from holdfast.agents.limits import Limits, Spent, reached
from holdfast.agents.loop import run
from holdfast.agents.notices import Notice
from holdfast.agents.opening import Opening
from holdfast.agents.outcomes import Ask, Done, Stop
from holdfast.agents.pairing.settling import settle_calls, uncertain_calls
from holdfast.agents.pairing.tools.definitions import defined
from holdfast.agents.pairing.tools.hand_over import NAME, hand_over_tool
from holdfast.agents.project_rules import RulesFile, changes
from holdfast.events import RecapSet, UserSaid
from holdfast.messages import Text, joined_text
from holdfast.pair.handover import Handover
from holdfast.pair.roles import Role
from holdfast.recall import RECALL_TOOL
from holdfast.tools.around.skills import Skills
from holdfast.tools.around.todo_write import TodoList
from holdfast.tools.calling import CallFinished
from holdfast.tools.files.seen import Files
from holdfast.tools.files.snapshots import FolderSnapshots, MemorySnapshots, Snapshots
from holdfast.tools.permissions import Gate
from holdfast.tools.schema import decode_arguments
from holdfast.tools.workspace import Workspace
from holdfast.views.transcript import User

TOOLS = (
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

Faults = Callable[[Role, Handover, int], tuple[str, ...]]
"""What is wrong with a handover of a role in an iteration."""


class RoleDesk:
    """**Contract:** `open_turn` before `work`. The store is the opener's and stays open. `law` are the rules of the
    project, which are not read from the disk: an agent could have written them for the other."""

    def __init__(self, opening: Opening, role: Role, faults: Faults, law: RulesFile | None = None) -> None:
        self.role = role
        self._faults = faults
        self._iteration = 1
        self._limits, self._spent = Limits(), Spent()
        self._watch = opening.watch
        workspace = Workspace([opening.root])
        kept: Snapshots = FolderSnapshots(opening.snapshots) if opening.snapshots else MemorySnapshots()
        files = Files(kept, step=lambda: self.steps, protected=protected_by(opening))
        self.bench = Bench(files, shell_of(opening), TodoList(), Skills([]))
        gate = Gate(opening.permissions, opening.approver, opening.mode)
        self._seat = seat = Seat(opening, workspace, self.bench, gate)
        given = {*role.tools, RECALL_TOOL.name}
        tools = self.bench.tools(opening.respondent, RECALL_TOOL, seat.recall)
        own = [tool for tool in tools if tool.name in given]
        seat.sit(defined([*own, hand_over_tool(self._wrong)], role.definitions), role.prompt, self._notice)
        self.session, self.agent = seat.session, seat.agent
        seat.restore()
        before = self.session.window.transcript.rules
        self.session.record(*changes(before, law))

    @property
    def steps(self) -> int:
        return len(self.session.window.transcript.steps)

    def count(self, text: str) -> int:
        """Tokens of a text, as this agent's model counts them."""
        return self.session.window.scene.counter.text(text)

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

    def open_turn(self, said: UserSaid, number: int, iteration: int, limits: Limits) -> None:
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
            if stop := reached(self._limits, self._spent, 0.0):
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
        return (reached(self._limits, self._spent, 0.0) or end) if is_limit else end

    def handed(self) -> Handover | None:
        """What was handed over in this turn, as the log has it."""
        transcript = self.session.window.transcript
        for step in reversed(transcript.steps):
            if step.round < len(transcript.rounds) - 1:
                break
            for id_, call in step.calls.items():
                result = step.results.get(id_)
                if call.name == NAME and result is not None and not result.error:
                    return decode_arguments(Handover, call.arguments, NAME)
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
        if isinstance(notice, CallFinished) and notice.call.name == NAME and not notice.result.is_error:
            # The turn ends here: what the same reply calls behind it is not begun.
            self.agent.interrupt()
        self._watch(notice)


def said_in(text: str, *, by_person: bool) -> UserSaid:
    """A message as it opens a turn."""
    return UserSaid((Text(text),), "person" if by_person else "agent")


def _left(limits: Limits, spent: Spent) -> Limits:
    """**Contract:** no limit is reached, so that none comes to 0, which would be none."""
    return replace(
        limits,
        steps=limits.steps - spent.steps if limits.steps else 0,
        dollars=limits.dollars - spent.dollars if limits.dollars else 0.0,
    )


def _both(one: Spent, other: Spent) -> Spent:
    return replace(one, steps=one.steps + other.steps, dollars=one.dollars + other.dollars)
