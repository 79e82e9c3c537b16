"""What a run of a pair came to.

Rule: whatever it is, the logs are whole, and the hint says how it is gone on with.
"""

from msgspec import Struct

from holdfast.agents.outcomes import Ask, Stop
from holdfast.pair.phases import PairEnded
from holdfast.pair.roles import Role

DONE, BLOCKED = "done", "blocked"
CONTINUE = "`--continue` goes on"
RAISE = "`--continue` goes on, with a higher `--max-cost`"


class PairOutcome(Struct, frozen=True):
    """What a run of a pair came to. Only one that `ended` needs new rules to go on."""

    reason: str
    sentence: str
    hint: str = ""
    evidence: tuple[str, ...] = ()
    ended: bool = False


INTERRUPTED = PairOutcome("interrupted", "interrupted", CONTINUE)


def role_outcome(end: Ask | Stop, role: Role) -> PairOutcome:
    match end:
        case Ask(question=question):
            return PairOutcome("ask", f"`{role.name}`: {question}", CONTINUE)
        case Stop(reason="overflow", sentence=sentence, hint=hint):
            room = f"{hint}; or give `{role.name}` a model with a larger window"
            return PairOutcome("ask", f"`{role.name}`: {sentence}", f"{room}; {CONTINUE}")
        case Stop(reason="model" | "refused" | "empty" as reason, sentence=sentence, hint=hint):
            return PairOutcome(
                reason, f"`{role.name}`: {sentence}", "; ".join(filter(None, (hint, CONTINUE)))
            )
        case Stop(reason=reason, sentence=sentence):
            return PairOutcome(reason, f"`{role.name}`: {sentence}", RAISE if reason == "cost" else CONTINUE)


def ended_outcome(ended: PairEnded) -> PairOutcome:
    return PairOutcome(ended.reason, ended.sentence, evidence=ended.evidence, ended=True)
