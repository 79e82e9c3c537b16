"""How a run of a pair ends.

Rule: however it ends, the logs are complete, and the hint says how to resume.
"""

from msgspec import Struct

from holdfast.agents.outcomes import Ask, Stop
from holdfast.pair.phases import PairEnded
from holdfast.pair.roles import Role

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
