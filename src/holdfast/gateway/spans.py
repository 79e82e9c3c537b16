"""Exchanges of the gateway as OpenTelemetry spans, by the semantic conventions for generative AI.

Rule: only names, sizes, times and outcomes; no text of a person, a model or a tool is exported. Loaded only if
`OTEL_TRACES_EXPORTER` asks for it.
"""

import re
from collections.abc import Mapping

from opentelemetry.trace import SpanKind, Tracer

from holdfast.gateway.exchange import PassedExchange, RecordedExchange
from holdfast.gateway.wires import Wire
from holdfast.models.telemetry import (
    CUT_SHORT,
    PROVIDERS,
    STOPS,
    Attributes,
    mark_failed,
    usage_attributes,
)

WIRE_PROVIDERS: Mapping[Wire, str] = {
    "anthropic": "anthropic",
    "openai": "openai",
    "gemini": PROVIDERS["google"],
}
NO_ANSWER = "no_answer"
"""The error type of a request to which the provider said nothing."""
LONGEST_NAME = 200
"""Characters of a model's name: it is the client's or the provider's word."""
NANOSECONDS = 1_000_000_000

_MODEL_IN_PATH = re.compile(r"/(?:models|tunedModels)/([^/:]+)")
"""Where Gemini's requests name their model."""


class ExchangeSpans:
    """A span for each exchange, made when it is recorded, with the times at which it passed."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def observe(self, recorded: RecordedExchange) -> None:
        exchange = recorded.exchange
        model = _requested_model(recorded)
        began = int(exchange.at * NANOSECONDS)
        span = self._tracer.start_span(
            f"chat {model}" if model else "chat",
            kind=SpanKind.CLIENT,
            attributes=_attributes(recorded, model),
            start_time=began,
        )
        if error := _error_type(exchange):
            mark_failed(span, error)
        span.end(began + int(exchange.seconds * NANOSECONDS))


def _requested_model(recorded: RecordedExchange) -> str:
    found = _MODEL_IN_PATH.search(recorded.exchange.path)
    return (recorded.model or (found[1] if found else ""))[:LONGEST_NAME]


def _attributes(recorded: RecordedExchange, model: str) -> Attributes:
    exchange, reply = recorded.exchange, recorded.reply
    found: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": WIRE_PROVIDERS[exchange.route.wire],
        "holdfast.gateway.mode": exchange.change.mode,
        "holdfast.gateway.removed_tokens": exchange.change.removed,
    }
    if model:
        found["gen_ai.request.model"] = model
    if recorded.log:
        found["gen_ai.conversation.id"] = recorded.log
    if exchange.status:
        found["http.response.status_code"] = exchange.status
    if reply is not None:
        if reply.model:
            found["gen_ai.response.model"] = reply.model[:LONGEST_NAME]
        if reply.stop:
            # A reply that was not streamed has its provider's own word.
            found["gen_ai.response.finish_reasons"] = [STOPS.get(reply.stop, reply.stop[:LONGEST_NAME])]
        if reply.usage is not None:
            found |= usage_attributes(reply.usage)
    return found


def _error_type(exchange: PassedExchange) -> str:
    """As the conventions say, the status where there is one; empty for an exchange that went well."""
    if not exchange.status:
        return NO_ANSWER
    if exchange.status >= 400:
        return str(exchange.status)
    return "" if exchange.is_whole else CUT_SHORT
