"""Another program may hold the store: requests do not wait for it, and what was sent stays as it was sent."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from gateway.client_lists import body, first_turn, list_in, long_text, said, send, step
from gateway.gateway_server import gateway_before, remarks
from gateway.upstream_server import upstream
from holdfast.gateway import forwarding
from holdfast.gateway.conversations import MODE, REQUEST
from holdfast.store import SqliteStore
from support.waiting import wait_until

RUN = {"command": "python other.py"}


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another program writes to the store; requests wait for it only a little."""
    with closing(sqlite3.connect(path)) as other, pytest.MonkeyPatch.context() as patch:
        patch.setattr(forwarding, "REWRITE_SECONDS", 1.0)
        other.execute("begin immediate")
        yield
        other.rollback()


def test_a_store_that_is_locked_does_not_hold_a_request(tmp_path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    sent = body("openai", first_turn("openai", long_text()))
    settings = {"files": tmp_path / "texts", "mode": "safe"}
    with upstream() as (url, seen), gateway_before(url, store, **settings) as gateway:
        send(gateway, "openai", body("openai", [said("openai", "user", "Why does it fail?")]))
        wait_until(lambda: len(remarks(store, REQUEST)) == 1)
        with locked(tmp_path / "store.db"):
            assert send(gateway, "openai", sent).status_code == 200
    assert seen.requests[1].body == sent
    assert "in time" in remarks(store, REQUEST)[1].data["fault"]


@pytest.mark.parametrize("restarts", [False, True])
def test_what_was_sent_while_the_store_was_locked_stays_as_it_was_sent(tmp_path, restarts) -> None:
    """What was replaced before is replaced all the same; what is new goes whole, then and later."""
    store = SqliteStore(tmp_path / "store.db")
    settings = {"files": tmp_path / "texts", "mode": "safe"}
    first = first_turn("openai", long_text())
    second = [*first, *step("openai", 2, "Bash", RUN, long_text(name="other"))]
    third = [*second, *step("openai", 3, "Bash", RUN, long_text(name="third"))]
    with upstream() as (url, seen):
        with gateway_before(url, store, **settings) as gateway:
            send(gateway, "openai", body("openai", first))
            wait_until(lambda: len(remarks(store, REQUEST)) == 1)
            with locked(tmp_path / "store.db"):
                assert send(gateway, "openai", body("openai", second)).status_code == 200
            wait_until(lambda: len(remarks(store, REQUEST)) == 2)
            if not restarts:
                send(gateway, "openai", body("openai", third))
        if restarts:
            with gateway_before(url, store, **settings) as gateway:
                send(gateway, "openai", body("openai", third))
    shown = [
        [message["content"] for message in list_in("openai", request.body) if message["role"] == "tool"]
        for request in seen.requests
    ]
    assert shown[0][0].startswith("[holdfast:")
    assert shown[1] == [shown[0][0], long_text(name="other")]
    assert shown[2][:2] == shown[1]
    (switched,) = remarks(store, MODE)
    assert switched.text == "watch"
    assert "in time" in switched.data["why"]
    assert shown[2][2] == long_text(name="third")
    accounts = [remark.data for remark in remarks(store, REQUEST)]
    assert accounts[1]["removed"] == accounts[0]["removed"]
    assert [account["removed_now"] > 0 for account in accounts] == [True, False, False]
