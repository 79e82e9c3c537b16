"""The page of metrics, read by Prometheus' own parser."""

import threading

import httpx2
import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from gateway.caching_provider import MODEL, caching_provider, run_agent
from gateway.client_lists import body, first_turn, long_text, said, send
from gateway.gateway_server import LOOKUP, gateway_before, recorder_of
from gateway.upstream_server import upstream
from holdfast.gateway.access import AccessRules
from holdfast.gateway.exchange import PassedExchange, RecordedExchange, RequestChange
from holdfast.gateway.forwarding import Gateway
from holdfast.gateway.late_start import LateApplication, LateRecorder
from holdfast.gateway.metrics import BUCKETS, COUNTERS, GatewayMetrics
from holdfast.gateway.recorder import TrafficRecorder
from holdfast.gateway.serving import in_thread, open_socket
from holdfast.gateway.wires import WIRES, Route
from holdfast.models.catalogue import request_cost
from holdfast.store import MemoryStore
from support.provider_server import Failure, Script, serving
from support.waiting import wait_until

PATH = "/holdfast/metrics"
PREFIX = "holdfast_gateway_"


def parsed(page: str) -> dict[str, Metric]:
    return {metric.name.removeprefix(PREFIX): metric for metric in text_string_to_metric_families(page)}


def scraped(gateway: str) -> dict[str, Metric]:
    answer = httpx2.get(gateway + PATH)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return parsed(answer.text)


def value(metrics: dict[str, Metric], name: str, **labels: str) -> float:
    """The sum of the samples with these labels."""
    samples = [one for one in metrics[name].samples if one.name in (PREFIX + name, PREFIX + name + "_total")]
    return sum(one.value for one in samples if labels.items() <= one.labels.items())


def test_every_metric_has_a_type_and_help_before_anything_passed() -> None:
    with upstream() as (url, seen), gateway_before(url, MemoryStore()) as gateway:
        metrics = scraped(gateway)
    assert seen.requests == []
    assert {metric.type for metric in metrics.values()} == {"counter", "gauge", "histogram"}
    assert {name.removesuffix("_total") for name in COUNTERS} < {*metrics}
    assert all(metric.documentation for metric in metrics.values())
    assert [value(metrics, name) for name in ("missed_exchanges", "exchanges_in_flight", "exchanges_waiting")] == [
        0, 0, 0
    ]  # fmt: skip


def test_counters_are_what_the_provider_reported(tmp_path) -> None:
    with (
        caching_provider() as (url, cache),
        gateway_before(url, MemoryStore(), files=tmp_path, mode="safe") as gateway,
    ):
        run_agent(gateway, 6)
        wait_until(lambda: value(scraped(gateway), "requests") == 6)
        metrics = scraped(gateway)
    labels = {"wire": "anthropic", "mode": "safe"}
    assert value(metrics, "requests", status="200", **labels) == 6
    assert value(metrics, "prompt_tokens", **labels) == sum(u.prompt for u in cache.usages)
    assert value(metrics, "cache_read_tokens", **labels) == sum(u.cache_read for u in cache.usages)
    assert value(metrics, "cache_write_tokens", **labels) == sum(u.cache_write for u in cache.usages)
    assert value(metrics, "output_tokens", **labels) == sum(u.completion for u in cache.usages)
    paid = sum(request_cost(LOOKUP(MODEL), usage) for usage in cache.usages)
    assert value(metrics, "dollars", **labels) == pytest.approx(paid)
    # One large result, counted once though it was left out twice.
    assert 10_000 < value(metrics, "removed_tokens", **labels) < 30_000
    assert value(metrics, "unpriced_requests") == value(metrics, "retries") == value(metrics, "faults") == 0
    waits = metrics["first_byte_seconds"]
    buckets = [one.value for one in waits.samples if one.name.endswith("_bucket")]
    assert len(buckets) == len(BUCKETS) + 1
    assert buckets == sorted(buckets)
    assert buckets[-1] == 6
    (total,) = [one.value for one in waits.samples if one.name.endswith("_sum")]
    assert 0 < total < 60


def test_retries_faults_and_failures_are_counted(tmp_path) -> None:
    sent = body("anthropic", first_turn("anthropic", long_text()), model="odd", stream=True)
    answers = Failure(kind="refused"), Script(), Failure(kind="overloaded")
    with (
        serving(*answers) as server,
        gateway_before(server.url, MemoryStore(), files=tmp_path, mode="safe") as gateway,
    ):
        for _ in range(2):
            send(gateway, "anthropic", sent)
        wait_until(lambda: value(scraped(gateway), "requests") == 2)
        metrics = scraped(gateway)
    assert value(metrics, "requests", status="200") == 1
    assert value(metrics, "requests", status="529") == 1
    assert (value(metrics, "retries"), value(metrics, "unpriced_requests")) == (1, 1)
    assert value(metrics, "removed_tokens") == 0


def test_a_provider_that_cannot_be_reached_is_status_zero() -> None:
    closed = open_socket("127.0.0.1", 0)
    port = closed.getsockname()[1]
    closed.close()
    with gateway_before(f"http://127.0.0.1:{port}", MemoryStore()) as gateway:
        assert send(gateway, "openai", body("openai", [said("openai", "user", "Hi.")])).status_code == 502
        wait_until(lambda: value(scraped(gateway), "requests") == 1)
        metrics = scraped(gateway)
    assert value(metrics, "requests", status="0", wire="openai") == 1
    assert metrics["first_byte_seconds"].samples == []


def test_the_page_is_for_those_who_may_use_the_gateway() -> None:
    with upstream() as (url, seen), gateway_before(url, access=AccessRules("token")) as gateway:
        answers = [
            httpx2.get(gateway + PATH),
            httpx2.get(f"{gateway}/token{PATH}", headers={"origin": "https://example.org"}),
            httpx2.get(f"{gateway}/token{PATH}"),
        ]
    with upstream() as (url, _), gateway_before(url) as gateway:
        answers.append(httpx2.get(gateway + PATH, headers={"host": "example.org"}))
    assert [answer.status_code for answer in answers] == [401, 403, 200, 403]
    assert [PREFIX in answer.text for answer in answers] == [False, False, True, False]
    assert seen.requests == []


def test_what_is_in_flight_and_waits_is_seen_before_the_recorder_is_loaded() -> None:
    loading = threading.Event()
    metrics = GatewayMetrics()

    def load() -> TrafficRecorder:
        assert loading.wait(30)
        return recorder_of(MemoryStore())

    recorder = LateRecorder(load)
    with serving(Script(), Failure(kind="server")) as server:
        upstreams = dict.fromkeys(WIRES, server.url)

        def load_gateway() -> Gateway:
            recorder.start()
            return Gateway(upstreams, access=AccessRules(), traffic=recorder, metrics=metrics)

        listening = open_socket("127.0.0.1", 0)
        gateway = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with in_thread(LateApplication(load_gateway), listening):
            send(gateway, "openai", body("openai", [said("openai", "user", "Hi.")], stream=True))
            early = scraped(gateway)
            loading.set()
            wait_until(lambda: value(scraped(gateway), "exchanges_waiting") == 0)
        recorder.close()
    assert (value(early, "exchanges_waiting"), value(early, "requests")) == (1, 0)


def test_a_request_on_its_way_is_in_flight() -> None:
    with upstream(endless=True) as (url, seen), gateway_before(url, MemoryStore()) as gateway:
        with httpx2.stream("POST", f"{gateway}/v1/chat/completions", content=b"{}") as answer:
            assert answer.status_code == 200
            assert value(scraped(gateway), "exchanges_in_flight") == 1
        assert seen.left.wait(30)
        wait_until(lambda: value(scraped(gateway), "exchanges_in_flight") == 0)


def test_numbers_stay_exact_and_the_page_parses_whatever_was_counted() -> None:
    metrics = GatewayMetrics()
    for status, seconds in ((200, 0.1), (200, 400.0), (0, 0.0)):
        exchange = PassedExchange(
            route=Route("gemini", "gemini"), at=0.0, headers={}, path="", body=b"", reply=bytearray(),
            change=RequestChange(mode="fold", removed=9_007_199_254_740, removed_now=9_007_199_254_740),
            status=status, first_byte_seconds=seconds,
        )  # fmt: skip
        metrics.observe(RecordedExchange(exchange=exchange, dollars=0.000001))
    read = parsed(metrics.page(in_flight=1, waiting=2, missed=3).decode())
    assert value(read, "removed_tokens", mode="fold") == 3 * 9_007_199_254_740
    assert value(read, "dollars") == pytest.approx(0.000003)
    assert value(read, "missed_exchanges") == 3
    by_bucket = {
        one.labels["le"]: one.value for one in read["first_byte_seconds"].samples if "le" in one.labels
    }
    assert (by_bucket["0.1"], by_bucket["300.0"], by_bucket["+Inf"]) == (1, 1, 2)
