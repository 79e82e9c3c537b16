"""Exchanges as spans: what the conventions name, the times at which they passed, and no text."""

import re
import signal
import subprocess
import sys
import time
from contextlib import suppress

import httpx2
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from cli.command_line import command, holdfast
from gateway.client_lists import body, first_turn, long_text, said, send
from gateway.gateway_server import gateway_before
from gateway.upstream_server import upstream
from holdfast.gateway.serving import open_socket
from holdfast.gateway.spans import ExchangeSpans
from holdfast.messages import Text, Usage
from holdfast.store import MemoryStore
from support.programs import running
from support.provider_server import Failure, Script, serving

WORDS = "The ledger is wrong."


def spans_of(url: str, formats_and_bodies, store=None, **settings) -> tuple[ReadableSpan, ...]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    spans = ExchangeSpans(provider.get_tracer("test"))
    with gateway_before(url, store or MemoryStore(), observers=[spans], **settings) as gateway:
        for format_, sent in formats_and_bodies:
            # A reply that the provider cuts off is cut off for the client too.
            with suppress(httpx2.HTTPError):
                send(gateway, format_, sent)
    return exporter.get_finished_spans()


def test_a_span_has_names_sizes_times_and_no_text(tmp_path) -> None:
    store = MemoryStore()
    usage = Usage(prompt=1_200, completion=34, cache_read=1_000, cache_write=150)
    sent = body("anthropic", first_turn("anthropic", long_text()), model="claude-opus-5-5", stream=True)
    before = time.time_ns()
    with serving(Script(parts=(Text(WORDS),), usage=usage)) as server:
        (span,) = spans_of(server.url, [("anthropic", sent)], store, mode="safe", files=tmp_path)
    (log,) = [info.head.id for info in store.logs() if info.head.source == "gateway"]
    assert (span.name, span.kind) == ("chat claude-opus-5-5", SpanKind.CLIENT)
    found = dict(span.attributes or {})
    assert found.pop("holdfast.gateway.removed_tokens") > 10_000
    assert found == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-opus-5-5",
        "gen_ai.response.model": "claude-opus-5-5",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.conversation.id": log,
        "gen_ai.usage.input_tokens": 1_200,
        "gen_ai.usage.output_tokens": 34,
        "gen_ai.usage.cache_read.input_tokens": 1_000,
        "gen_ai.usage.cache_creation.input_tokens": 150,
        "holdfast.gateway.mode": "safe",
        "http.response.status_code": 200,
    }
    # Floats of seconds are exact to a microsecond.
    assert before - 1_000_000 < span.start_time < span.end_time < time.time_ns()
    assert span.status.status_code is StatusCode.UNSET
    shown = span.to_json()
    assert WORDS not in shown
    assert "Why does it fail?" not in shown


def test_failures_are_named_by_their_status() -> None:
    sent = body("openai", [said("openai", "user", "Hi.")], model="gpt-5.5", stream=True)
    with serving(Failure(kind="rate"), Script(drop=2)) as server:
        refused, cut = spans_of(server.url, [("openai", sent), ("openai", sent)])
    assert refused.attributes["error.type"] == "429"
    assert refused.status.status_code is StatusCode.ERROR
    assert "gen_ai.usage.input_tokens" not in refused.attributes
    assert cut.attributes["error.type"] == "cut_short"


def test_a_provider_that_does_not_answer_is_an_error_too() -> None:
    closed = open_socket("127.0.0.1", 0)
    port = closed.getsockname()[1]
    closed.close()
    sent = body("openai", [said("openai", "user", "Hi.")])
    (span,) = spans_of(f"http://127.0.0.1:{port}", [("openai", sent)])
    assert span.attributes["error.type"] == "no_answer"
    assert span.end_time > span.start_time


def test_geminis_model_is_in_the_path() -> None:
    with upstream() as (url, _):
        (span,) = spans_of(url, [("gemini", body("gemini", [said("gemini", "user", "Hi.")]))])
    assert span.name == "chat gemini-3.8-flash"
    assert span.attributes["gen_ai.provider.name"] == "gcp.gemini"
    assert span.attributes["gen_ai.request.model"] == "gemini-3.8-flash"


@pytest.mark.slow
def test_the_environment_asks_for_spans(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "console")
    with serving(Script(parts=(Text(WORDS),))) as server:
        words = command("gateway", "--port", "0", "--store", tmp_path / "s.db", "--openai", server.openai_url)
        with running(words, stderr=subprocess.PIPE, text=True) as gateway:
            assert gateway.stderr is not None
            (address,) = re.findall(r"listening on (\S+) \(", gateway.stderr.readline())
            sent = {"model": "m", "messages": [{"role": "user", "content": "Hi."}], "stream": True}
            httpx2.post(f"{address}/v1/chat/completions", json=sent, timeout=60).raise_for_status()
            gateway.send_signal(signal.SIGINT)
            shown = gateway.stderr.read()
            assert gateway.wait(60) == 0
    assert '"name": "chat m"' in shown
    assert '"holdfast.gateway.mode": "watch"' in shown
    assert WORDS not in shown


@pytest.mark.parametrize("words", [["gateway", "--port", "0"], ["wrap", "--base-url-env", "X", "--", "true"]])
def test_telemetry_that_is_not_installed_is_asked_for(words, monkeypatch, tmp_path) -> None:
    for name in [name for name in sys.modules if name.startswith("opentelemetry")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "holdfast.models.telemetry", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "console")
    monkeypatch.setenv("HOLDFAST_STORE", str(tmp_path / "s.db"))
    done = holdfast(*words)
    assert done.code == 2
    assert "hint: run `pip install '.[otel]'` in a checkout of Holdfast, or unset the variable" in done.err
    assert not (tmp_path / "s.db").exists()
