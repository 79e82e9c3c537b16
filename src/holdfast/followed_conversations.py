"""A conversation that a framework or a client keeps as a list of messages, followed by a log of ours.

Rule: the log follows the list. What the list has more is recorded; where the two differ, the log is rewound to
there, so that an edited, shortened or restored list gives the pack of what it says now.
"""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from threading import Lock
from typing import Generic, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from holdfast.events import (
    AssistantReplied,
    Entry,
    Event,
    Folded,
    Noted,
    OverflowReported,
    SystemSet,
    ToolReturned,
    ToolsSet,
)
from holdfast.ids import text_id
from holdfast.log import is_log_id
from holdfast.messages import (
    Message,
    SystemMessage,
    ToolDefinition,
    Usage,
)
from holdfast.models.errors import redacted_line
from holdfast.packing.layers import Cut, Pack
from holdfast.packing.pack import pack
from holdfast.packing.profile import Profile
from holdfast.packing.rendering.marks import RetrievalHint, without_recall
from holdfast.recall import RECALL_TOOL
from holdfast.sender import Provider
from holdfast.session import Session
from holdfast.session_settings import choose_profile, chosen_store
from holdfast.store import Store
from holdfast.views import path
from holdfast.wire.followed_lists import FollowedList, Turn, turn_message, without_thinking

M = TypeVar("M")
V = TypeVar("V")
MOST_OPEN = 64
"""How many conversations are kept open at once; the others are opened again from their logs."""


class Translation(Protocol[M]):
    """How a framework's messages are read, and ours written as its own."""

    def read(self, messages: Sequence[M]) -> Iterator[tuple[Sequence[M], list[Event]]]:
        """Messages with the events they are: one at a time, or together where they are one reply."""

    def write(self, message: Message) -> list[M]:
        """A message that the framework does not have: a note of a fold, or one that was shortened."""


class PackedConversation(Struct, Generic[M], frozen=True):
    """What to send: the list's own messages wherever they are sent as they were. For a client also what was cut,
    the fold that was made, how long the list was at the newest fold, and how many of its messages say nothing that
    a log could hold."""

    system: str
    messages: list[M]
    tokens: int
    cuts: tuple[Cut, ...] = ()
    fold: Folded | None = None
    folded_at: int = 0
    unread: int = 0


class FollowedConversation(Generic[M]):
    """One conversation. It may be used from several threads, one after the other."""

    def __init__(
        self,
        session: Session,
        translation: Translation[M],
        *,
        compares_thinking: bool = True,
        hint: RetrievalHint | None = None,
    ) -> None:
        self.session = session
        self._translation = translation
        self._compares_thinking = compares_thinking
        self._hint = hint
        """How the reader of a mark gets the text; None for Recall, where it is among the tools."""
        self._lock = Lock()
        self._known: list[_KnownTurn] = []
        self._folded_turns = 0
        """How many turns there were when the newest fold was made."""
        self.times_caught_up = 0
        """How often there was something that another process had recorded."""
        self._read_log()
        self._usage: tuple[Usage, str] | None = None

    def pack(
        self, messages: Sequence[M], *, system: str = "", tools: Sequence[ToolDefinition] = ()
    ) -> PackedConversation[M]:
        """The list as it is to be sent now, after a fold where one is due."""
        with self._lock:
            followed = self._follow(messages, system, tuple(tools))
            packed = self.session.pack().pack
        return self._packed(packed, packed.messages, followed)

    def pack_for_client(
        self, messages: Sequence[M], *, system: str, tools: Sequence[ToolDefinition], may_fold: bool
    ) -> PackedConversation[M]:
        """The same for a client with reminders of its own: without the tail, which would move at every request."""
        with self._lock:
            followed = self._follow(messages, system, tuple(tools))
            fold = self.session.make_room() if may_fold else None
            self._folded_turns = len(self._known) if fold else self._folded_turns
            packed = pack(self.session.window.view())
            folded_at = followed.length_at(self._folded_turns)
        sent = [message for layer in packed.layers if layer.name != "tail" for message in layer.messages]
        return replace(
            self._packed(packed, sent, followed),
            cuts=packed.cuts,
            fold=fold,
            folded_at=folded_at,
            unread=followed.unread,
        )

    def _packed(
        self, packed: Pack, sent: Sequence[Message], followed: FollowedList[M]
    ) -> PackedConversation[M]:
        prompt = "\n\n".join(m.text for m in sent if isinstance(m, SystemMessage))
        rest = [message for message in sent if not isinstance(message, SystemMessage)]
        has_recall = self._hint is None and any(tool.name == RECALL_TOOL.name for tool in packed.tools)

        def translate(message: Message) -> list[M]:
            return self._translation.write(message if has_recall else without_recall(message, self._hint))

        written = followed.write(rest, translate, compares_thinking=self._compares_thinking)
        return PackedConversation(prompt, written, packed.tokens)

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

    def record_remark(self, remark: Noted) -> None:
        """Record what no model reads."""
        with self._lock:
            self._catch_up()
            self.session.record(remark)

    def has_result(self, returned: ToolReturned) -> bool:
        """Whether the log has this result already."""
        with self._lock:
            return any(
                known.turn.call_id == returned.call_id and self._is_same(returned, known)
                for known in self._known
                if isinstance(known.turn, ToolReturned)
            )

    def common_turns(self, messages: Sequence[M]) -> int:
        """How many turns of the log are those that the list begins with."""
        turns = [event for _, events in self._translation.read(messages) for event in events]
        with self._lock:
            return self._same_turns(turns)

    def lacks_reply(self, messages: Sequence[M]) -> bool:
        """Whether the list goes on from the log with a reply that the log does not have yet."""
        turns = [event for _, events in self._translation.read(messages) for event in events]
        turns = [event for event in turns if isinstance(event, Turn)]
        with self._lock:
            self._catch_up()
            same = self._same_turns(turns)
            return same == len(self._known) and any(isinstance(t, AssistantReplied) for t in turns[same:])

    def goes_another_way(self, messages: Sequence[M]) -> bool:
        """Whether the list has none of the log's replies. One alone does not count: clients send it back otherwise
        than it came, or ask once more."""
        turns = [event for _, events in self._translation.read(messages) for event in events]
        with self._lock:
            replies = [at for at, known in enumerate(self._known) if isinstance(known.turn, AssistantReplied)]
            return len(replies) > 1 and self._same_turns(turns) <= replies[0]

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
    ) -> FollowedList[M]:
        self._catch_up()
        followed: FollowedList[M] = FollowedList()
        for group, events in self._translation.read(messages):
            followed.add(group, events)
        same = self._same_turns(followed.events)
        if same < len(self._known):
            self.session.rewind(self._known[same].entry, reason="the list of messages changed")
            del self._known[same:]
            self._folded_turns = self._turns_at_fold(path(self.session.log.entries()))
        prompts = [system, *followed.prompts] if system else followed.prompts
        self._set_up("\n\n".join(prompts), tools)
        self._record(followed.events, same)
        return followed

    def _catch_up(self) -> None:
        """Take in what another process recorded of this conversation meanwhile."""
        window = self.session.window
        self.session.catch_up()
        if self.session.window is not window:
            self.times_caught_up += 1
            self._read_log()

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
        message = turn_message(turn)
        return message if self._compares_thinking else without_thinking(message)

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

    def _read_log(self) -> None:
        entries = path(self.session.log.entries())
        self._known = [
            _KnownTurn(e.event, e.id, is_stored=True) for e in entries if isinstance(e.event, Turn)
        ]
        self._folded_turns = self._turns_at_fold(entries)

    @staticmethod
    def _turns_at_fold(entries: Sequence[Entry]) -> int:
        turns = newest = 0
        for entry in entries:
            turns += isinstance(entry.event, Turn)
            newest = turns if isinstance(entry.event, Folded) else newest
        return newest


class FollowedConversations(Generic[M]):
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
        self.store = chosen_store(store)
        self._open: dict[str, FollowedConversation[M]] = {}
        self._lock = Lock()

    def get(self, name: str) -> FollowedConversation[M]:
        """The conversation of this name: opened from its log if the store has one, else begun."""
        log = name if is_log_id(name) else f"conversation-{text_id(name)[1:]}"
        with self._lock:
            found = self._open.pop(log, None) or self._started(log)
            self._open[log] = found
            drop_oldest(self._open, MOST_OPEN)
        return found

    def _started(self, log: str) -> FollowedConversation[M]:
        session = Session(
            profile=self._profile, tools=None, model=self._model, to=self._to, store=self.store, log=log
        )
        return FollowedConversation(session, self._translation)

    def close(self) -> None:
        self.store.close()


def drop_oldest(held: dict[str, V], most: int) -> None:
    """Remove the first of what is held until no more than `most` are left."""
    for name in [*held][: max(len(held) - most, 0)]:
        del held[name]


class _KnownTurn:
    """A turn in the log: as it is stored, or as the list gave it."""

    def __init__(self, turn: Turn, entry: str, *, is_stored: bool) -> None:
        self.turn = turn
        self.entry = entry
        self.is_stored = is_stored
