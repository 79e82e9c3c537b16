"""Asking a policy: whatever it answers, raises or returns is taken down as an `Answer`.

Rule: nothing that a policy does ends a replay.
"""

from contextlib import suppress
from time import perf_counter

from msgspec import Struct
from msgspec.structs import replace

from holdfast.errors import HoldfastError, InputError
from holdfast.messages import Json
from holdfast.replay.evidence.credit import Fetch
from holdfast.replay.policies.policy import Message, Plan, Policy, Sent, Task
from holdfast.replay.request import Said
from holdfast.replay.runs.packs import Inbox

LONGEST_FAULT = 160
FAULTS = (Exception, SystemExit, GeneratorExit)
"""Whatever a policy raises is a fact about it; only Ctrl-C is the user's."""


class Answer(Struct, frozen=True):
    """What a policy returned, as read; `fault` says why there is nothing to score."""

    pack: list[Said]
    sent: Sent
    seconds: float
    fault: str = ""


class Respondent:
    """A policy of a plan, started for one recording; or why it could not be."""

    def __init__(self, plan: Plan, task: Task) -> None:
        self._inbox = Inbox()
        self._policy: Policy | None = None
        self._absence = ""
        try:
            self._policy = plan.start(task)
        except FAULTS as error:
            self._absence = f"could not start: {_sentence(error)}"

    def ask(self, handed: list[Message], at: float | None) -> Answer:
        """What the policy would send. Before anything has happened there is nothing to ask."""
        if not handed:
            return Answer([], Sent([]), 0.0)
        if self._policy is None:
            return Answer([], Sent([]), 0.0, self._absence)
        began = perf_counter()
        try:
            answer: Json = self._policy.pack(handed, at)
            answer = _whole(answer)
        except FAULTS as error:
            return Answer([], Sent([]), perf_counter() - began, _sentence(error))
        seconds = perf_counter() - began
        try:
            pack, sent = self._inbox.read(answer)
        except InputError as error:
            return Answer([], Sent([]), seconds, str(error))
        return Answer(pack, sent, seconds)

    @property
    def fetch(self) -> Fetch | None:
        """How the policy's references are followed, if they can be; one that fails leads nowhere."""
        own = getattr(self._policy, "fetch", None)
        if not callable(own):
            return None

        def follow(id_: str) -> str | None:
            try:
                text = own(id_)
            except FAULTS:
                return None
            return text if isinstance(text, str) else None

        return follow

    def close(self) -> None:
        """Let go of what the policy holds open."""
        if callable(close := getattr(self._policy, "close", None)):
            with suppress(*FAULTS):
                close()


def _whole(answer: Json) -> Json:
    """The answer with its messages at hand: they may come lazily, and only when all are there is it one."""
    if isinstance(answer, Sent):
        return replace(answer, messages=_whole(answer.messages))
    return answer if isinstance(answer, list | str | dict | None) else list(answer)


def _sentence(error: BaseException) -> str:
    text = str(error).encode("utf-8", "replace").decode().strip().split("\n", 1)[0]
    kind = "" if isinstance(error, HoldfastError) else type(error).__name__
    return ": ".join(part for part in (kind, text) if part)[:LONGEST_FAULT] or "an error without a message"
