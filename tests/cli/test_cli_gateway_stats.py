"""`holdfast gateway stats`: what was saved and what it cost, from logs that a gateway wrote."""

import itertools
import re
from operator import le

import httpx2
import pytest

from cli.command_line import holdfast
from gateway.caching_provider import MODEL, caching_provider, run_agent
from gateway.gateway_server import gateway_before
from gateway.upstream_server import upstream
from holdfast.cli.gateway_stats import UNKNOWN
from holdfast.events import Noted
from holdfast.log import Log
from holdfast.store import SqliteStore
from support.free_port import free_port


def record(store, sessions: range = range(1), requests: int = 10, **settings) -> None:
    with (
        SqliteStore(store) as kept,
        caching_provider() as (url, _),
        gateway_before(url, kept, files=store.parent / "texts", **settings) as gateway,
    ):
        for number in sessions:
            run_agent(gateway, requests, f"s{number}", lines=400)


def rows(text: str, title: str) -> list[list[str]]:
    """The rows of a table, without its head."""
    (part,) = re.findall(rf"\n{title}\n[^\n]*\n(.*?)(?:\n\n|\Z)", text, re.DOTALL)
    return [re.split(r"  +", line) for line in part.strip().splitlines()]


def test_a_session_in_safe_is_accounted_for(store) -> None:
    record(store, mode="safe")
    done, data = holdfast("gateway", "stats"), holdfast("gateway", "stats", "--json").json
    assert done.code == 0
    (session,) = data["sessions"]
    assert rows(done.text, "sessions") == [[session["log"], "my-agent/1.2", MODEL, "safe", "10"]]
    removed, not_sent = rows(done.text, "tokens")[0][1:3]
    assert removed == f"{session['sums']['removed']:,}"
    assert not_sent == f"{session['sums']['not_sent']:,}"
    sums = data["total"]
    assert rows(done.text, "dollars")[0][1:4] == [
        f"${sums[name]:.4f}" for name in ("dollars", "dollars_before")
    ] + [f"${sums['dollars_before'] - sums['dollars']:.4f}"]
    assert 0 < sums["dollars"] < sums["dollars_before"]
    assert "estimate" in done.err
    assert "no control arm" in done.err
    assert data["arms"] is None


def test_every_request_is_listed_with_what_it_adds(store) -> None:
    record(store, mode="safe")
    (session,) = holdfast("gateway", "stats", "--requests", "--json").json["sessions"]
    requests, sums = session["requests"], session["sums"]
    assert len(requests) == sums["requests"] == 10
    for field in ("removed", "not_sent", "dollars", "dollars_before"):
        assert sum(request[field] for request in requests) == pytest.approx(sums[field])
    read = [request["usage"]["cache_read"] for request in requests]
    before = [request["usage_before"]["cache_read"] for request in requests]
    assert all(map(le, read, before))
    assert read != before
    listed = rows(holdfast("gateway", "stats", "--requests").text, f"requests of {session['log']}")
    assert [int(row[0]) for row in listed] == [*range(1, 11)]
    assert [row[3] for row in listed] == [f"{tokens:,}" for tokens in read]
    assert "requests" not in holdfast("gateway", "stats", "--json").json["sessions"][0]


def test_where_nothing_is_changed_nothing_is_said_of_a_control_arm(store) -> None:
    record(store, requests=2)
    assert "control arm" not in holdfast("gateway", "stats").err


def test_arms_stand_side_by_side_with_a_word_about_too_few(store) -> None:
    # Chance draws, so both arms are there after some sessions.
    for first in itertools.count(step=4):
        record(store, range(first, first + 4), requests=5, mode="safe", control=0.5)
        data = holdfast("gateway", "stats", "--json").json
        drawn = {session["is_control"] for session in data["sessions"]}
        if len(drawn) == 2:
            break
    done = holdfast("gateway", "stats")
    controls = sum(session["is_control"] for session in data["sessions"])
    found = {row[0]: row[1:] for row in rows(done.text, "arms")}
    assert found["sessions"] == [str(controls), str(len(data["sessions"]) - controls)]
    assert found["requests per session"] == ["5.0", "5.0"]
    per_session = [data["arms"][arm]["dollars_per_session"] for arm in ("control", "changed")]
    assert found["dollars per session"] == [f"${amount:.4f}" for amount in per_session]
    assert per_session[0] > per_session[1]
    assert "too few to compare" in done.err
    assert rows(done.text, "tokens")[-1][0] == "total"


def test_logs_can_be_named_and_must_be_the_gateways(store) -> None:
    record(store, range(2), requests=2)
    with SqliteStore(store) as kept:
        other = Log.create(kept, title="mine").id
        first = next(info.head.id for info in kept.logs() if info.head.source == "gateway")
    assert [s["log"] for s in holdfast("gateway", "stats", "--json", first).json["sessions"]] == [first]
    refused = holdfast("gateway", "stats", other)
    assert refused.code == 2
    assert f"the log `{other}` is not one of the gateway's" in refused.err
    assert "hint:" in refused.err
    assert holdfast("gateway", "stats", "l0000000000000").code != 0


def test_what_has_no_price_is_unknown_and_not_free(store) -> None:
    message = b'{"role": "assistant", "content": "Y"}'
    reply = b'{"id": "x", "model": "odd", "choices": [{"index": 0, "message": ' + message + b"}]"
    usage = b', "usage": {"prompt_tokens": 5, "completion_tokens": 1}}'
    answers = [reply + usage, reply + b"}"]
    with SqliteStore(store) as kept, upstream(answers) as (url, _), gateway_before(url, kept) as gateway:
        for text in ("One.", "Two."):
            body = {"model": "odd", "messages": [{"role": "user", "content": text}]}
            httpx2.post(f"{gateway}/v1/chat/completions", json=body)
    done, data = holdfast("gateway", "stats"), holdfast("gateway", "stats", "--json").json
    assert rows(done.text, "dollars")[-1] == ["total", UNKNOWN, UNKNOWN, UNKNOWN, "1", "1"]
    assert data["total"]["dollars"] is None
    assert "1 request asked a model without a known price" in done.err
    assert "of 1 request the provider reported no usage" in done.err


def test_nothing_recorded_is_a_sentence(store) -> None:
    done = holdfast("gateway", "stats")
    assert (done.code, done.text) == (0, "")
    assert "has recorded no request" in done.err
    assert not store.exists()
    assert holdfast("gateway", "stats", "--json").json["sessions"] == []


def test_a_provider_that_is_down_is_said_with_its_address(store) -> None:
    place = f"127.0.0.1:{free_port()}"
    with SqliteStore(store) as kept, gateway_before(f"http://{place}", kept) as gateway:
        body = {"model": "gpt-6-sol", "messages": [{"role": "user", "content": "Hi."}]}
        assert httpx2.post(f"{gateway}/v1/chat/completions", json=body).status_code == 502
    done = holdfast("gateway", "stats")
    assert "1 request failed: refused by the provider, or without an answer" in done.err
    assert "estimate" not in done.err
    assert holdfast("gateway", "stats", "--json").json["total"]["failed"] == 1
    with SqliteStore(store) as kept:
        events = [entry.event for entry in Log.open(kept, kept.logs()[0].head.id).entries()]
    (said,) = [event.text for event in events if isinstance(event, Noted) and event.kind == "provider"]
    assert said.startswith(f"{place} cannot be reached")
