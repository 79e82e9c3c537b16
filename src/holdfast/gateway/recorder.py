"""What passes the gateway, as logs: one for each conversation of a client.

Rule: recording happens in a thread of its own, after the bytes have passed. What cannot be recorded is counted and
noted, and costs no request.
"""

import logging
import queue
import re
import threading
from collections.abc import Sequence

import msgspec

from holdfast.adapters.conversation import FrameworkConversation
from holdfast.adapters.wire_lists import WireTranslation
from holdfast.events import LogStarted, Noted, UserSaid
from holdfast.gateway.client_requests import ClientRequest, read_request
from holdfast.gateway.exchange import PassedExchange
from holdfast.gateway.replies import plain_bytes, read_reply
from holdfast.ids import text_id
from holdfast.log import Log
from holdfast.messages import Json, joined_text
from holdfast.models.errors import redacted_line
from holdfast.packing.profile import BUILT_IN
from holdfast.session import Session
from holdfast.session_settings import SESSION, SessionSettings, kept_settings
from holdfast.store import Store
from holdfast.store.encoding import decode_entry

GATEWAY = "gateway"
"""The source of the gateway's logs, and the key of their meta under which it says whose they are."""
MOST_OPEN = 32
"""Conversations kept open; the others are opened again from their logs."""
MOST_WAITING = 512
"""Exchanges that may wait to be recorded; more are not recorded, and counted."""

_REMINDER = re.compile(r"<(system-reminder|environment_context)>.*?</\1>", re.DOTALL)
_log = logging.getLogger(__name__)


class TrafficRecorder:
    """Records exchanges in a store. **Contract:** `close` waits until all are recorded."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._conversations = ClientConversations(store)
        self._waiting: queue.Queue[PassedExchange | None] = queue.Queue(MOST_WAITING)
        self.missed = 0
        """How many exchanges could not be recorded."""
        self._thread = threading.Thread(target=self._work, name="holdfast recorder")
        self._thread.start()

    def __call__(self, exchange: PassedExchange) -> None:
        """Take an exchange. Never waits."""
        try:
            self._waiting.put_nowait(exchange)
        except queue.Full:
            self.missed += 1

    def close(self) -> None:
        self._waiting.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (exchange := self._waiting.get()) is not None:
            try:
                self.record(exchange)
            except Exception:  # Whatever it was, the next exchange is recorded.
                self.missed += 1
                _log.exception("an exchange could not be recorded")

    def record(self, exchange: PassedExchange) -> None:
        """Record an exchange: what is new in its request, and its reply."""
        assert exchange.route.format is not None, "an exchange without messages is not recorded"
        body = plain_bytes(exchange.body, exchange.body_encoding)
        request = read_request(body, exchange.route.format, exchange.headers)
        if request is None:
            return
        conversation = self._conversations.find(request, exchange)
        conversation.follow(request.messages, system=request.system, tools=request.tools)
        reply = read_reply(exchange, conversation.session.known_calls)
        if reply is not None:
            conversation.record_reply(reply)
        elif exchange.status != 200:
            said = redacted_line(exchange.reply[:4_000].decode("utf-8", "replace"))
            conversation.session.record(Noted("provider", f"HTTP {exchange.status}: {said}"))
        elif not exchange.is_whole:
            conversation.session.record(Noted("provider", "the client left before the reply was whole"))


class ClientConversations:
    """Finds the conversation that a request continues, by what the client calls its session and by its messages."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._open: dict[str, FrameworkConversation[Json]] = {}
        self._known: dict[str, _Identity] = {}
        for info in store.logs():
            if info.head.source == GATEWAY and (found := _identity(store, info.head.id)):
                self._known[info.head.id] = found

    def find(self, request: ClientRequest, exchange: PassedExchange) -> FrameworkConversation[Json]:
        wanted = _Identity.of(request)
        alike = [log for log, known in self._known.items() if known.fits(wanted)]
        same = [log for log in alike if self._known[log].first == wanted.first]
        if not same and request.is_continued:
            # The client summarized: its list begins anew, and its session goes on.
            same = alike[-1:]
        if len(same) > 1:
            same.sort(key=lambda log: self._conversation(log, request).common_turns(request.messages))
        log = same[-1] if same else self._begin(wanted, request, exchange)
        # The newest is last.
        self._known[log] = self._known.pop(log)
        return self._conversation(log, request)

    def _begin(self, identity: "_Identity", request: ClientRequest, exchange: PassedExchange) -> str:
        settings = SessionSettings(BUILT_IN["code"], request.model, request.format)
        client = exchange.headers.get("user-agent", "").partition(" ")[0]
        about = {**msgspec.to_builtins(identity), "client": client, "model": request.model, "mode": "watch"}
        meta = {GATEWAY: about, SESSION: kept_settings(settings)}
        log = Log.create(self._store, title=_title(request), source=GATEWAY, meta=meta, at=exchange.at)
        self._known[log.id] = identity
        return log.id

    def _conversation(self, log: str, request: ClientRequest) -> FrameworkConversation[Json]:
        found = self._open.pop(log, None)
        if found is None:
            session = Session(tools=None, model=request.model, to=request.format, store=self._store, log=log)
            # Clients leave out what a model thought, or send it otherwise.
            found = FrameworkConversation(session, WireTranslation(request.format), compares_thinking=False)
        self._open[log] = found
        for oldest in [*self._open][: len(self._open) - MOST_OPEN]:
            del self._open[oldest]
        return found


class _Identity(msgspec.Struct, frozen=True):
    """What tells conversations of clients apart. A request without tools, such as one for a title, is never a part
    of a conversation with tools."""

    format: str
    session: str
    first: str
    has_tools: bool

    @classmethod
    def of(cls, request: ClientRequest) -> "_Identity":
        return cls(request.format, request.session, text_id(_first_words(request)), bool(request.tools))

    def fits(self, other: "_Identity") -> bool:
        return (self.format, self.session, self.has_tools) == (other.format, other.session, other.has_tools)


def _identity(store: Store, log: str) -> _Identity | None:
    """Whose log it is, as its first entry says."""
    page = store.read(log, 0, 1)
    started = decode_entry(page.rows[0], page.texts).event if page.rows else None
    if not isinstance(started, LogStarted):
        return None
    try:
        return msgspec.convert(started.meta.get(GATEWAY), _Identity)
    except msgspec.ValidationError:
        return None


def _user_texts(request: ClientRequest) -> Sequence[str]:
    found = WireTranslation(request.format).read(request.messages)
    return [
        joined_text(event.parts)
        for _, events in found
        for event in events
        if isinstance(event, UserSaid) and event.origin == "person"
    ]


def _first_words(request: ClientRequest) -> str:
    return next(iter(_user_texts(request)), "")


def _title(request: ClientRequest) -> str:
    """The first words of a person, without what the client put around them."""
    texts = (" ".join(_REMINDER.sub(" ", text).split()) for text in _user_texts(request))
    return redacted_line(next(filter(None, texts), ""))[:100]
