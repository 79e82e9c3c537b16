"""What passes the gateway, as logs: one for each conversation of a client.

Rule: recording happens in a thread of its own, after the bytes have passed. What cannot be recorded is counted and
noted, and costs no request.
"""

import logging
import queue
import threading
from collections.abc import Sequence

from msgspec.structs import asdict

from holdfast.events import AssistantReplied, Noted
from holdfast.gateway.client_requests import read_request
from holdfast.gateway.conversations import REQUEST, ClientConversation, ClientConversations
from holdfast.gateway.exchange import ExchangeObserver, PassedExchange, RecordedExchange
from holdfast.gateway.replies import error_text, plain_bytes, read_reply
from holdfast.gateway.rewriting import RequestContext, Rewriter, cache_life
from holdfast.gateway.settings import GatewaySettings
from holdfast.gateway.text_files import TextFiles
from holdfast.messages import ToolCall
from holdfast.models.catalogue import ModelLookup, request_cost
from holdfast.models.errors import redacted_line
from holdfast.redaction.kingfisher import kingfisher_problem
from holdfast.store import Store

MOST_WAITING = 128 * 1024 * 1024
"""Bytes of exchanges that may wait to be recorded; what is more is not recorded, and counted."""

_log = logging.getLogger(__name__)


class TrafficRecorder:
    """Records exchanges in a store, and changes requests. **Contract:** `close` waits until all are recorded."""

    def __init__(
        self,
        store: Store,
        settings: GatewaySettings,
        files: TextFiles,
        lookup: ModelLookup,
        observers: Sequence[ExchangeObserver] = (),
    ) -> None:
        self._conversations = ClientConversations(store, settings, files, lookup)
        rewriter = Rewriter(store, self._conversations, settings, files)
        self._rewriter = rewriter
        self.rewrite, self.rewrite_refused = rewriter.rewrite, rewriter.rewrite_refused
        self._files = files
        self._loads_scanner = settings.mode != "watch"
        self._lookup = lookup
        self._observers = observers
        self._waiting: queue.SimpleQueue[PassedExchange | None] = queue.SimpleQueue()
        self._waiting_bytes = 0
        self._lock = threading.Lock()
        self.missed = 0
        """How many exchanges could not be recorded."""
        self._thread = threading.Thread(target=self._work, name="holdfast recorder")
        self._thread.start()

    @property
    def may_rewrite(self) -> bool:
        return self._rewriter.may_rewrite

    @property
    def waiting(self) -> int:
        return self._waiting.qsize()

    def record(self, exchange: PassedExchange) -> None:
        """Take an exchange. Never waits."""
        with self._lock:
            if self._waiting_bytes and self._waiting_bytes + exchange.size > MOST_WAITING:
                self.missed += 1
                _end_request(exchange)
                return
            self._waiting_bytes += exchange.size
        self._waiting.put(exchange)

    def close(self) -> None:
        self._waiting.put(None)
        self._thread.join()

    def _work(self) -> None:
        if self._loads_scanner:
            # Else the first large result would wait for it, on a machine's first use for seconds.
            kingfisher_problem()
        while (exchange := self._waiting.get()) is not None:
            recorded = RecordedExchange(exchange=exchange)
            try:
                recorded = self._write(exchange)
            except BaseException as error:  # Whatever it was, the next exchange is recorded.
                self.missed += 1
                _warn("an exchange could not be recorded", error)
            _end_request(exchange)
            self._tell(recorded)
            with self._lock:
                self._waiting_bytes -= exchange.size

    def _tell(self, recorded: RecordedExchange) -> None:
        for observer in self._observers:
            try:
                observer.observe(recorded)
            except BaseException as error:  # What is recorded stays recorded.
                _warn("an exchange could not be observed", error)

    def _write(self, exchange: PassedExchange) -> RecordedExchange:
        """Record an exchange: what is new in its request, its reply, and what was done to it."""
        assert exchange.route.format is not None, "an exchange without messages is not recorded"
        context = exchange.context
        if isinstance(context, RequestContext):
            request, conversation = context.request, context.conversation
        else:
            body = plain_bytes(exchange.body, exchange.body_encoding)
            found = read_request(body, exchange.route.format, exchange.headers, exchange.path)
            if found is None:
                return RecordedExchange(exchange=exchange)
            request, conversation = found, self._conversations.find(found, exchange)
        followed = conversation.followed
        followed.follow(request.readable, system=request.system, tools=request.tools)
        reply = read_reply(exchange, followed.session.known_calls)
        if reply is not None:
            followed.record_reply(reply)
        elif not exchange.status:
            why = exchange.no_answer or "the client left before the provider answered"
            followed.record_remark(Noted("provider", redacted_line(why)))
        elif exchange.status != 200:
            said = redacted_line(error_text(exchange))
            followed.record_remark(Noted("provider", f"HTTP {exchange.status}: {said}"))
        elif not exchange.is_whole:
            who = "the provider broke off" if exchange.is_broken_off else "the client left"
            followed.record_remark(Noted("provider", f"{who} before the reply was whole"))
        followed.record_remark(Noted(REQUEST, exchange.change.mode, self._account(exchange, reply)))
        self._judge(exchange, conversation, reply)
        return RecordedExchange(
            exchange=exchange,
            log=conversation.log,
            model=request.model,
            reply=reply,
            dollars=self._dollars(reply),
        )

    def _dollars(self, reply: AssistantReplied | None) -> float | None:
        """What a reply cost; None where its usage or its price is not known."""
        known = self._lookup(reply.model) if reply else None
        return request_cost(known, reply.usage) if known and reply and reply.usage else None

    def _account(self, exchange: PassedExchange, reply: AssistantReplied | None) -> dict[str, object]:
        """What is known of a request besides its messages."""
        calls = [part for part in reply.parts if isinstance(part, ToolCall)] if reply else []
        fetches = sum(self._files.are_named_in(call) for call in calls)
        return {
            **asdict(exchange.change),
            "fault": redacted_line(exchange.change.fault),
            "model": reply.model if reply else "",
            "status": exchange.status,
            "first_byte": round(exchange.first_byte_seconds, 4),
            "seconds": round(exchange.seconds, 4),
            "retrievals": fetches,
            "extra_turn": bool(calls) and fetches == len(calls),
        }

    def _judge(
        self, exchange: PassedExchange, conversation: ClientConversation, reply: AssistantReplied | None
    ) -> None:
        """Change nothing more where the provider took the request only as it came, or reads less from its cache."""
        change = exchange.change
        if change.retry == "whole":
            if exchange.status == 200:
                conversation.switch_off(
                    "the provider took a request only as it came", undoes_replacements=True
                )
            conversation.is_suspended = False
        if reply is None or reply.usage is None:
            return
        has_fallen = conversation.cache.has_fallen(
            reply.usage,
            exchange.at,
            is_changed=change.removed > 0,
            is_folded=change.is_folded or change.retry != "",
            life=cache_life(conversation.entry),
        )
        if has_fallen and conversation.mode != "watch":
            conversation.switch_off("the provider reads less from its cache since requests are changed")


def _end_request(exchange: PassedExchange) -> None:
    if isinstance(exchange.context, RequestContext):
        exchange.context.conversation.end_request()


def _warn(what: str, error: BaseException) -> None:
    """In a sentence; the traceback is for those who ask for it."""
    _log.warning("%s: %s: %s", what, type(error).__name__, error, exc_info=_log.isEnabledFor(logging.DEBUG))
