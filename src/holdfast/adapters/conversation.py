"""A conversation that a framework keeps as a list of messages, packed by a session of ours.

Rule: the log follows the list. What the list has more is recorded; where the two differ, the log is rewound to
there, so that an edited, shortened or restored list gives the pack of what it says now.
"""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from threading import Lock
from typing import Generic, Protocol, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from holdfast.errors import InputError
from holdfast.events import (
    AssistantReplied,
    Event,
    OverflowReported,
    SystemSet,
    ToolReturned,
    ToolsSet,
    UserSaid,
)
from holdfast.ids import text_id
from holdfast.log import is_log_id
from holdfast.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    Thinking,
    ToolDefinition,
    ToolMessage,
    Usage,
    UserMessage,
)
from holdfast.models.errors import redacted_line
from holdfast.packing.profile import Profile
from holdfast.sender import Provider
from holdfast.session import Session
from holdfast.session_settings import choose_profile, open_store
from holdfast.store import Store
from holdfast.views import path

M = TypeVar("M")
Turn = UserSaid | AssistantReplied | ToolReturned
"""What a message of a conversation is in the log."""
MOST_OPEN = 64
"""How many conversations are kept open at once; the others are opened again from their logs."""


class Translation(Protocol[M]):
    """How a framework's messages are read, and ours written as its own."""

    def read(self, messages: Sequence[M]) -> Iterator[tuple[Sequence[M], list[Event]]]:
        """Messages with the events they are: one at a time, or together where they are one reply."""

    def write(self, message: Message) -> list[M]:
        """A message that the framework does not have: a note of a fold, or one that was shortened."""


class PackedConversation(Struct, Generic[M], frozen=True):
    """What to send: the framework's own messages wherever they are sent as they were."""

    system: str
    messages: list[M]
    tokens: int


class FrameworkConversation(Generic[M]):
    """One conversation. It may be used from several threads, one after the other."""

    def __init__(
        self, session: Session, translation: Translation[M], *, compares_thinking: bool = True
    ) -> None:
        self.session = session
        self._translation = translation
        self._compares_thinking = compares_thinking
        self._lock = Lock()
        self._known = self._turns_in_log()
        self._usage: tuple[Usage, str] | None = None

    def pack(
        self, messages: Sequence[M], *, system: str = "", tools: Sequence[ToolDefinition] = ()
    ) -> PackedConversation[M]:
        """The list as it is to be sent now, after a fold where one is due."""
        with self._lock:
            originals = self._follow(messages, system, tuple(tools))
            packed = self.session.pack()
        sent = packed.pack.messages
        prompt = "\n\n".join(m.text for m in sent if isinstance(m, SystemMessage))
        rest = [message for message in sent if not isinstance(message, SystemMessage)]
        return PackedConversation(prompt, self._written(rest, originals), packed.tokens)

    def follow(
        self, messages: Sequence[M], *, system: str = "", tools: Sequence[ToolDefinition] = ()
    ) -> None:
        """Record what the list has more than the log, without a pack."""
        with self._lock:
            self._follow(messages, system, tuple(tools))

    def record_reply(self, reply: AssistantReplied) -> None:
        """Record a reply that the list does not have yet."""
        with self._lock:
            self._catch_up()
            self._record([reply], len(self._known), start=len(self._known))

    def common_turns(self, messages: Sequence[M]) -> int:
        """How many turns of the log are those that the list begins with."""
        turns = [event for _, events in self._translation.read(messages) for event in events]
        with self._lock:
            return self._same_turns(turns)

    def report_usage(self, usage: Usage, model: str = "") -> None:
        """What the provider counted for the last request. It is recorded with the reply, once the list has that."""
        with self._lock:
            self._usage = (usage, model)

    def report_error(self, error: BaseException, *, is_overflow: bool = False) -> bool:
        """Whether the request was too long: then the next pack is smaller, and may be sent in place of this one.

        `is_overflow` is for frameworks with an exception of their own that says so.
        """
        with self._lock:
            if self.session.report(error):
                return True
            if is_overflow:
                self.session.record(OverflowReported(message=redacted_line(str(error))))
            return is_overflow

    def recall(self, arguments: dict[str, object] | str) -> str:
        """What the Recall tool answers."""
        with self._lock:
            return self.session.recall(arguments)

    def _follow(
        self, messages: Sequence[M], system: str, tools: tuple[ToolDefinition, ...]
    ) -> "list[_Original[M]]":
        self._catch_up()
        originals: list[_Original[M]] = []
        turns: list[Event] = []
        said = [system] if system else []
        place = 0
        for group, events in self._translation.read(messages):
            said += [event.text for event in events if isinstance(event, SystemSet)]
            found = [event for event in events if not isinstance(event, SystemSet)]
            turns += found
            own = [_message(event) for event in found if isinstance(event, Turn)]
            # A system message is sent as the prompt, so what holds one is never sent as it was.
            if own and len(own) == len(events):
                originals.append(_Original(group, [_key(message, place) for message in own]))
            place += len(group)
        same = self._same_turns(turns)
        if same < len(self._known):
            self.session.rewind(self._known[same].entry, reason="the list of messages changed")
            del self._known[same:]
        self._set_up("\n\n".join(said), tools)
        self._record(turns, same)
        return originals

    def _catch_up(self) -> None:
        """Take in what another process recorded of this conversation meanwhile."""
        window = self.session.window
        self.session.catch_up()
        if self.session.window is not window:
            self._known = self._turns_in_log()

    def _same_turns(self, events: Sequence[Event]) -> int:
        """How many turns of the log are those the list begins with."""
        turns = [event for event in events if isinstance(event, Turn)]
        pairs = zip(turns, self._known, strict=False)
        return sum(1 for _ in takewhile(lambda pair: self._is_same(*pair), pairs))

    def _is_same(self, given: Turn, known: "_KnownTurn") -> bool:
        if self._said(given) == self._said(known.turn):
            return True
        if not known.is_stored:
            return False
        stored = self.session.log.stored(given)
        assert isinstance(stored, Turn), "redaction keeps what an event is"
        if self._said(stored) != self._said(known.turn):
            return False
        # The next comparison is with what is given, which is not redacted.
        known.turn, known.is_stored = given, False
        return True

    def _said(self, turn: Turn) -> Message:
        """What of a turn is compared."""
        message = _message(turn)
        if self._compares_thinking or not isinstance(message, AssistantMessage):
            return message
        return AssistantMessage(tuple(part for part in message.parts if not isinstance(part, Thinking)))

    def _set_up(self, system: str, tools: tuple[ToolDefinition, ...]) -> None:
        known = self.session.window.transcript
        for given, stored in (
            (SystemSet(system), SystemSet(known.system)),
            (ToolsSet(tools), ToolsSet(known.tools)),
        ):
            # What the log has is redacted.
            if given != stored and self.session.log.stored(given) != stored:
                self.session.record(given)

    def _record(self, events: Sequence[Event], known: int, start: int = 0) -> None:
        """Record what comes after the turns that are known, with remarks; all or none.

        `start` is the number of turns before the first event.
        """
        new: list[Event] = []
        at = start
        for event in events:
            if isinstance(event, Turn):
                at += 1
            if at > known:
                new.append(self._with_usage(event))
        entries = self.session.record(*new)
        self._known += [
            _KnownTurn(given, entry.id, is_stored=False)
            for given, entry in zip(new, entries, strict=True)
            if isinstance(given, Turn)
        ]

    def _with_usage(self, event: Event) -> Event:
        if not isinstance(event, AssistantReplied) or event.usage or not self._usage:
            return event
        (usage, model), self._usage = self._usage, None
        return replace(event, usage=usage, model=event.model or model)

    def _turns_in_log(self) -> "list[_KnownTurn]":
        entries = path(self.session.log.entries())
        return [_KnownTurn(e.event, e.id, is_stored=True) for e in entries if isinstance(e.event, Turn)]

    def _written(self, sent: Sequence[Message], originals: "Sequence[_Original[M]]") -> list[M]:
        """Our messages as the framework's: its own where all of one is sent as it was."""
        keys = [_key(message) for message in sent]
        by_first: dict[bytes, list[_Original[M]]] = {}
        for original in reversed(originals):
            by_first.setdefault(original.keys[0], []).append(original)
        written: list[M] = []
        at = 0
        while at < len(sent):
            candidates = by_first.get(keys[at], [])
            found = next((o for o in reversed(candidates) if keys[at : at + len(o.keys)] == o.keys), None)
            if found is None:
                written += self._translation.write(sent[at])
                at += 1
                continue
            # Each stands for itself once: of equal messages the first is the first.
            candidates.remove(found)
            written += found.group
            at += len(found.keys)
        return written


class FrameworkConversations(Generic[M]):
    """The conversations of one store, by the names that a framework gives them."""

    def __init__(
        self,
        translation: Translation[M],
        *,
        budget: int | str | None = None,
        profile: str | Profile = "code",
        model: str = "",
        store: Store | Path | str | None = None,
        to: Provider = "openai",
    ) -> None:
        self._translation = translation
        self._profile = choose_profile(profile, budget)
        self._model = model
        self._to: Provider = to
        self.store = open_store(store)
        self._open: dict[str, FrameworkConversation[M]] = {}
        self._lock = Lock()

    def get(self, name: str) -> FrameworkConversation[M]:
        """The conversation of this name: opened from its log if the store has one, else begun."""
        log = name if is_log_id(name) else f"conversation-{text_id(name)[1:]}"
        with self._lock:
            found = self._open.pop(log, None) or self._started(log)
            self._open[log] = found
            for oldest in [*self._open][: len(self._open) - MOST_OPEN]:
                del self._open[oldest]
        return found

    def _started(self, log: str) -> FrameworkConversation[M]:
        session = Session(
            profile=self._profile, tools=None, model=self._model, to=self._to, store=self.store, log=log
        )
        return FrameworkConversation(session, self._translation)

    def close(self) -> None:
        self.store.close()


class _KnownTurn:
    """A turn in the log: as it is stored, or as the list gave it."""

    def __init__(self, turn: Turn, entry: str, *, is_stored: bool) -> None:
        self.turn = turn
        self.entry = entry
        self.is_stored = is_stored


class _Original(Struct, Generic[M], frozen=True):
    """Messages of the framework, and the keys of ours that they are."""

    group: Sequence[M]
    keys: list[bytes]


def _message(turn: Turn) -> Message:
    """What of a turn is in the list: not its usage, nor what a log knows besides."""
    match turn:
        case UserSaid(parts=parts):
            return UserMessage(parts)
        case AssistantReplied(parts=parts):
            return AssistantMessage(parts)
        case ToolReturned():
            return ToolMessage(turn.call_id, turn.name, turn.parts, turn.error)


def _key(message: Message, place: int = 0) -> bytes:
    """The message as bytes. Raises InputError where JSON cannot hold it; `place` is that of the list's message."""
    try:
        return msgspec.json.encode(message)
    except (TypeError, UnicodeEncodeError) as error:
        raise InputError(
            f"message {place} holds something that JSON cannot: {error}",
            hint="texts are Unicode without lone surrogates, and arguments are plain JSON",
        ) from None
