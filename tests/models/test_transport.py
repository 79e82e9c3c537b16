"""What goes over the adapter, over real sockets on loopback."""

import asyncio
import gc
import logging
import socket
import subprocess
import sys

import pytest

from holdfast.models.errors import AuthFailed, ModelError, NetworkFailed, TimedOut
from holdfast.models.transport import Endpoint, EndpointClient, ServerSentEvent, Timeouts, encode_body
from support.free_port import free_port
from support.provider_server import Failure, HangUp, ProviderServer, Script, events_of, serving

PATH = "/v1/messages"
BODY = encode_body({"model": "test", "stream": True})
KEY = "sk-loopback-0123456789"


def endpoint(server: ProviderServer) -> Endpoint:
    return Endpoint(url=server.url, key=KEY)


async def post(line: EndpointClient) -> list[ServerSentEvent]:
    events: list[ServerSentEvent] = []
    async with line.open(PATH, {"x-api-key": KEY}, BODY) as answer:
        while (some := await answer.next_events()) is not None:
            events += some
    return events


def post_once(where: Endpoint) -> list[ServerSentEvent]:
    async def run() -> list[ServerSentEvent]:
        line = EndpointClient(where)
        try:
            return await post(line)
        finally:
            await line.aclose()

    return asyncio.run(run())


def names(script: Script) -> list[str]:
    return [sent.name for sent in events_of(PATH, script)]


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("chunk", [0, 1, 2, 3, 7, 64])
def test_events_come_whatever_the_size_of_chunks(chunk, newline):
    script = Script(chunk=chunk, newline=newline)
    with serving(script) as server:
        assert [event.name for event in post_once(endpoint(server))] == names(script)
        seen = server.requests[0]
    assert (seen.method, seen.path, seen.body) == ("POST", PATH, BODY)
    assert seen.headers["x-api-key"] == KEY
    assert seen.headers["accept-encoding"] == "identity"


def test_without_a_body_it_is_a_get():
    async def run(where: Endpoint) -> tuple[int, bytes]:
        line = EndpointClient(where)
        async with line.open("/v1/models", {}) as answer:
            got = answer.status, await answer.read(10_000)
        await line.aclose()
        return got

    with serving(models=("one", "two")) as server:
        status, body = asyncio.run(run(endpoint(server)))
    assert status == 200
    assert b'"two"' in body


def test_a_body_is_read_no_further_than_it_matters():
    async def run(where: Endpoint) -> bytes:
        line = EndpointClient(where)
        async with line.open(PATH, {}, BODY) as answer:
            body = await answer.read(1_000)
        await line.aclose()
        return body

    with serving(Failure(body=b"x" * 5_000_000)) as server:
        assert asyncio.run(run(endpoint(server))) == b"x" * 1_000


def test_a_connection_is_used_again_and_closed_at_the_end():
    async def run(where: Endpoint) -> None:
        line = EndpointClient(where)
        for _ in range(3):
            await post(line)
        await line.aclose()
        await post(line)
        await line.aclose()

    with serving() as server:
        asyncio.run(run(endpoint(server)))
        assert (len(server.requests), server.connections) == (4, 2)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_line_can_be_used_in_one_event_loop_after_the_other():
    with serving() as server:
        line = EndpointClient(endpoint(server))
        # Not closed: the connection stays behind in a loop that is no more.
        asyncio.run(post(line))
        asyncio.run(post(line))
        assert (len(server.requests), server.connections) == (2, 2)
        del line
        gc.collect()


def test_closing_in_another_loop_or_before_use_does_nothing():
    line = EndpointClient(Endpoint(url="http://127.0.0.1:1"))
    asyncio.run(line.aclose())


@pytest.mark.parametrize("name", ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"])
def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(name, monkeypatch):
    monkeypatch.setenv(name, "http://127.0.0.1:1")
    with serving() as server:
        assert post_once(endpoint(server))


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "gopher://127.0.0.1:1"])
def test_a_proxy_that_cannot_be_used_is_said_in_a_sentence(proxy, monkeypatch):
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(ModelError, match=r"`models\.example` cannot be asked") as raised:
        post_once(Endpoint(url="http://models.example/v1"))
    assert raised.value.hint
    assert not raised.value.is_transient


def test_a_proxy_is_asked_for_other_machines(monkeypatch):
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with serving() as server:
        monkeypatch.setenv("HTTP_PROXY", server.url)
        # The server is no proxy, and sees the whole address as its path.
        assert post_once(Endpoint(url="http://models.example")) == []
        assert server.requests[0].path == f"http://models.example{PATH}"


def test_a_closed_port_cannot_be_reached():
    host = f"127.0.0.1:{free_port()}"
    with pytest.raises(NetworkFailed, match=f"`{host}` cannot be reached") as raised:
        post_once(Endpoint(url=f"http://{host}"))
    assert raised.value.is_transient
    assert not isinstance(raised.value, TimedOut)


def test_a_connection_that_is_not_accepted_times_out():
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        host, port = deaf.getsockname()
        with socket.create_connection((host, port)):
            where = Endpoint(url=f"http://{host}:{port}", timeouts=Timeouts(connect=0.05))
            with pytest.raises(TimedOut, match="did not accept the connection in time"):
                post_once(where)


@pytest.mark.parametrize(
    "answer", [HangUp(), Script(drop=0), Script(drop=3)], ids=["no-answer", "no-event", "mid-stream"]
)
def test_a_dropped_connection(answer):
    with serving(answer) as server, pytest.raises(NetworkFailed, match="closed the connection") as raised:
        post_once(endpoint(server))
    assert not isinstance(raised.value, TimedOut)


@pytest.mark.parametrize("key", ["sk-top-secret\nx", "sk-tøp-secret", "sk-top\x00secret"])
def test_a_key_that_no_header_can_hold_is_not_shown(key):
    async def run(where: Endpoint) -> None:
        async with EndpointClient(where).open(PATH, {"x-api-key": where.key}, BODY):
            pass

    with pytest.raises(AuthFailed) as raised:
        asyncio.run(run(Endpoint(url="http://127.0.0.1:1", key=key)))
    assert "secret" not in f"{raised.value!r} {raised.value.hint} {raised.value.__context__!r}"
    assert "`x-api-key`" in raised.value.message


def test_no_key_is_logged(caplog):
    caplog.set_level(logging.DEBUG)
    with serving() as server:
        post_once(endpoint(server))
    assert "HTTP Request" in caplog.text
    assert KEY not in caplog.text


def test_half_a_surrogate_pair_does_not_stop_a_request():
    assert encode_body({"text": "a\ud83d b 😀 ü"}) == '{"text": "a? b 😀 ü"}'.encode()
    assert encode_body({"text": "😀"}) == '{"text":"😀"}'.encode()


@pytest.mark.parametrize("module", ["holdfast", "holdfast.models.model", "holdfast.models.remote"])
def test_httpx2_is_loaded_when_something_is_sent_and_not_before(module):
    code = f"import sys, {module}; print([n for n in sys.modules if n.startswith(('httpx', 'httpcore'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
