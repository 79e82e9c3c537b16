"""Where a provider is: addresses, and what may not be seen of them."""

import pytest

from holdfast.errors import ConfigError
from holdfast.models.transport import Endpoint, EndpointClient

KEY = "sk-loopback-0123456789"


def test_no_key_is_shown():
    where = Endpoint(
        url="https://models.example/v1?sig=hidden", key=KEY, headers={"cookie": "session=0123456789"}
    )
    assert KEY not in repr(where)
    assert "0123456789" not in repr(where)
    assert "hidden" not in repr(where)
    assert KEY not in repr(EndpointClient(where))


def test_secrets_are_taken_out_of_what_others_say():
    headers = {"X-Api-Token": "tok-abcdefgh", "authorization": "Bearer abcdefgh-123", "x-title": "holdfast"}
    where = Endpoint(url="https://models.example", key=f" {KEY}\n", headers=headers)
    said = f"no: {KEY}, tok-abcdefgh, abcdefgh-123, Bearer abcdefgh-123; by holdfast"
    assert where.clean(said) == "no: <REDACTED>, <REDACTED>, <REDACTED>, <REDACTED>; by holdfast"
    assert where.clean(f"no: {KEY[:12]}…") == "no: <REDACTED>…"
    assert where.clean(f"no: {KEY[:7]}…") == f"no: {KEY[:7]}…"
    assert Endpoint(url="http://localhost", key="EMPTY").clean("EMPTY reply") == "EMPTY reply"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "models.example",
        "ftp://models.example",
        "http://",
        "https:///v1",
        "http://h:port/",
        "http://[::1/",
    ],
)
def test_a_base_url_that_is_none(url):
    with pytest.raises(ConfigError, match="not a web address") as raised:
        Endpoint(url=url)
    assert raised.value.hint


def test_a_password_in_a_base_url_is_refused_and_not_said():
    with pytest.raises(ConfigError) as raised:
        Endpoint(url="https://me:hunter22@models.example/v1")
    assert "hunter22" not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://models.example", "https://models.example/v1/messages"),
        ("https://models.example/", "https://models.example/v1/messages"),
        ("https://models.example/api/", "https://models.example/api/v1/messages"),
        ("https://models.example/api?version=3#x", "https://models.example/api/v1/messages?version=3"),
        ("http://[::1]:8080", "http://[::1]:8080/v1/messages"),
    ],
)
def test_addresses(url, address):
    assert Endpoint(url=url).at("/v1/messages") == address


@pytest.mark.parametrize(
    ("host", "is_own"),
    [
        ("localhost", True),
        ("LOCALHOST:11434", True),
        ("models.localhost", True),
        ("127.0.0.1:8000", True),
        ("127.9.9.9", True),
        ("[::1]:8000", True),
        ("localhost.example", False),
        ("192.168.0.1", False),
        ("models.example", False),
    ],
)
def test_which_addresses_are_this_machine(host, is_own):
    assert Endpoint(url=f"http://{host}").is_loopback is is_own
