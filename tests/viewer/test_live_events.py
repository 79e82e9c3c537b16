"""Server-sent events: what pages are told while another process writes, and how few of them there are."""

import asyncio
import http.client
import json
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from holdfast.models.catalogue import load_catalogue, model_lookup
from holdfast.packing.profile import CODE
from holdfast.store import MemoryStore, SqliteStore
from holdfast.viewer.library import SessionLibrary
from holdfast.viewer.live import MOST_PAGES, LiveSessions
from holdfast.viewer.store_place import StorePlace
from viewer.conftest import viewer
from viewer.other_process import other_process
from viewer.session_samples import keep, long_work
from viewer.test_viewer_server import ask, value
from viewer.view_program import end, serve

pytestmark = pytest.mark.slow


class EventStream:
    def __init__(self, address):
        at = urlsplit(address)
        self._connection = http.client.HTTPConnection(at.netloc, timeout=60)
        self._connection.request("GET", f"{at.path}api/events")
        self.answer = self._connection.getresponse()

    def next(self):
        """The next event; None at the end of the stream."""
        line = self.answer.readline()
        if not line:
            return None
        assert line.startswith(b"data: ")
        assert self.answer.readline() == b"\n"
        return json.loads(line[6:])

    def close(self):
        self.answer.close()
        self._connection.close()


@pytest.fixture
def live(tmp_path):
    """The address of a viewer, and another process that writes to its store."""
    place = tmp_path / "store.db"
    with other_process(place) as other, closing(StorePlace(place)) as store, viewer(store) as address:
        yield address, other


def heard(stream, session, entries):
    """Read events until the session has so many entries: a page may be told of some at once, or one by one."""
    while True:
        event = stream.next()
        for row in event["sessions"]:
            if row["id"] == session and row["entries"] == entries:
                return event


def test_a_page_is_told_of_new_sessions_new_requests_and_deleted_ones(live):
    address, other = live
    first = other.begin("first")
    stream = EventStream(address)
    everything = stream.next()
    assert (everything["is_live"], everything["is_all"]) == (True, True)
    assert [row["id"] for row in everything["sessions"]] == [first]
    second = other.begin("second")
    event = heard(stream, second, 2)
    assert not event["is_all"]
    assert first not in [row["id"] for row in event["sessions"]]
    other.step(first)
    heard(stream, first, 4)
    other.delete(second)
    while not (gone := stream.next()["gone"]):
        pass
    assert gone == [second]
    stream.close()


def test_new_requests_are_added_to_the_timeline_that_is_known(live):
    address, other = live
    log = other.begin("work")
    other.step(log)
    other.step(log)
    base = f"api/sessions/{log}"
    known = value(address, f"{base}/timeline")
    other.step(log)
    more = value(address, f"{base}/timeline?history={known['history']}&first=1")
    assert (more["history"], more["first"], len(more["tokens"])) == (known["history"], 1, 2)
    assert more["tokens"][0] == known["tokens"][1]
    assert len(value(address, f"{base}/timeline?history=other&first=1")["tokens"]) == 3
    assert value(address, f"{base}/figures")["requests"] == 3
    assert value(address, f"{base}/requests/3")["number"] == 3


def test_nothing_is_watched_while_no_page_listens(tmp_path):
    place = tmp_path / "store.db"
    with SqliteStore(place) as written:
        keep(written, "sample", long_work(4, 2))

    async def listen_and_leave(library):
        feed, told, left = LiveSessions(library), [], asyncio.Event()

        async def receive():
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            told.append(message)
            if message.get("more_body"):
                left.set()

        assert len(asyncio.all_tasks()) == 1
        await feed.serve({"type": "http.response.start"}, receive, send)
        watching = asyncio.all_tasks() - {asyncio.current_task()}
        assert len(watching) == 1
        await asyncio.wait_for(asyncio.gather(*watching), 60)
        return [message["type"] for message in told]

    with closing(StorePlace(place)) as store:
        library = SessionLibrary([store], model_lookup(load_catalogue()), lambda *_: CODE)
        told = asyncio.run(listen_and_leave(library))
    assert told == ["http.response.start", "http.response.body", "http.response.body"]


def test_more_pages_than_connections_are_refused_in_a_sentence_until_one_leaves(live):
    address, other = live
    other.begin("work")
    streams = [EventStream(address) for _ in range(MOST_PAGES)]
    assert [stream.next()["is_all"] for stream in streams] == [True] * MOST_PAGES
    answer, body = ask(address, "api/events")
    assert answer.status == 503
    assert f"{MOST_PAGES} pages are live already" in json.loads(body)["error"]
    streams.pop().close()
    while (late := EventStream(address)).answer.status == 503:
        late.close()
    assert late.next()["is_all"]
    for stream in [*streams, late]:
        stream.close()


def test_a_stream_has_the_policy_of_a_page_and_its_rules_of_access(live):
    address, other = live
    other.begin("work")
    stream = EventStream(address)
    assert stream.answer.headers["content-type"] == "text/event-stream"
    assert "default-src 'none'" in stream.answer.headers["content-security-policy"]
    assert stream.answer.headers["cache-control"] == "no-store"
    stream.close()
    at = urlsplit(address)
    assert ask(f"http://{at.netloc}/wrong/", "api/events")[0].status == 401
    assert ask(address, "api/events", Origin="http://evil.example")[0].status == 403
    assert ask(address, "api/events", Host="evil.example")[0].status == 403
    assert ask(address, "api/events", "POST")[0].status == 405
    assert ask(address, "api/events", "HEAD")[0].status == 404


def test_a_recording_in_memory_is_told_once():
    store = MemoryStore()
    keep(store, "sample", long_work(4, 2))
    with viewer(store) as address:
        stream = EventStream(address)
        assert stream.next()["is_live"] is False
        assert stream.next() is None
        stream.close()


def test_ctrl_c_ends_the_streams_and_does_not_wait_for_them(tmp_path):
    place = tmp_path / "store.db"
    with SqliteStore(place) as store:
        keep(store, "sample", long_work(4, 2))
    program, address, _ = serve("--store", place)
    stream = EventStream(address)
    assert stream.next()["is_all"]
    end(program)
    # One that the server had waited for and then cut off would have no end: IncompleteRead.
    assert stream.answer.read() == b""
    stream.close()
