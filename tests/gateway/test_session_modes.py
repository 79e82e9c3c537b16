"""A session keeps its mode: what was sent to the provider once is not sent otherwise later."""

import pytest

from gateway.client_lists import body, first_turn, list_in, long_text, said, send
from gateway.gateway_server import gateway_before, remarks
from gateway.test_fold_mode import BUDGET, tokens, work
from gateway.upstream_server import upstream
from holdfast.gateway.conversations import MODE
from holdfast.store import SqliteStore


@pytest.mark.parametrize(("first", "then"), [("safe", "fold"), ("fold", "safe")])
def test_a_session_that_is_changed_already_keeps_its_mode(tmp_path, first, then) -> None:
    store = SqliteStore(tmp_path / "store.db")
    settings = {"files": tmp_path / "texts", "budget": 4 * BUDGET}
    asked = first_turn("anthropic", long_text())
    later = [*asked, said("anthropic", "assistant", "The ledger."), said("anthropic", "user", "Why?")]
    with upstream() as (url, seen):
        for mode, messages in ((first, asked), (then, later)):
            with gateway_before(url, store, mode=mode, **settings) as gateway:
                send(gateway, "anthropic", body("anthropic", messages))
    before, after = (list_in("anthropic", request.body) for request in seen.requests)
    assert before != asked
    assert after[: len(before)] == before
    assert remarks(store, MODE) == []


def test_a_session_stays_in_fold_when_the_gateway_is_started_in_watch(tmp_path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    settings = {"files": tmp_path / "texts", "budget": BUDGET}
    lists = work("openai", 30)
    with upstream() as (url, seen):
        for mode, messages in (("watch", lists[1]), ("fold", lists[-2]), ("watch", lists[-1])):
            with gateway_before(url, store, mode=mode, **settings) as gateway:
                send(gateway, "openai", body("openai", messages))
    assert [tokens(request.body) <= BUDGET for request in seen.requests] == [True] * 3
    assert [remark.text for remark in remarks(store, MODE)] == ["fold"]


def test_a_gateway_in_watch_knows_what_another_one_replaced_meanwhile(tmp_path) -> None:
    store, other = SqliteStore(tmp_path / "store.db"), SqliteStore(tmp_path / "store.db")
    asked = first_turn("openai", long_text())
    later = [*asked, said("openai", "assistant", "The ledger."), said("openai", "user", "Why?")]
    with upstream() as (url, seen), gateway_before(url, store, files=tmp_path / "texts") as watching:
        with gateway_before(url, other, files=tmp_path / "texts", mode="safe") as changing:
            send(changing, "openai", body("openai", asked))
        send(watching, "openai", body("openai", later), session="s2")
        send(watching, "openai", body("openai", later))
    sent = [list_in("openai", request.body) for request in seen.requests]
    assert sent[0] != asked
    assert [one[:3] for one in sent[1:]] == [sent[0]] * 2
