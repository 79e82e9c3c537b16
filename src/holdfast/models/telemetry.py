"""What spans of OpenTelemetry say of requests to models, by the semantic conventions for generative AI, and where
they are exported to.

Rule: only names, sizes, times and outcomes; no text is exported. Loaded only if `OTEL_TRACES_EXPORTER` asks for it.
"""

import sys
from collections.abc import Mapping
from importlib.metadata import entry_points

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter
from opentelemetry.trace import Span, Status, StatusCode
from opentelemetry.util.types import AttributeValue

from holdfast.errors import ConfigError
from holdfast.messages import Usage
from holdfast.version import __version__

VARIABLE = "OTEL_TRACES_EXPORTER"
SERVICE = "holdfast"
PROVIDERS = {"google": "gcp.gemini", "mistral": "mistral_ai", "moonshot": "moonshot_ai"}
"""The conventions' names of providers that differ from ours."""
STOPS = {
    "end": "stop",
    "calls": "tool_call",
    "length": "length",
    "refused": "content_filter",
    "other": "error",
}
CUT_SHORT = "cut_short"
"""The error type of what never ended."""

Attributes = dict[str, AttributeValue]


def mark_failed(span: Span, kind: str) -> None:
    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR, kind))


def usage_attributes(usage: Usage) -> Attributes:
    return {
        "gen_ai.usage.input_tokens": usage.prompt,
        "gen_ai.usage.output_tokens": usage.completion,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
    }


def tracer_provider(env: Mapping[str, str]) -> TracerProvider:
    """A provider that exports as `OTEL_TRACES_EXPORTER` says: `console` (to stderr), `otlp`, or another name.
    Exporters read their other settings from the environment themselves."""
    provider = TracerProvider(
        resource=Resource.create({"service.name": SERVICE, "service.version": __version__})
    )
    for name in env.get(VARIABLE, "").split(","):
        provider.add_span_processor(BatchSpanProcessor(_exporter(name.strip(), env)))
    return provider


def _exporter(name: str, env: Mapping[str, str]) -> SpanExporter:
    if name == "console":
        return ConsoleSpanExporter(out=sys.stderr)
    if name == "otlp":
        name = f"otlp_proto_{env.get('OTEL_EXPORTER_OTLP_PROTOCOL', 'http/protobuf').partition('/')[0]}"
    found = [one for one in entry_points(group="opentelemetry_traces_exporter") if one.name == name]
    if not found:
        raise ConfigError(
            f"`{VARIABLE}` asks for the exporter `{name}`, which is not installed",
            hint="`pip install opentelemetry-exporter-otlp` has the usual ones",
        )
    exporter: SpanExporter = found[0].load()()
    return exporter
