"""What is sent in place of a client's request, by the mode of its conversation.

Rule: it fails open. Whatever goes wrong here, the request is sent as it came, and no later request of its
conversation is changed. That includes what is no `Exception`: a library in Rust raises such when it fails.
"""

import logging
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from holdfast.gateway.client_requests import LIST_FIELDS, ClientRequest, read_request
from holdfast.gateway.conversations import ClientConversation, ClientConversations, ConversationMode
from holdfast.gateway.exchange import TOO_LATE, PassedExchange, RewriteDeadline
from holdfast.gateway.folded_lists import folded_list
from holdfast.gateway.json_spans import Span, list_spans, span_at, spliced
from holdfast.gateway.reduction import reduced_result
from holdfast.gateway.replacements import SHORTEST_RESULT, Replacement, Replacements
from holdfast.gateway.replies import plain_bytes
from holdfast.gateway.result_texts import ResultText, new_results, result_texts
from holdfast.gateway.settings import GatewaySettings
from holdfast.gateway.text_files import TextFiles
from holdfast.ids import text_id
from holdfast.models.catalogue import ModelEntry
from holdfast.models.errors import Overflowed, error_from_response
from holdfast.recall import whole_text
from holdfast.store import Store
from holdfast.tokenizers import counter_for_model
from holdfast.wire.foreign_json import SURROGATE, Losses, replace_lone_surrogates

DEFAULT_LIFE = 300.0
"""Seconds for which a cache is kept where nothing is known of the model."""
_log = logging.getLogger(__name__)


class RequestContext(Struct, frozen=True):
    """A request that was read before it was sent, and the conversation that it continues."""

    request: ClientRequest
    conversation: ClientConversation
    body: bytes
    text: bytes
    """The body, with as many bytes of valid JSON for what is none in it: where values stand is the same in both."""


class Rewriter:
    """Changes requests. May be used from several threads."""

    def __init__(
        self,
        store: Store,
        conversations: ClientConversations,
        settings: GatewaySettings,
        files: TextFiles,
    ) -> None:
        self._store = store
        self._conversations = conversations
        self._settings = settings
        self._files = files
        self._replacements = Replacements(store)
        if settings.mode != "watch":
            self._replacements.begin()

    @property
    def may_rewrite(self) -> bool:
        """Whether any request may have to be changed. Where another gateway of this store changed one, its whole
        texts are there; the store itself may have to be waited for."""
        return self._replacements.have_begun or self._files.folder.exists()

    def rewrite(self, exchange: PassedExchange, deadline: RewriteDeadline) -> bytes | None:
        """What to send instead, without compression; None where the request goes as it came."""
        try:
            context = self._read(exchange)
            if context is None:
                return None
            exchange.context = context
            exchange.change.mode = context.conversation.mode
            if context.conversation.mode == "fold":
                # What comes while the rest is still being done goes as it came, too.
                deadline.on_expiry = context.conversation.suspend
            changed = self._changed(exchange, context, deadline)
        except BaseException as error:
            self._fail(exchange, f"{type(error).__name__}: {error}")
            # What was replaced before is sent as it was sent before.
            changed, exchange.change.removed = deadline.known, deadline.removed
        if not deadline.meet():
            self._fail(exchange, TOO_LATE)
            if isinstance(exchange.context, RequestContext):
                exchange.context.conversation.is_suspended = False
        return changed

    def rewrite_refused(
        self, exchange: PassedExchange, status: int, reply: bytes, encoding: str
    ) -> bytes | None:
        """What to send once more after the provider refused a request with these words; None for no second try.

        In `fold`, one that is too long is packed smaller; any other that was changed goes as it came.
        """
        context = exchange.context
        if not isinstance(context, RequestContext) or exchange.change.retry:
            return None
        try:
            if context.conversation.mode == "fold":
                error = error_from_response(status, plain_bytes(reply, encoding), {})
                if isinstance(error, Overflowed) and context.conversation.followed.report_error(error):
                    exchange.change.retry = "smaller"
                    return self._folded(exchange, context)
        except BaseException as error:
            self._fail(exchange, f"{type(error).__name__}: {error}")
        if not exchange.is_changed:
            return None
        exchange.change.retry = "whole"
        context.conversation.suspend()
        exchange.change.removed = exchange.change.removed_now = 0
        return context.body

    def _read(self, exchange: PassedExchange) -> RequestContext | None:
        assert exchange.route.format is not None, "only requests with messages are changed"
        body = plain_bytes(exchange.body, exchange.body_encoding)
        request = read_request(body, exchange.route.format, exchange.headers, exchange.path)
        if request is None or not request.is_list:
            return None
        conversation = self._conversations.find(request, exchange)
        conversation.begin_request()
        text = replace_lone_surrogates(body, Losses()) if SURROGATE.search(body) else body
        return RequestContext(request, conversation, body, text)

    def _changed(
        self, exchange: PassedExchange, context: RequestContext, deadline: RewriteDeadline
    ) -> bytes | None:
        if context.conversation.is_suspended:
            return None
        if context.conversation.mode == "fold" and self._take_in_others(exchange, context).mode == "fold":
            return self._folded(exchange, context)
        return self._replaced(exchange, context, deadline)

    def _replaced(
        self, exchange: PassedExchange, context: RequestContext, deadline: RewriteDeadline
    ) -> bytes | None:
        """The body with what was replaced before, and in `safe` with new results that are too large."""
        request, conversation = context.request, context.conversation
        if conversation.state.undoes_replacements or not conversation.keeps_replacements:
            return None
        spans = _message_spans(context)
        results = [
            (result, span)
            for message, span in zip(request.messages, spans, strict=True)
            if span[1] - span[0] >= SHORTEST_RESULT
            for result in filter(None, result_texts(message, request.format))
        ]
        changes, removed = self._known_changes(context, results)
        deadline.known = spliced(context.body, changes.items()) if changes else None
        deadline.removed = removed
        if self._take_in_others(exchange, context).undoes_replacements:
            return None
        if self._replacements.catch_up():
            changes, removed = self._known_changes(context, results)
        reduced: dict[Span, tuple[ResultText, Replacement]] = {}
        if conversation.mode == "safe":
            try:
                self._reduce_new(context, spans, changes, reduced, deadline)
            except BaseException as error:
                # What was replaced before is sent as it was sent before, whatever happens to new results.
                self._fail(exchange, f"{type(error).__name__}: {error}")
        for result, _ in results:
            if self._replacements.get(result) is None:
                conversation.sends_whole(result, exchange.at)
        try:
            new = {span: msgspec.json.encode(replacement.text) for span, (_, replacement) in reduced.items()}
            changed = spliced(context.body, [*changes.items(), *new.items()]) if changes or new else None
        except BaseException:
            # What is sent whole now is sent whole for ever.
            for result, _ in reduced.values():
                conversation.sends_whole(result, exchange.at)
                self._replacements.withdraw(result)
            raise
        saved = sum(replacement.saved for _, replacement in reduced.values())
        exchange.change.removed, exchange.change.removed_now = removed + saved, saved
        return changed

    def _take_in_others(self, exchange: PassedExchange, context: RequestContext) -> ConversationMode:
        """Take in what another gateway of the store recorded of this conversation; the mode that it is in then. The
        store may have to be waited for: what was replaced before is known by then."""
        context.conversation.wait_for_other_gateway(context.request.readable)
        exchange.change.mode = context.conversation.mode
        return context.conversation.state

    def _known_changes(
        self, context: RequestContext, results: Sequence[tuple[ResultText, Span]]
    ) -> tuple[dict[Span, bytes], int]:
        """What is sent in place of results that were replaced before, and the tokens that this saves; each result
        is given with its message."""
        changes: dict[Span, bytes] = {}
        removed = 0
        for result, span in results:
            known = self._replacements.get(result)
            if known and not context.conversation.was_sent_whole(result, known.at):
                changes[span_at(context.text, result.steps, span)] = msgspec.json.encode(known.text)
                removed += known.saved
                self._keep_file(result.text)
        return changes, removed

    def _keep_file(self, text: str) -> None:
        """Write the file that a mark names once more, if somebody has deleted it."""
        try:
            self._files.keep(text_id(text), text)
        except OSError as error:
            # What was sent before is sent again all the same.
            _log.warning("a whole text is in no file any more: %s", error)

    def _reduce_new(
        self,
        context: RequestContext,
        spans: list[Span],
        changes: Mapping[Span, bytes],
        new_ones: dict[Span, tuple[ResultText, Replacement]],
        deadline: RewriteDeadline,
    ) -> None:
        """Store what is sent in place of new results that are too large, and add it to the new ones."""
        request, conversation = context.request, context.conversation
        if len(request.readable) < len(request.messages):
            return
        for new in new_results(request.messages, request.format):
            span = span_at(context.text, new.result.steps, spans[new.place])
            if span in changes or conversation.was_sent_whole(new.result):
                continue
            if conversation.followed.has_result(new.returned):
                continue
            counter = counter_for_model(request.model)
            reduced = reduced_result(new, self._settings.largest_result, counter, self._files)
            replacement = self._replacements.add(new.result, reduced, deadline.meet) if reduced else None
            if replacement:
                new_ones[span] = new.result, replacement

    def _folded(self, exchange: PassedExchange, context: RequestContext) -> bytes | None:
        """The body with its list of messages packed."""
        request, conversation = context.request, context.conversation
        spans = _message_spans(context)
        raw = [context.body[start:end] for start, end in spans]
        entry = conversation.entry
        binds = entry.binds_thinking if entry else "claude" in request.model
        idle = exchange.at - (conversation.followed.session.log.info.last_at or exchange.at)
        folded = folded_list(
            conversation.followed,
            request,
            raw,
            binds_thinking=binds,
            is_free=idle > cache_life(entry) or exchange.change.retry == "smaller",
        )
        if folded is None:
            return None
        named = {*folded.cut_ids, *self._files.ids_in(folded.encoded.decode())}
        self._files.keep_all(whole_text(self._store, id_) for id_ in named if not self._files.has(id_))
        exchange.change.is_folded = folded.is_folded
        sent = counter_for_model(request.model).text(folded.encoded.decode())
        _count_removed(exchange, conversation, conversation.tokens_of(raw) - sent)
        whole = span_at(context.text, (LIST_FIELDS[request.format],))
        return spliced(context.body, [(whole, folded.encoded)])

    def _fail(self, exchange: PassedExchange, fault: str) -> None:
        _log.warning("a request is not changed: %s", fault, exc_info=_log.isEnabledFor(logging.DEBUG))
        exchange.change.fault = fault
        if isinstance(exchange.context, RequestContext):
            try:
                exchange.context.conversation.switch_off(fault)
            except BaseException as unstored:
                # It is off all the same; the store that would say so may be what failed.
                _log.warning("why a session is changed no more could not be stored: %s", unstored)


def cache_life(entry: ModelEntry | None) -> float:
    """Seconds for which a provider keeps what it read."""
    return (entry.cache_seconds if entry else 0) or DEFAULT_LIFE


def _message_spans(context: RequestContext) -> list[Span]:
    whole = span_at(context.text, (LIST_FIELDS[context.request.format],))
    return list_spans(context.text, whole)


def _count_removed(exchange: PassedExchange, conversation: ClientConversation, removed: int) -> None:
    """Count what was removed: what was removed before is not counted again."""
    exchange.change.removed = max(removed, 0)
    exchange.change.removed_now += max(removed - conversation.tokens_removed, 0)
    conversation.tokens_removed = removed
