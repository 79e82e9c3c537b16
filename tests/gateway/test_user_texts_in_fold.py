"""In `fold`, words of users reach the provider as they are, or a file has the whole and their demands are there."""

import pytest

from gateway.client_lists import FORMATS, body, list_in, send
from gateway.gateway_server import gateway_before, remarks
from gateway.upstream_server import upstream
from holdfast.gateway.conversations import MODE, REQUEST
from holdfast.ids import text_id
from holdfast.store import MemoryStore
from support.client_work import ClientWork, words_missing


@pytest.mark.slow
@pytest.mark.parametrize("format_", FORMATS)
def test_words_of_users_reach_the_provider(tmp_path, format_) -> None:
    """Every request of a session is sent: each list begins with the one before, as clients send them."""
    store, files = MemoryStore(), tmp_path / "texts"
    settings = {"files": files, "mode": "fold", "budget": 16_000}
    requests = ClientWork(5, format_, 40).requests
    with upstream() as (url, seen), gateway_before(url, store, **settings) as gateway:
        for request in requests:
            assert send(gateway, format_, body(format_, request.messages)).status_code == 200
    assert [remark.text for remark in remarks(store, MODE)] == []
    assert any(remark.data["is_folded"] for remark in remarks(store, REQUEST))
    sent = [list_in(format_, got.body) for got in seen.requests]
    missing = [words_missing(request.said, one) for request, one in zip(requests, sent, strict=True)]
    assert any(missing)
    for text, lost in (found for one in missing for found in one.items()):
        assert not lost, text[:80]
        assert (files / f"{text_id(text)}.txt").read_text() == text
