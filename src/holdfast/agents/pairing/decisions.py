"""What a person decides about a pair: asked here, all of it, and kept in the journal.

Rule: what is asked stands in the journal before anybody is asked, and what was decided is not asked again. What
waits is asked again whenever the work is gone on with.
"""

from collections.abc import Sequence
from hashlib import sha256

from holdfast.agents.pairing.approval import Approvals, Auto
from holdfast.agents.pairing.journal import Journal
from holdfast.agents.pairing.outcome import Outcome
from holdfast.errors import InputError
from holdfast.pair.phases import Asked, Decided, too_long
from holdfast.pair.telling import GOING_ON, answer_of
from holdfast.tools.around.ask_user import NOBODY, Question, Reply


class Decisions:
    def __init__(self, journal: Journal, approvals: Approvals) -> None:
        self.journal = journal
        self.approvals = approvals

    async def ask(self, asked: Asked, *, anew: bool = False) -> Decided | None:
        """What was decided about it, now or, unless asked anew, before; None where nobody can decide it now."""
        state = self.journal.state
        if not anew and (known := state.decided.get(asked.id)):
            return known
        if asked.id not in state.pending:
            self.journal.append(asked)
        decision = await self.approvals.decide(asked)
        if decision is not None:
            assert decision.answer in asked.answers, f"`{decision.answer}` is no answer about a {asked.about}"
            if why := too_long(decision.words):
                raise InputError(why)
            self.journal.append(decision)
        return decision

    async def ask_all(self, questions: Sequence[str] = ()) -> bool:
        """These questions, and all that wait. Who asked them does not wait for an answer. Whether one was given."""
        before = self.journal.state.decided
        asked = {one.id: one for one in (*map(question, questions), *self._waiting("question"))}
        given = [id_ for id_, one in asked.items() if id_ not in before and await self.ask(one)]
        return bool(given)

    async def resume(self) -> None:
        """What waits is asked again when the work is gone on with. An agent that was blocked, and gets no answer,
        tries again where it may do something else now, or where nobody will ever be asked."""
        await self.ask_all()
        tries = isinstance(self.approvals, Auto) or self.journal.state.is_regranted
        for asked in self._waiting("blocked"):
            if await self.ask(asked) is None and tries:
                self.go_on(asked)

    def go_on(self, asked: Asked) -> None:
        """Without an answer."""
        self.journal.append(Decided(asked.id, "approve", by=GOING_ON))

    def take_up(self, role: str) -> None:
        """Whoever goes on with an agent that stopped for want of room, or of a summary, has decided to."""
        for asked in self._waiting("overflow", "summary"):
            if f"{asked.id.rpartition('_')[0]}_" in (room_id(role), summary_id(role)):
                self.go_on(asked)

    def waits(self, asked: Asked, sentence: str) -> Outcome:
        return Outcome("ask", sentence, self.approvals.how(asked))

    def with_open(self, outcome: Outcome) -> Outcome:
        """An outcome whose hint says too how questions are answered that nobody answered."""
        hints = [
            f"`{one.id}` is an open question: {self.approvals.how(one)}" for one in self._waiting("question")
        ]
        if not hints:
            return outcome
        return Outcome(
            outcome.reason,
            outcome.sentence,
            "; ".join(filter(None, (outcome.hint, hints[0]))),
            outcome.evidence,
            outcome.ended,
        )

    def _waiting(self, *about: str) -> list[Asked]:
        return [one for one in self.journal.state.pending.values() if one.about in about]


class ThroughDecisions:
    """Who answers AskUser: whoever decides about the pair."""

    def __init__(self, decisions: Decisions) -> None:
        self._decisions = decisions

    async def answer(self, questions: Sequence[Question]) -> Sequence[Reply]:
        return [await self._reply(one) for one in questions]

    async def _reply(self, one: Question) -> Reply:
        labels = [option.label for option in one.options]
        decision = await self._decisions.ask(question(f"{one.question} ({' | '.join(labels)})"))
        if decision is None:
            return Reply(by=NOBODY)
        words = answer_of(decision)
        parts = tuple(part.strip() for part in words.split(",")) if one.multiple else ()
        return Reply(parts if parts and {*parts} <= {*labels} else (words,))


def question(text: str) -> Asked:
    """A question of an agent: the same words are the same question."""
    return Asked(f"q{sha256(text.encode()).hexdigest()[:11]}", "question", text)


def hindrance(role: str, questions: Sequence[str]) -> Asked:
    """What a role asks that cannot go on without an answer: the same words are the same question."""
    text = " ".join(questions)
    return Asked(f"b_{role}_{sha256(text.encode()).hexdigest()[:11]}", "blocked", text)


def room_id(role: str) -> str:
    """How ids begin of what is asked where a role's window is too small."""
    return f"o_{role}_"


def summary_id(role: str) -> str:
    """And where no model wrote a summary of it."""
    return f"s_{role}_"
