"""Conversations of clients: which log a request continues, and what may be done to its requests.

Rule: a client needs no help to be told apart. A conversation keeps its mode across restarts: it is in the log, and
so is every change of it, with the reason.
"""

import time
from collections.abc import Sequence
from threading import Condition, Lock

import msgspec
from msgspec import Struct

from holdfast.events import Entry, Event, LogStarted, Noted, ToolReturned
from holdfast.followed_conversations import FollowedConversation, drop_oldest
from holdfast.gateway.cache_watch import CacheWatch
from holdfast.gateway.client_requests import ClientRequest
from holdfast.gateway.exchange import PassedExchange
from holdfast.gateway.replacements import SHORTEST_RESULT, result_key
from holdfast.gateway.result_texts import ResultText, last_reply
from holdfast.gateway.settings import MODES, GatewaySettings, Mode
from holdfast.gateway.text_files import TextFiles
from holdfast.ids import text_id
from holdfast.log import Log, new_log_id
from holdfast.messages import Json, joined_text
from holdfast.models.catalogue import ModelEntry, ModelLookup
from holdfast.models.errors import redacted_line
from holdfast.packing.profile import BUILT_IN, Profile
from holdfast.session import Session
from holdfast.session_settings import SESSION, SessionSettings, kept_settings
from holdfast.store import Store
from holdfast.store.encoding import decode_entry
from holdfast.store_places import PostgresPlace
from holdfast.tokenizers import counter_for_model
from holdfast.wire.foreign_json import count, obj
from holdfast.wire.translation import WireTranslation

GATEWAY = "gateway"
"""The source of the gateway's logs, and the key of their meta under which it says whose they are."""
MODE = "mode"
"""The kind of the remark that says to which mode a conversation changed, and why."""
REQUEST = "request"
"""The kind of the remark that says of each request in which mode it passed, and what was done to it."""
RECORDING_SECONDS = 2.0
"""How long a request waits for the recording of the one before: far less than it may wait to be changed."""
MOST_OPEN = 16
"""Conversations kept open; the others are opened again from their logs."""
MOST_ALIKE = 8
"""Conversations of clients that say nothing of their sessions, of those that begin alike, that are looked at."""


class ConversationMode(Struct, frozen=True):
    """`is_settled`: no setting of the gateway changes it any more. `undoes_replacements`: what was replaced before
    is sent whole again, because the provider refused it otherwise."""

    mode: Mode = "watch"
    is_settled: bool = False
    undoes_replacements: bool = False
    why: str = ""


class ClientConversation:
    """One conversation of a client, with its log."""

    def __init__(self, followed: FollowedConversation[Json]) -> None:
        self.followed = followed
        self._passed: dict[str, float] = {}
        self.read_log()
        self.model = ""
        self.entry: ModelEntry | None = None
        """What is known of the model."""
        self.cache = CacheWatch()
        self.is_suspended = False
        """Whether requests go as they come until it is known how the provider took the last one that way."""
        self._sizes: list[tuple[int, int]] = []
        self._unrecorded = 0
        self._recorded = Condition()

    def read_log(self) -> None:
        """Take in what the log says, which another gateway may have written."""
        self._times_caught_up = self.followed.times_caught_up
        entries = self.followed.session.log.entries()
        modes = _modes(entries)
        self.state = modes[-1]
        self.keeps_replacements = _meta(entries[0].event).get("continued") is True or any(
            mode.mode == "safe" for mode in modes
        )
        """Whether results that were ever replaced are replaced here too: they were, here or in a session that this
        one continues. A session that was only ever watched may have sent the same result whole."""
        self.tokens_removed = _removed_last(entries)
        """Tokens that the last request had less than the client's."""
        for key, at in _results_passed(entries).items():
            self._passed[key] = min(at, self._passed.get(key, at))

    def wait_for_other_gateway(self, messages: Sequence[Json]) -> None:
        """Wait until the gateway that answered before has recorded what it answered, which a client sends back at
        once. One that does not in time, because it was killed, is not waited for."""
        if not isinstance(self.followed.session.store.place, PostgresPlace):
            return
        until = time.monotonic() + RECORDING_SECONDS
        while self.followed.lacks_reply(messages) and time.monotonic() < until:
            time.sleep(0.02)
        if self.followed.times_caught_up != self._times_caught_up:
            self.read_log()

    def begin_request(self) -> None:
        """Wait until the request before is recorded: a client sends back its reply, and where the client's copy is
        recorded first, the reply itself is taken for another one. One that takes too long is not waited for."""
        with self._recorded:
            self._recorded.wait_for(lambda: not self._unrecorded, RECORDING_SECONDS)
            self._unrecorded = 1

    def end_request(self) -> None:
        """A request is recorded, or will never be."""
        with self._recorded:
            self._unrecorded = 0
            self._recorded.notify_all()

    def was_sent_whole(self, result: ResultText, replaced_at: float | None = None) -> bool:
        """Whether a result was sent here before it was first replaced, which another session may have done, or
        was sent at all."""
        passed = self._passed.get(result_key(result.call_id, result.text))
        return passed is not None and (replaced_at is None or passed < replaced_at)

    def sends_whole(self, result: ResultText, at: float) -> None:
        self._passed.setdefault(result_key(result.call_id, result.text), at)

    def tokens_of(self, raw: Sequence[bytes]) -> int:
        """Tokens of the client's messages. Lists mostly grow: a message of the same length at the same place is
        taken for the same, and not counted again."""
        del self._sizes[len(raw) :]
        counter = counter_for_model(self.model)
        for place, message in enumerate(raw):
            if place < len(self._sizes) and self._sizes[place][0] == len(message):
                continue
            size = len(message), counter.text(message.decode("utf-8", "replace"))
            self._sizes[place : place + 1] = [size]
        return sum(tokens for _, tokens in self._sizes)

    @property
    def log(self) -> str:
        return self.followed.session.log.id

    @property
    def mode(self) -> Mode:
        return self.state.mode

    def change_mode(self, state: ConversationMode) -> None:
        self.state = state
        self.keeps_replacements = self.keeps_replacements or state.mode == "safe"
        about = {"settled": state.is_settled, "whole": state.undoes_replacements, "why": state.why}
        self.followed.record_remark(Noted(MODE, state.mode, about))

    def suspend(self) -> None:
        """Change nothing until it is known what became of a request."""
        self.is_suspended = True

    def switch_off(self, why: str, *, undoes_replacements: bool = False) -> None:
        """Change nothing more in this conversation."""
        if not (self.state.is_settled and self.state.mode == "watch"):
            self.change_mode(ConversationMode("watch", True, undoes_replacements, redacted_line(why)))


class ClientConversations:
    """Finds the conversation that a request continues, by what the client calls its session and by its messages.
    May be used from several threads."""

    def __init__(
        self, store: Store, settings: GatewaySettings, files: TextFiles, lookup: ModelLookup
    ) -> None:
        self._store = store
        self._settings = settings
        self._files = files
        self._lookup = lookup
        self._lock = Lock()
        self._open: dict[str, ClientConversation] = {}
        self._known: dict[str, _Identity] = {}
        self._learn()

    def _learn(self) -> None:
        """Take in the conversations of the store that are not known yet."""
        for log in (info.head.id for info in self._store.logs() if info.head.source == GATEWAY):
            if log not in self._known and (started := _started(self._store, log)):
                self._known[log] = _Identity.read(started)

    def find(self, request: ClientRequest, exchange: PassedExchange) -> ClientConversation:
        with self._lock:
            return self._find(request, exchange)

    def _find(self, request: ClientRequest, exchange: PassedExchange) -> ClientConversation:
        wanted = _Identity.of(request)
        log = self._continued(wanted, request)
        if log is None:
            # Another process may have begun it.
            self._learn()
            log = self._continued(wanted, request) or self._begin(wanted, request, exchange)
        # The newest is last.
        self._known[log] = self._known.pop(log)
        found = self._conversation(log, request)
        mode = self._settings.mode
        if mode != found.mode == "watch" and not found.state.is_settled:
            found.change_mode(ConversationMode(mode, why="asked for when the gateway was started"))
        return found

    def _continued(self, wanted: "_Identity", request: ClientRequest) -> str | None:
        """The log that a request continues; None if there is none."""
        alike = [log for log, known in self._known.items() if known.fits(wanted)]
        same = [log for log in alike if self._known[log].first == wanted.first]
        if not wanted.session:
            # Two sessions may begin with the same words.
            same = [
                log
                for log in same[-MOST_ALIKE:]
                if not self._conversation(log, request).followed.goes_another_way(request.readable)
            ]
        elif not same and request.is_continued:
            # The client summarized: its list begins again, but it is the same session.
            # Its sub-agents have the same name, and shorter logs.
            same = sorted(alike, key=lambda log: self._store.info(log).entries)[-1:]
        if len(same) > 1:
            same.sort(
                key=lambda log: self._conversation(log, request).followed.common_turns(request.readable)
            )
        return same[-1] if same else None

    def _begin(self, identity: "_Identity", request: ClientRequest, exchange: PassedExchange) -> str:
        log = new_log_id()
        # What a client continues may have been changed under another name, and must stay so.
        is_continued = last_reply(request.readable, request.format) is not None
        is_control = _chance(log) < self._settings.control and not is_continued
        mode: Mode = "watch" if is_control else self._settings.mode
        settings = SessionSettings(self._profile(request.model), request.model, request.format)
        client = exchange.headers.get("user-agent", "").partition(" ")[0]
        about = {"client": client, "model": request.model, "mode": mode, "control": is_control}
        about["continued"] = is_continued
        meta = {GATEWAY: {**msgspec.to_builtins(identity), **about}, SESSION: kept_settings(settings)}
        Log.create(self._store, id=log, title=request.title, source=GATEWAY, meta=meta, at=exchange.at)
        self._known[log] = identity
        return log

    def _conversation(self, log: str, request: ClientRequest) -> ClientConversation:
        found = self._open.pop(log, None)
        if found is None:
            profile = self._profile(request.model)
            session = Session(
                profile=profile,
                tools=None,
                model=request.model,
                to=request.format,
                store=self._store,
                log=log,
            )
            # Clients leave out what a model thought, or send it otherwise.
            followed = FollowedConversation(
                session,
                WireTranslation(request.format),
                compares_thinking=False,
                hint=self._files.retrieval_hint,
            )
            found = ClientConversation(followed)
        found.model, found.entry = request.model, self._lookup(request.model)
        self._open[log] = found
        drop_oldest(self._open, MOST_OPEN)
        return found

    def _profile(self, model: str) -> Profile:
        """The profile `code` in the budget, or in the model's window, at the model's prices."""
        entry = self._lookup(model)
        profile = BUILT_IN["code"]
        if self._settings.budget:
            profile = profile.scaled_to(self._settings.budget)
        elif entry is not None:
            profile = profile.for_model(entry.window)
        return profile


class _Identity(Struct, frozen=True):
    """What tells conversations of clients apart. A request without tools, such as one for a title, is never a part
    of a conversation with tools."""

    format: str
    session: str
    first: str
    has_tools: bool

    @classmethod
    def of(cls, request: ClientRequest) -> "_Identity":
        first = next(iter(request.user_texts), "")
        return cls(request.format, request.session, text_id(first), bool(request.tools))

    @classmethod
    def read(cls, started: LogStarted) -> "_Identity":
        """Whose log it is, as its first entry says."""
        try:
            return msgspec.convert(started.meta.get(GATEWAY), cls)
        except msgspec.ValidationError:
            return cls("", "", "", False)

    def fits(self, other: "_Identity") -> bool:
        return (self.format, self.session, self.has_tools) == (other.format, other.session, other.has_tools)


def _started(store: Store, log: str) -> LogStarted | None:
    page = store.read(log, 0, 1)
    event = decode_entry(page.rows[0], page.texts).event if page.rows else None
    return event if isinstance(event, LogStarted) else None


def _meta(started: Event) -> dict[str, Json]:
    """What the first entry of a log says of its conversation."""
    return obj(started.meta.get(GATEWAY)) if isinstance(started, LogStarted) else {}


def _mode_at_start(started: Event) -> ConversationMode:
    given = _meta(started)
    mode: Mode = next((mode for mode in MODES if mode == given.get("mode")), "watch")
    return ConversationMode(mode, is_settled=given.get("control") is True)


def _modes(entries: Sequence[Entry]) -> list[ConversationMode]:
    """The modes that a log says its conversation was in, one after the other."""
    modes = [_mode_at_start(entries[0].event)]
    for entry in entries:
        event = entry.event
        if isinstance(event, Noted) and event.kind == MODE:
            about = event.data
            mode: Mode = next((mode for mode in MODES if mode == event.text), "watch")
            why = str(about.get("why", ""))
            modes.append(
                ConversationMode(mode, about.get("settled") is True, about.get("whole") is True, why)
            )
    return modes


def _removed_last(entries: Sequence[Entry]) -> int:
    """The tokens that were removed from the last request."""
    accounts = (e.event for e in reversed(entries) if isinstance(e.event, Noted) and e.event.kind == REQUEST)
    return next((count(account.data.get("removed")) for account in accounts), 0)


def _results_passed(entries: Sequence[Entry]) -> dict[str, float]:
    """When the results of a log were first recorded, which is after they were sent, by the keys of replacements.
    Where a client gives its calls no ids, their names stand for them."""
    found: dict[str, float] = {}
    for entry in entries:
        event = entry.event
        if isinstance(event, ToolReturned) and len(text := joined_text(event.parts)) >= SHORTEST_RESULT:
            for call in (event.call_id, event.name):
                found.setdefault(result_key(call, text), entry.at or 0.0)
    return found


def _chance(log: str) -> float:
    """A number from 0 to 1 that is always the same for a log."""
    return int.from_bytes(text_id(log).encode()[-4:], "big") % 1_000 / 1_000
