"""What a person decides about a pair: approvals of designs, answers to questions, and who gives them.

Rule: a request is in the journal before anybody is asked, and what was decided is not asked again. If nobody
decides, the work stops there and can be resumed. No agent can write an approval: the files of approvals are outside
the folder that agents work in.
"""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.pair.journal import PairJournal, PairOutcome
from holdfast.errors import InputError
from holdfast.pair.evaluation import IterationResults
from holdfast.pair.folder import replace_file
from holdfast.pair.phases import Answer, DecisionMade, DecisionRequested, too_long
from holdfast.pair.turn_texts import CONTINUED, answer_of
from holdfast.tools.ask_user import NOBODY, UserQuestion, UserReply


class DecisionMaker(Protocol):
    """Who decides. The terminal has its own. **Contract:** `decide` returns None if nobody can decide now."""

    async def decide(self, request: DecisionRequested) -> DecisionMade | None: ...

    def how_to_decide(self, request: DecisionRequested) -> str:
        """How a person can decide it, for a hint."""
        ...


class AutoDecisions(Struct, frozen=True):
    """Approves every design, and lets the work go on after a crash and with summaries by rule. Questions stay open;
    the agents see them."""

    async def decide(self, request: DecisionRequested) -> DecisionMade | None:
        if request.about in ("design", "summary", "uncertain") and not request.needs_person:
            return DecisionMade(request.id, "approve", by="the policy `auto`")
        return None

    def how_to_decide(self, request: DecisionRequested) -> str:
        if request.about == "blocked":
            return "make it possible (a command needs an `--allow` rule), then resume with `--continue`"
        return "resume with `--continue --approve ask`"


class _FileAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    answer: Answer
    words: str = ""


class FileDecisions(Struct, frozen=True):
    """Reads decisions from files. `ID.json` holds `{"answer": "approve"}` or `{"answer": "reject", "words":
    "why"}`, for a question `{"answer": "say", "words": "the answer"}`. `ID.request.json` beside it says what is
    asked."""

    folder: Path

    async def decide(self, request: DecisionRequested) -> DecisionMade | None:
        file = self._file(request)
        self._ask(request)
        try:
            given = msgspec.json.decode(file.read_bytes(), type=_FileAnswer)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"the decision {file} cannot be read: {error.strerror}") from None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise self._invalid(request, str(error)) from None
        if given.answer not in request.answers:
            raise self._invalid(request, f"`{given.answer}` is not an answer to a {request.about} request")
        if given.answer == "say" and not given.words.strip():
            raise self._invalid(request, "`words` are missing")
        if why := too_long(given.words):
            raise self._invalid(request, why)
        return DecisionMade(request.id, given.answer, given.words, by="a file")

    def how_to_decide(self, request: DecisionRequested) -> str:
        return f"write {_forms(request)} to `{self._file(request)}`, then resume with `--continue`"

    def _file(self, request: DecisionRequested) -> Path:
        return self.folder / f"{request.id}.json"

    def _invalid(self, request: DecisionRequested, why: str) -> InputError:
        return InputError(
            f"{self._file(request)} is not a valid decision: {why}", hint=f"write {_forms(request)}"
        )

    def _ask(self, request: DecisionRequested) -> None:
        """Write what is asked, and how to answer it."""
        asked = {name: getattr(request, name) for name in ("id", "about", "text", "files")}
        asked |= {"answer_to": str(self._file(request)), "answers": request.answers}
        data = msgspec.json.format(msgspec.json.encode(asked), indent=2) + b"\n"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            replace_file(self.folder / f"{request.id}.request.json", data)
        except OSError as error:
            raise InputError(f"{self.folder} cannot be written: {error.strerror}") from None


def _forms(request: DecisionRequested) -> str:
    if request.wants_words:
        return '{"answer": "say", "words": "…"}'
    return '{"answer": "approve"} or {"answer": "reject", "words": "…"}'


class Decisions(Struct, frozen=True):
    """Requests decisions and keeps them in the journal."""

    journal: PairJournal
    approvals: DecisionMaker

    async def ask(self, request: DecisionRequested, *, again: bool = False) -> DecisionMade | None:
        """What was decided: before, unless it is asked `again`, or now. None if nobody can decide it now."""
        state = self.journal.state
        if not again and (known := state.decided.get(request.id)):
            return known
        if request.id not in state.pending:
            self.journal.append(request)
        decision = await self.approvals.decide(request)
        if decision is not None:
            assert decision.answer in request.answers, (
                f"`{decision.answer}` is not an answer to `{request.about}`"
            )
            if why := too_long(decision.words):
                raise InputError(why)
            self.journal.append(decision)
        return decision

    async def ask_all(self, questions: Sequence[str] = ()) -> bool:
        """Ask these questions and all open ones; says whether one was answered. The agents do not wait for
        answers."""
        before = self.journal.state.decided
        requests = {one.id: one for one in (*map(question_request, questions), *self._open("question"))}
        return bool([id_ for id_, one in requests.items() if id_ not in before and await self.ask(one)])

    async def resume(self) -> None:
        """Ask again what is open, when the work is resumed. An agent that was blocked and gets no answer tries
        again if its permissions changed, or if nobody will ever be asked."""
        await self.ask_all()
        tries = isinstance(self.approvals, AutoDecisions) or self.journal.state.is_regranted
        for request in self._open("blocked"):
            if await self.ask(request) is None and tries:
                self.approve_unanswered(request)

    def approve_unanswered(self, request: DecisionRequested) -> None:
        """Let the work go on without an answer."""
        self.journal.append(DecisionMade(request.id, "approve", by=CONTINUED))

    def accept_resumption(self, role: str) -> None:
        """Resuming an agent that stopped because of its window or its summary is a decision to continue."""
        for request in self._open("overflow", "summary"):
            # Their ids have the step at the end; a role's name may contain underscores.
            if request.id.rpartition("_")[0] in (f"o_{role}", f"s_{role}"):
                self.approve_unanswered(request)

    def waits(self, request: DecisionRequested, sentence: str) -> PairOutcome:
        return PairOutcome("ask", sentence, self.approvals.how_to_decide(request))

    def with_open_questions(self, outcome: PairOutcome) -> PairOutcome:
        """The outcome, with a hint how open questions are answered."""
        for one in self._open("question"):
            hint = f"`{one.id}` is an open question: {self.approvals.how_to_decide(one)}"
            return replace(outcome, hint="; ".join(filter(None, (outcome.hint, hint))))
        return outcome

    def _open(self, *about: str) -> list[DecisionRequested]:
        return [one for one in self.journal.state.pending.values() if one.about in about]


class DecisionResponder(Struct, frozen=True):
    """Answers AskUser with the decisions about the pair."""

    decisions: Decisions

    async def answer(self, questions: Sequence[UserQuestion]) -> Sequence[UserReply]:
        return [await self._reply(one) for one in questions]

    async def _reply(self, one: UserQuestion) -> UserReply:
        labels = [option.label for option in one.options]
        decision = await self.decisions.ask(question_request(f"{one.question} ({' | '.join(labels)})"))
        if decision is None:
            return UserReply(by=NOBODY)
        words = answer_of(decision)
        parts = tuple(part.strip() for part in words.split(",")) if one.multiple else ()
        return UserReply(parts if parts and {*parts} <= {*labels} else (words,))


def question_request(text: str) -> DecisionRequested:
    """A question of an agent. The same words give the same id."""
    return DecisionRequested(f"q{sha256(text.encode()).hexdigest()[:11]}", "question", text)


def result_request(sentence: str, results: IterationResults) -> DecisionRequested:
    """Whether suspicious results are a success. The same results give the same id."""
    text = f"{sentence}, but: {'; '.join(results.suspicions)}. Count it as a success?"
    digest = sha256(f"{results.iteration} {text}".encode()).hexdigest()[:11]
    return DecisionRequested(f"r{digest}", "result", text)


def blocked_request(role: str, questions: Sequence[str]) -> DecisionRequested:
    """A question without whose answer a role cannot go on. The same words give the same id."""
    text = " ".join(questions)
    return DecisionRequested(f"b_{role}_{sha256(text.encode()).hexdigest()[:11]}", "blocked", text)
