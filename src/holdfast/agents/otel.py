"""A run as OpenTelemetry spans, by the semantic conventions for generative AI.

Rule: only names, sizes, times and outcomes; no text of a person, a model or a tool is exported. Loaded only if
`OTEL_TRACES_EXPORTER` asks for it.
"""

from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Tracer, set_span_in_context

from holdfast.agents.notices import (
    FoldMade,
    Notice,
    Replied,
    StepBegan,
    SubAgentNotice,
    SummaryMade,
)
from holdfast.messages import Usage, add_usage
from holdfast.models.model import ModelReply, RetryScheduled
from holdfast.models.telemetry import (
    CUT_SHORT,
    PROVIDERS,
    STOPS,
    Attributes,
    mark_failed,
    usage_attributes,
)
from holdfast.tools.call import CallFinished, CallStarted

AGENT, SUB_AGENT = "holdfast", "holdfast.task"


class RunSpans:
    """One agent's run: a span of its own, and below it one for each request, call and sub-agent."""

    def __init__(
        self, tracer: Tracer, *, log: str, model: str, name: str = AGENT, above: Context | None = None
    ) -> None:
        self._tracer = tracer
        self._model = model
        # The model by its provider's name for it.
        self._called = model.partition("/")[2] or model
        self._usage = Usage(0)
        about: Attributes = {"gen_ai.agent.name": name, "gen_ai.conversation.id": log}
        self._own = self._begin("invoke_agent", name, SpanKind.INTERNAL, about, above)
        self._here = set_span_in_context(self._own)
        self._request: Span | None = None
        self._calls: dict[str, Span] = {}
        self._subs: dict[str, RunSpans] = {}
        """Sub-agents by the calls that they work for."""

    def watch(self, notice: Notice) -> None:
        match notice:
            case StepBegan(number=number, tokens=tokens):
                self._cut_request()
                step: Attributes = {"holdfast.step": number, "holdfast.packed_tokens": tokens}
                self._request = self._begin("chat", self._called, SpanKind.CLIENT, step, self._here)
            case RetryScheduled(reason=reason) if self._request:
                self._request.add_event("retry", {"error.type": reason.split(":")[0][:100]})
            case Replied(reply=reply):
                self._replied(reply)
            case CallStarted(call=call):
                about: Attributes = {"gen_ai.tool.name": call.name, "gen_ai.tool.call.id": call.id}
                about |= {"gen_ai.tool.type": "function", "gen_ai.operation.name": "execute_tool"}
                name = f"execute_tool {call.name}"
                self._calls[call.id] = self._tracer.start_span(name, self._here, SpanKind.INTERNAL, about)
            case CallFinished():
                self._finished(notice)
            case FoldMade(fold=fold):
                sizes = {"tokens_before": fold.tokens_before, "tokens_after": fold.tokens_after}
                self._own.add_event("fold", {"reason": fold.reason, **sizes})
            case SummaryMade(compaction=made):
                sizes = {"tokens_before": made.tokens_before, "tokens_after": made.tokens_after}
                self._own.add_event("summary", {"by": made.written.by, **sizes})
            case SubAgentNotice():
                self._sub(notice).watch(notice.notice)

    def end(self, outcome: str = "done") -> None:
        self._cut_request()
        for sub in self._subs.values():
            sub.end(CUT_SHORT)
        for span in self._calls.values():
            mark_failed(span, CUT_SHORT)
            span.end()
        self._own.set_attributes(usage_attributes(self._usage))
        if outcome != "done":
            mark_failed(self._own, outcome)
        self._own.end()

    def _begin(
        self, operation: str, of: str, kind: SpanKind, about: Attributes, above: Context | None
    ) -> Span:
        provider = self._model.partition("/")[0]
        shared: Attributes = {
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": PROVIDERS.get(provider, provider),
            "gen_ai.request.model": self._called,
        }
        return self._tracer.start_span(f"{operation} {of}", above, kind, {**shared, **about})

    def _replied(self, reply: ModelReply) -> None:
        if self._request is None:
            return
        usage = reply.usage or Usage(0)
        self._usage = add_usage(self._usage, usage)
        self._request.set_attributes(usage_attributes(usage))
        self._request.set_attribute("gen_ai.response.finish_reasons", [STOPS[reply.stop]])
        self._request.set_attribute("gen_ai.response.model", reply.model or self._called)
        self._request.end()
        self._request = None

    def _finished(self, news: CallFinished) -> None:
        if news.call.id not in self._calls:  # it was refused and never started
            self.watch(CallStarted(news.call))
        span = self._calls.pop(news.call.id)
        if sub := self._subs.pop(news.call.id, None):
            sub.end(news.result.envelope.status if news.result.envelope.status != "success" else "done")
        if fault := news.result.envelope.error:
            mark_failed(span, fault.code)
        span.end()

    def _sub(self, news: SubAgentNotice) -> "RunSpans":
        if news.call not in self._subs:
            span = self._calls.get(news.call, self._own)
            self._subs[news.call] = RunSpans(
                self._tracer, log=news.log, model=self._model, name=SUB_AGENT, above=set_span_in_context(span)
            )
        return self._subs[news.call]

    def _cut_request(self) -> None:
        if self._request is not None:
            mark_failed(self._request, CUT_SHORT)
            self._request.end()
            self._request = None
