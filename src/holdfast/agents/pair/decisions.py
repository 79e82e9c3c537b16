"""Who approves of a design, and answers what only a person can: a rule, or files; a terminal has its own.

Rule: what nobody has decided is not decided: the work stops there and can be gone on with. No agent can write an
approval, since the files lie outside the folder that agents work in.
"""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from holdfast.agents.pair.journal import PairJournal
from holdfast.agents.pair.outcome import PairOutcome
from holdfast.errors import InputError
from holdfast.pair.folder import replace_file
from holdfast.pair.phases import Answer, DecisionMade, DecisionRequested, too_long
from holdfast.pair.turn_texts import GOING_ON, answer_of
from holdfast.tools.ask_user import NOBODY, UserQuestion, UserReply


class Approvals(Protocol):
    """**Contract:** None where nobody can decide it now."""

    async def decide(self, asked: DecisionRequested) -> DecisionMade | None: ...

    def how(self, asked: DecisionRequested) -> str:
        """How a person gets it decided, for a hint."""
        ...


class AutoApprovals(Struct, frozen=True):
    """Every design is approved, and it goes on after a crash and with summaries by rule; questions stay open, and
    agents see them."""

    async def decide(self, asked: DecisionRequested) -> DecisionMade | None:
        if asked.about in ("design", "summary", "uncertain"):
            return DecisionMade(asked.id, "approve", by="the policy `auto`")
        return None

    def how(self, asked: DecisionRequested) -> str:
        if asked.about == "blocked":
            return "make it possible, with a rule of `--allow` where it is a command, and go on with `--continue`"
        return "go on with `--continue --approve ask`"


class _FileAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    answer: Answer
    words: str = ""


class _FileRequest(Struct, frozen=True):
    """What is asked, and how it is answered."""

    id: str
    about: str
    text: str
    files: tuple[str, ...]
    answer_to: str
    answers: tuple[str, ...]


class FileApprovals(Struct, frozen=True):
    """`ID.json` in a folder holds `{"answer": "approve"}` or `{"answer": "reject", "words": "why"}`, for a question
    `{"answer": "say", "words": "the answer"}`; what is asked stands beside it in `ID.request.json`."""

    folder: Path

    async def decide(self, asked: DecisionRequested) -> DecisionMade | None:
        file = self._file(asked)
        self._ask(asked)
        try:
            given = msgspec.json.decode(file.read_bytes(), type=_FileAnswer)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"the decision {file} cannot be read: {error.strerror}") from None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise self._wrong(asked, str(error)) from None
        if given.answer not in asked.answers:
            raise self._wrong(asked, f"`{given.answer}` is no answer about a {asked.about}")
        if given.answer == "say" and not given.words.strip():
            raise self._wrong(asked, "`words` are missing")
        if why := too_long(given.words):
            raise self._wrong(asked, why)
        return DecisionMade(asked.id, given.answer, given.words, by="a file")

    def how(self, asked: DecisionRequested) -> str:
        return f"write {_forms(asked)} to `{self._file(asked)}`, then go on with `--continue`"

    def _file(self, asked: DecisionRequested) -> Path:
        return self.folder / f"{asked.id}.json"

    def _wrong(self, asked: DecisionRequested, why: str) -> InputError:
        return InputError(f"{self._file(asked)} holds no decision: {why}", hint=f"write {_forms(asked)}")

    def _ask(self, asked: DecisionRequested) -> None:
        file = str(self._file(asked))
        value = _FileRequest(asked.id, asked.about, asked.text, asked.files, file, asked.answers)
        request = msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            replace_file(self.folder / f"{asked.id}.request.json", request)
        except OSError as error:
            raise InputError(f"{self.folder} cannot be written: {error.strerror}") from None


def _forms(asked: DecisionRequested) -> str:
    if asked.wants_words:
        return '{"answer": "say", "words": "…"}'
    return '{"answer": "approve"} or {"answer": "reject", "words": "…"}'


# What a person decides about a pair: asked here, all of it, and kept in the journal.
#
# Rule: what is asked stands in the journal before anybody is asked, and what was decided is not asked again. What
# waits is asked again whenever the work is gone on with.


class Decisions:
    def __init__(self, journal: PairJournal, approvals: Approvals) -> None:
        self.journal = journal
        self.approvals = approvals

    async def ask(self, asked: DecisionRequested, *, anew: bool = False) -> DecisionMade | None:
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
        asked = {one.id: one for one in (*map(question_request, questions), *self._waiting("question"))}
        given = [id_ for id_, one in asked.items() if id_ not in before and await self.ask(one)]
        return bool(given)

    async def resume(self) -> None:
        """What waits is asked again when the work is gone on with. An agent that was blocked, and gets no answer,
        tries again where it may do something else now, or where nobody will ever be asked."""
        await self.ask_all()
        tries = isinstance(self.approvals, AutoApprovals) or self.journal.state.is_regranted
        for asked in self._waiting("blocked"):
            if await self.ask(asked) is None and tries:
                self.go_on(asked)

    def go_on(self, asked: DecisionRequested) -> None:
        """Without an answer."""
        self.journal.append(DecisionMade(asked.id, "approve", by=GOING_ON))

    def take_up(self, role: str) -> None:
        """Whoever goes on with an agent that stopped for want of room, or of a summary, has decided to."""
        for asked in self._waiting("overflow", "summary"):
            if f"{asked.id.rpartition('_')[0]}_" in (overflow_prefix(role), summary_prefix(role)):
                self.go_on(asked)

    def waits(self, asked: DecisionRequested, sentence: str) -> PairOutcome:
        return PairOutcome("ask", sentence, self.approvals.how(asked))

    def with_open(self, outcome: PairOutcome) -> PairOutcome:
        """An outcome whose hint says too how questions are answered that nobody answered."""
        hints = [
            f"`{one.id}` is an open question: {self.approvals.how(one)}" for one in self._waiting("question")
        ]
        if not hints:
            return outcome
        return PairOutcome(
            outcome.reason,
            outcome.sentence,
            "; ".join(filter(None, (outcome.hint, hints[0]))),
            outcome.evidence,
            outcome.ended,
        )

    def _waiting(self, *about: str) -> list[DecisionRequested]:
        return [one for one in self.journal.state.pending.values() if one.about in about]


class DecisionRespondent:
    """Who answers AskUser: whoever decides about the pair."""

    def __init__(self, decisions: Decisions) -> None:
        self._decisions = decisions

    async def answer(self, questions: Sequence[UserQuestion]) -> Sequence[UserReply]:
        return [await self._reply(one) for one in questions]

    async def _reply(self, one: UserQuestion) -> UserReply:
        labels = [option.label for option in one.options]
        decision = await self._decisions.ask(question_request(f"{one.question} ({' | '.join(labels)})"))
        if decision is None:
            return UserReply(by=NOBODY)
        words = answer_of(decision)
        parts = tuple(part.strip() for part in words.split(",")) if one.multiple else ()
        return UserReply(parts if parts and {*parts} <= {*labels} else (words,))


def question_request(text: str) -> DecisionRequested:
    """A question of an agent: the same words are the same question."""
    return DecisionRequested(f"q{sha256(text.encode()).hexdigest()[:11]}", "question", text)


def blocked_request(role: str, questions: Sequence[str]) -> DecisionRequested:
    """What a role asks that cannot go on without an answer: the same words are the same question."""
    text = " ".join(questions)
    return DecisionRequested(f"b_{role}_{sha256(text.encode()).hexdigest()[:11]}", "blocked", text)


def overflow_prefix(role: str) -> str:
    """How ids begin of what is asked where a role's window is too small."""
    return f"o_{role}_"


def summary_prefix(role: str) -> str:
    """And where no model wrote a summary of it."""
    return f"s_{role}_"
