"""Sessions that a gateway changed: the page says what it shows."""

from gateway.client_lists import FORMATS, body, first_turn, long_text, send
from gateway.gateway_server import gateway_before
from gateway.upstream_server import upstream
from holdfast.models.catalogue import load_catalogue, model_lookup
from holdfast.packing.profile import CODE
from holdfast.store import SqliteStore
from holdfast.viewer.answers import timeline_of
from holdfast.viewer.library import SessionLibrary


def test_a_request_that_was_sent_shorter_than_its_list_says_so(tmp_path):
    first = first_turn(FORMATS[0], "a short result")
    second = first_turn(FORMATS[0], long_text())
    store = SqliteStore(tmp_path / "store.db")
    with upstream() as (url, _), gateway_before(url, store, files=tmp_path / "texts", mode="safe") as gateway:
        send(gateway, FORMATS[0], body(FORMATS[0], first))
        send(gateway, FORMATS[0], body(FORMATS[0], second), session="s2")
    library = SessionLibrary([store], model_lookup(load_catalogue()), lambda *_: CODE)
    sources = {row.id: row.source for row in library.rows()}
    timelines = [timeline_of(library.history(id_)) for id_, source in sources.items() if source == "gateway"]
    plain, shortened = sorted(timelines, key=lambda timeline: sum(timeline["removed"]))
    assert plain["basis"] == shortened["basis"] == "list"
    assert plain["removed"] == [0]
    assert "shorter" not in plain["remark"]
    assert shortened["removed"][0] > 1_000
    assert shortened["remark"].endswith(
        "sent large results shorter than they are here, in 1 of the 1 requests."
    )
    store.close()
