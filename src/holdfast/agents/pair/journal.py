"""The journal of a pair: its phases, in the order in which they happened, in the log of the pair; and how a run of
the pair ends.

Rule: a phase is in the log before anybody is told of it, and the state of the pair is read from nothing else.
However a run ends, the logs are complete, and the hint says how to resume.
"""

from collections.abc import Callable

from msgspec import Struct

from holdfast.log import Log
from holdfast.pair.phases import (
    DecisionMade,
    PairState,
    Phase,
    TurnBegan,
    pair_state,
    phase_event,
    read_phase,
)
from holdfast.pair.roles import Pair
from holdfast.pair.stop_rules import StopRules

DONE, BLOCKED = "done", "blocked"
CONTINUE = "`--continue` resumes it"
RAISE = "`--continue` with a higher `--max-cost` resumes it"


class PairOutcome(Struct, frozen=True):
    """Only an outcome that `ended` the pair needs new rules before it can be resumed."""

    reason: str
    sentence: str
    hint: str = ""
    evidence: tuple[str, ...] = ()
    ended: bool = False


class PairJournal:
    def __init__(self, log: Log, pair: Pair, tell: Callable[[Phase], None] = lambda _: None) -> None:
        self.log = log
        self.pair = pair
        self.phases = [phase for entry in log.entries() if (phase := read_phase(entry.event))]
        self._begun = len(self.phases)
        self._tell = tell

    @property
    def state(self) -> PairState:
        return pair_state(self.phases, self.pair.roles[1].name)

    @property
    def rules(self) -> StopRules:
        return self.state.rules or self.pair.stop

    def rejects(self, design: str) -> bool:
        """Whether a person rejected this very design in this run, or in an earlier run and no role was told yet. In
        a later run the same design is asked about again: the rejection may have been a mistake."""
        if not self.state.rejects(design):
            return False
        newest = max(
            n for n, one in enumerate(self.phases) if isinstance(one, DecisionMade) and one.id == design
        )
        is_told = any(isinstance(one, TurnBegan) for one in self.phases[newest:])
        return newest >= self._begun or not is_told

    def append(self, phase: Phase) -> None:
        kept = read_phase(self.log.append(phase_event(phase)).event)
        assert kept is not None, "a phase is read as it was written"
        self.phases.append(kept)
        self._tell(kept)
