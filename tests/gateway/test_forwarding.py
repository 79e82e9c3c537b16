"""What passes the gateway arrives as it was sent, in both directions."""

import asyncio
import gzip
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import brotli
import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.gateway_server import gateway_before
from gateway.upstream_server import STREAM, upstream
from holdfast.errors import InputError
from holdfast.gateway import forwarding, replies
from holdfast.gateway.access import AccessRules
from holdfast.gateway.forwarding import MOST_BODY
from holdfast.gateway.serving import open_socket
from holdfast.gateway.wires import check_upstream, find_route, upstream_target
from support.free_port import free_port


def test_bytes_headers_query_and_status_pass_as_they_are() -> None:
    answer = b'{ "id":"x",\n  "odd": "\\u00e9",  "n": 1.0 }'
    told = [("request-id", "req_1"), ("anthropic-ratelimit-tokens-remaining", "7"), ("retry-after", "3")]
    sent = {"x-api-key": "sk-test", "anthropic-version": "2023-06-01", "X-Stainless-Retry-Count": "2"}
    body = b'{"model" : "m",  "messages":[ {"role":"user","content":"a\\u0301"} ]}'
    with upstream(answer, 429, told) as (address, seen), gateway_before(address) as gateway:
        got = httpx2.post(f"{gateway}/v1/messages?beta=true&x=%2F", content=body, headers=sent)
    method, path, headers, arrived = seen.requests[0]
    assert (method, path, arrived) == ("POST", "/v1/messages?beta=true&x=%2F", body)
    assert {name.lower(): value for name, value in headers}.items() >= {
        name.lower(): value for name, value in sent.items()
    }.items()
    assert (got.status_code, got.content) == (429, answer)
    assert {name: got.headers[name] for name, _ in told} == dict(told)


@pytest.mark.parametrize(("encoding", "compress"), [("gzip", gzip.compress), ("br", brotli.compress)])
def test_compressed_bodies_pass_compressed(encoding, compress) -> None:
    packed = compress(b'{"messages": []}')
    told = [("content-encoding", encoding)]
    with (
        upstream(packed, headers=told) as (address, seen),
        gateway_before(address) as gateway,
        httpx2.Client() as client,
    ):
        headers = {"content-encoding": encoding, "accept-encoding": "gzip, br, zstd"}
        request = client.build_request(
            "POST", f"{gateway}/v1/chat/completions", content=packed, headers=headers
        )
        response = client.send(request, stream=True)
        assert b"".join(response.iter_raw()) == packed
        response.close()
    assert seen.requests[0].body == packed
    assert dict(seen.requests[0].headers)["accept-encoding"] == "gzip, br, zstd"


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.binary(max_size=5_000), st.binary(max_size=5_000))
def test_any_bytes_pass(body, answer) -> None:
    with upstream(answer) as (address, seen), gateway_before(address) as gateway:
        assert httpx2.post(f"{gateway}/v1/responses", content=body).content == answer
    assert seen.requests[0].body == body


@pytest.mark.parametrize(
    "path", ["/v1/models", "/v1/messages/count_tokens", "/v1/files/a%20b", "/v1beta/models"]
)
def test_other_paths_and_methods_pass_too(path) -> None:
    with upstream(b"{}") as (address, seen), gateway_before(address) as gateway:
        assert httpx2.get(f"{gateway}{path}").status_code == 200
        assert httpx2.delete(f"{gateway}{path}").status_code == 200
    assert [(method, path) for method, path, *_ in seen.requests] == [("GET", path), ("DELETE", path)]


def test_a_connection_is_kept_for_the_next_request() -> None:
    with upstream() as (address, _), gateway_before(address) as gateway, httpx2.Client() as client:
        ports = set()
        for _ in range(3):
            response = client.post(f"{gateway}/v1/responses", content=b"{}")
            ports.add(response.extensions["network_stream"].get_extra_info("client_addr"))
    assert len(ports) == 1


def test_a_client_that_leaves_ends_the_request_upstream() -> None:
    with (
        upstream(b"data: 1\n\n", headers=[STREAM], endless=True) as (address, seen),
        gateway_before(address) as gateway,
    ):
        with httpx2.stream("POST", f"{gateway}/v1/messages", content=b"{}") as response:
            next(response.iter_raw())
        assert seen.left.wait(30)


def test_redirects_are_passed_on_and_not_followed() -> None:
    told = [("location", "http://127.0.0.1:9/elsewhere")]
    with upstream(b"", 307, told) as (address, seen), gateway_before(address) as gateway:
        got = httpx2.post(f"{gateway}/v1/messages", content=b"{}", headers={"x-api-key": "k"})
    assert (got.status_code, got.headers["location"]) == (307, "http://127.0.0.1:9/elsewhere")
    assert len(seen.requests) == 1


def test_a_provider_that_is_not_there_is_an_error_in_its_own_form() -> None:
    port = free_port()
    with gateway_before(f"http://127.0.0.1:{port}") as gateway:
        anthropic = httpx2.post(f"{gateway}/v1/messages", content=b"{}")
        openai = httpx2.post(f"{gateway}/v1/chat/completions", content=b"{}")
        gemini = httpx2.post(f"{gateway}/v1beta/models/m:generateContent", content=b"{}")
    assert [r.status_code for r in (anthropic, openai, gemini)] == [502, 502, 502]
    said = anthropic.json()["error"]["message"]
    assert said.startswith(f"holdfast gateway: 127.0.0.1:{port} cannot be reached")
    assert openai.json()["error"]["type"] == "gateway_error"
    assert gemini.json()["error"]["code"] == 502


def test_a_websocket_is_told_to_do_without() -> None:
    headers = {
        "upgrade": "websocket",
        "connection": "Upgrade",
        "sec-websocket-key": "x",
        "sec-websocket-version": "13",
    }
    with upstream() as (address, seen), gateway_before(address) as gateway:
        assert httpx2.get(f"{gateway}/v1/responses", headers=headers).status_code == 426
        assert httpx2.head(f"{gateway}/").status_code == 200
    assert not seen.requests


def test_a_body_that_is_too_large_is_refused() -> None:
    with upstream() as (address, seen), gateway_before(address) as gateway:
        assert httpx2.post(f"{gateway}/v1/messages", content=b"x" * (MOST_BODY + 1)).status_code == 413
        assert httpx2.post(f"{gateway}/v1/messages", content=b"x" * MOST_BODY).status_code == 200
    assert [len(body) for *_, body in seen.requests] == [MOST_BODY]


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "127.0.0.1.evil.example:80"},
        {"host": "[::1].evil.example"},
        {"host": "localhost:1@evil.example"},
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:1234"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
    ],
)
def test_a_page_in_a_browser_cannot_use_it(headers) -> None:
    with upstream() as (address, seen), gateway_before(address) as gateway:
        got = httpx2.post(f"{gateway}/v1/messages", content=b"{}", headers=headers)
    assert (got.status_code, seen.requests) == (403, [])


def test_it_is_no_open_proxy() -> None:
    """An address in place of a path changes nothing: only the configured provider is asked."""
    with (
        upstream() as (address, seen),
        gateway_before(address) as gateway,
        socket.create_connection(("127.0.0.1", int(gateway.rpartition(":")[2]))) as one,
    ):
        one.sendall(b"GET http://127.0.0.1:9/v1/models HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        assert one.recv(4_000).startswith(b"HTTP/1.1 200")
        one.sendall(b"CONNECT evil.example:443 HTTP/1.1\r\nhost: evil.example\r\n\r\n")
        assert b" 200 " not in one.recv(4_000).partition(b"\r\n")[0]
    assert [path for _, path, *_ in seen.requests] == ["/v1/models"]


@contextmanager
def raw_upstream(reply: bytes) -> Iterator[str]:
    """A server that answers one request with just these bytes, and then is gone."""

    def answer() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(65_536)
            connection.sendall(reply)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=answer)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


def test_a_reply_in_chunks_arrives_whole_whatever_length_it_claims() -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n"
    with raw_upstream(head + b"5\r\nhello\r\n0\r\n\r\n") as address, gateway_before(address) as gateway:
        assert httpx2.post(f"{gateway}/v1/messages", content=b"{}").content == b"hello"


def test_with_a_token_any_name_of_the_machine_will_do() -> None:
    """It may listen on all addresses of a machine, and others know it by names that it does not."""
    access = AccessRules("t0k", ("0.0.0.0",))
    with upstream() as (address, seen), gateway_before(address, access=access) as gateway:
        for path, status in (("/t0k/v1/models", 200), ("/v1/models", 401)):
            got = httpx2.get(gateway + path, headers={"host": "build-server.lan:8427"})
            assert got.status_code == status
    assert [path for _, path, *_ in seen.requests] == ["/v1/models"]


def test_with_a_token_only_those_who_know_it() -> None:
    with upstream() as (address, seen), gateway_before(address, access=AccessRules(token="t0k")) as gateway:
        assert httpx2.post(f"{gateway}/v1/messages", content=b"{}").status_code == 401
        assert httpx2.post(f"{gateway}/wrong/v1/messages", content=b"{}").status_code == 401
        assert httpx2.post(f"{gateway}/t0k/v1/messages", content=b"{}").status_code == 200
    assert [path for _, path, *_ in seen.requests] == ["/v1/messages"]


def test_many_streams_at_once() -> None:
    lines = b"".join(b"data: %d\n\n" % n for n in range(200))

    async def all_of_them(gateway: str) -> list[bytes]:
        async with httpx2.AsyncClient(timeout=60, limits=httpx2.Limits(max_connections=None)) as client:
            asked = (client.post(f"{gateway}/v1/messages", content=b"{}") for _ in range(60))
            return [response.content for response in await asyncio.gather(*asked)]

    with upstream(lines, headers=[STREAM]) as (address, _), gateway_before(address) as gateway:
        assert asyncio.run(all_of_them(gateway)) == [lines] * 60


@pytest.mark.parametrize(
    ("method", "path", "headers", "wanted"),
    [
        ("POST", "/v1/messages", {}, ("anthropic", "anthropic")),
        ("POST", "/v1/messages/count_tokens", {}, ("anthropic", None)),
        ("POST", "/v1/chat/completions", {}, ("openai", "openai")),
        ("POST", "/openai/deployments/x/chat/completions", {}, ("openai", "openai")),
        ("POST", "/v1/responses", {}, ("openai", "responses")),
        ("POST", "/v1/responses/compact", {}, ("openai", None)),
        ("POST", "/v1beta/models/gemini-3:streamGenerateContent", {}, ("gemini", "gemini")),
        ("POST", "/v1beta/models/gemini-3:countTokens", {}, ("gemini", None)),
        ("GET", "/v1/models", {"anthropic-version": "2023-06-01"}, ("anthropic", None)),
        ("GET", "/v1/models", {}, ("openai", None)),
        ("GET", "/v1/models", {"x-goog-api-key": "k"}, ("gemini", None)),
    ],
)
def test_which_provider_a_request_is_for(method, path, headers, wanted) -> None:
    route = find_route(method, path, headers)
    assert (route.wire, route.format) == wanted


def test_an_upstream_may_end_in_its_version() -> None:
    assert upstream_target("http://h/v1", b"/v1/chat/completions", b"") == b"/v1/chat/completions"
    assert upstream_target("http://h/v1/", b"/v1/models", b"a=1") == b"/v1/models?a=1"
    assert upstream_target("http://h/x", b"/v1/models", b"") == b"/x/v1/models"
    assert upstream_target("https://h:1", b"/v1/models", b"") == b"/v1/models"


@pytest.mark.parametrize(
    "address",
    [
        *("", "h", "ftp://h", "http://user@h", "http://h/?q", "http://h h"),
        *("http://h:99999", "http://h:0", "http://h:x", "http://[::1"),
    ],
)
def test_what_cannot_be_an_upstream(address) -> None:
    with pytest.raises(InputError, match="cannot be the upstream"):
        check_upstream("openai", address)


def test_a_port_that_is_taken_is_told_in_a_sentence() -> None:
    with open_socket("127.0.0.1", 0) as taken, pytest.raises(InputError, match="cannot listen"):
        open_socket("127.0.0.1", taken.getsockname()[1])


@pytest.mark.parametrize("host", ["no-such-host.invalid", "192.0.2.1"])
def test_an_address_of_another_machine_is_told_by_its_option(host) -> None:
    with pytest.raises(InputError, match="cannot listen") as refused:
        open_socket(host, 0)
    assert "--host" in refused.value.hint


HALF = b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 100\r\n\r\n{"


def test_a_request_that_never_becomes_whole_is_not_passed_on(monkeypatch) -> None:
    with upstream() as (url, seen), gateway_before(url) as gateway:
        host, _, port = gateway.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port))) as client:
            client.sendall(HALF)
        monkeypatch.setattr(forwarding, "BODY_SECONDS", 0.05)
        with socket.create_connection((host, int(port))) as client:
            client.sendall(HALF)
            assert client.recv(1_000).startswith(b"HTTP/1.1 408 ")
        httpx2.post(f"{gateway}/v1/messages", content=b"{}")
    assert [request.body for request in seen.requests] == [b"{}"]


def test_a_small_body_that_expands_without_end_is_not_read(monkeypatch) -> None:
    monkeypatch.setattr(replies, "MOST_PLAIN", 100_000)
    assert replies.plain_bytes(gzip.compress(b"a" * 90_000), "gzip") == b"a" * 90_000
    with pytest.raises(httpx2.DecodingError, match="more than 100000 bytes"):
        replies.plain_bytes(gzip.compress(b"a" * 200_000), "gzip")
