"""What a client may send that is not quite HTTP, or that takes too long: refused, or passed on as it is."""

import gzip
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest

from gateway.client_lists import body, first_turn, long_text, send
from gateway.gateway_server import gateway_before, remarks
from gateway.upstream_server import upstream
from holdfast.gateway import forwarding, serving
from holdfast.store import MemoryStore

HOST = b"host: 127.0.0.1\r\n"
POST = b"POST /v1/messages HTTP/1.1\r\n" + HOST
CHUNKS = b"3\r\nabc\r\n0\r\n\r\n"
KEY = "sk-ant-api03-" + "A1b2C3d4" * 11 + "-AbCdEfGA"


def answer_to(gateway: str, sent: bytes) -> bytes:
    """The first line of what the gateway answers to these bytes."""
    with socket.create_connection(("127.0.0.1", int(gateway.rpartition(":")[2])), timeout=30) as client:
        client.sendall(sent)
        return client.recv(4_000).partition(b"\r\n")[0]


@pytest.mark.parametrize(
    "sent",
    [
        POST + b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n" + CHUNKS,
        POST + b"transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n" + CHUNKS,
        POST + b"transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n" + CHUNKS,
        POST + b"transfer-encoding: xchunked\r\n\r\n" + CHUNKS,
        POST + b"content-length: 3\r\ncontent-length: 4\r\n\r\nabcd",
        POST + b"transfer-encoding: chunked\r\n\r\n-3\r\nabc\r\n0\r\n\r\n",
        POST + b"transfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\nabc\r\n0\r\n\r\n",
        POST + b"x-a: 1\r\n  folded\r\ncontent-length: 2\r\n\r\n{}",
        POST + b"x-a: 1\x01\r\ncontent-length: 2\r\n\r\n{}",
        POST + b"x-a : 1\r\ncontent-length: 2\r\n\r\n{}",
        POST.replace(b"\r\n", b"\n") + b"content-length: 2\n\n{}",
    ],
)
def test_what_two_servers_could_read_differently_is_refused(sent) -> None:
    with upstream() as (url, seen), gateway_before(url) as gateway:
        assert answer_to(gateway, sent) == b"HTTP/1.1 400 Bad Request"
    assert seen.requests == []


@pytest.mark.parametrize("upgrade", [b"h2c", b"websocket", b"TLS/1.0"])
def test_a_request_for_another_protocol_is_told_to_do_without(upgrade) -> None:
    """The server does not read the body of such a request, so it must not pass without it."""
    headers = b"connection: Upgrade\r\nupgrade: %b\r\ncontent-length: 2\r\n\r\n{}" % upgrade
    with upstream() as (url, seen), gateway_before(url) as gateway:
        assert answer_to(gateway, POST + headers).startswith(b"HTTP/1.1 426 ")
    assert seen.requests == []


@pytest.mark.parametrize(
    "target",
    [
        b'/v1/a|b{c}"<>^`?a=b|c&d={"x"}&e=%7b%7B&f=[]',
        b"/v1/%c3%a9%7e%41?q=%c3%7e+%20",
        b"/v1/../files/./x",
        b"/v1/%2e%2e/files%2Fx",
        b"/v1//models",
        b"/v1/models?",
        b"/v1/%00%0d%0aX:1",
    ],
)
def test_a_path_passes_byte_for_byte(target) -> None:
    with upstream() as (url, seen), gateway_before(f"{url}/base") as gateway:
        assert answer_to(gateway, b"GET " + target + b" HTTP/1.1\r\n" + HOST + b"\r\n") == b"HTTP/1.1 200 OK"
    # A question mark with nothing behind it says nothing.
    assert [path for _, path, *_ in seen.requests] == ["/base" + target.decode().removesuffix("?")]


def test_what_comes_behind_a_body_is_no_header() -> None:
    sent = POST + b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nx-api-key: other\r\n\r\n"
    with upstream() as (url, seen), gateway_before(url) as gateway:
        assert answer_to(gateway, sent) == b"HTTP/1.1 200 OK"
    assert seen.requests[0].body == b"{}"
    assert "x-api-key" not in dict(seen.requests[0].headers)


@pytest.mark.parametrize("sent", [b"", b"POST /v1/messages HTTP/1.1\r\nhost: 127"])
def test_a_connection_without_a_request_is_closed(monkeypatch, sent) -> None:
    monkeypatch.setattr(serving, "HEAD_SECONDS", 1.0)
    with upstream() as (url, seen), gateway_before(url) as gateway:
        port = int(gateway.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
            client.sendall(sent)
            assert client.recv(1_000) == b""
        whole = POST + b"content-length: 2\r\n\r\n{}"
        with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
            client.sendall(whole)
            # The next request on the same connection has no more time than the first.
            client.sendall(b"POST /v1")
            assert b"".join(iter(lambda: client.recv(1_000), b"")).startswith(b"HTTP/1.1 200 OK")
    assert len(seen.requests) == 1


@contextmanager
def endless_refusal() -> Iterator[str]:
    """A provider whose refusals never end."""

    def answer() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                connection.recv(65_536)
                try:
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                    while True:
                        connection.sendall(b"no " * 10_000)
                except OSError:
                    continue

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=answer, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


def test_a_refusal_without_end_is_passed_on_as_it_comes(tmp_path) -> None:
    sent = body("openai", first_turn("openai", long_text()))
    settings = {"files": tmp_path, "mode": "safe"}
    with (
        endless_refusal() as url,
        gateway_before(url, MemoryStore(), **settings) as gateway,
        httpx2.stream("POST", f"{gateway}/v1/chat/completions", content=sent, timeout=30) as reply,
    ):
        assert reply.status_code == 400
        size = 0
        for piece in reply.iter_raw():
            assert piece.strip(b"no ") == b""
            size += len(piece)
            if size > 2 * forwarding.MOST_REFUSAL:
                break


def test_a_compressed_error_is_noted_in_words_and_without_the_key() -> None:
    said = f'{{"error": {{"message": "Incorrect API key provided: {KEY}"}}}}'
    store = MemoryStore()
    told = [("content-encoding", "gzip"), ("content-type", "application/json")]
    with (
        upstream(gzip.compress(said.encode()), 401, told) as (url, _),
        gateway_before(url, store) as gateway,
    ):
        reply = send(gateway, "openai", body("openai", [{"role": "user", "content": "Hi."}]))
    assert reply.text == said
    (noted,) = remarks(store, "provider")
    assert noted.text.startswith('HTTP 401: {"error": {"message": "Incorrect API key provided: ')
    assert KEY not in noted.text
