"""The server behind the page: who may ask, what is answered, and that nothing is written."""

import http.client
import json
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from holdfast.session import Session
from holdfast.store import MemoryStore, SqliteStore
from holdfast.store.read_only import ReadOnlyStore
from holdfast.viewer.application import FILES
from viewer.conftest import viewer
from viewer.session_samples import keep, long_work


@pytest.fixture(scope="module")
def served():
    store = MemoryStore()
    log = keep(store, "sample", long_work())
    with viewer(store) as address:
        yield address, log


def ask(address, path="", method="GET", **headers):
    at = urlsplit(address)
    connection = http.client.HTTPConnection(at.netloc, timeout=20)
    connection.request(method, at.path + path, headers={k.replace("_", "-"): v for k, v in headers.items()})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def value(address, path):
    answer, body = ask(address, path)
    assert answer.status == 200, body
    return json.loads(body)


def test_pages_come_with_a_strict_policy(served):
    for name in FILES:
        answer, body = ask(served[0], name)
        policy = answer.headers["content-security-policy"]
        assert answer.status == 200
        assert body
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
    page = ask(served[0])[1].decode()
    assert "<script>" not in page
    assert "style=" not in page
    assert "http" not in page


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-origin"}, 200),
    ],
)
def test_other_pages_are_refused(served, headers, status):
    assert ask(served[0], "api/sessions", **headers)[0].status == status


def test_without_the_token_nothing_is_answered(served):
    at = urlsplit(served[0])
    for path in ("/", "/api/sessions", "/wrong/api/sessions"):
        assert ask(f"http://{at.netloc}{path}")[0].status == 401


def test_only_reading_is_allowed(served):
    assert ask(served[0], "api/sessions", "POST")[0].status == 405
    assert ask(served[0], "api/sessions", "DELETE")[0].status == 405


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("api/sessions/none", 404),
        ("api/nothing", 404),
        ("../../etc/passwd", 404),
        ("api/sessions/{log}/requests/0", 404),
        ("api/sessions/{log}/requests/41", 404),
        ("api/sessions/{log}/requests/x", 400),
        ("api/sessions/{log}/requests/1/blocks/99", 404),
        ("api/sessions/{log}/requests/1/compare/41", 404),
        ("api/sessions/{log}/requests/1/compare/x", 400),
        ("api/sessions/{log}/requests/2/compare/1?what=all", 400),
        ("api/sessions/{log}/requests/41/remembered", 404),
        ("api/sessions/{log}/requests/41/left-out?words=row", 404),
        ("api/sessions/{log}/requests/1/left-out?words=row&first=x", 400),
        ("api/sessions/{log}/timeline?shown=other", 400),
        ("api/sessions/{log}/timeline?shown=preview&profile=none", 400),
        ("api/sessions/{log}/texts/a00000000000z", 404),
        ("api/sessions/none/money", 404),
        ("api/sessions/{log}/money?prices=none", 404),
        ("api/sessions/none/what-if/start", 404),
        ("api/sessions/{log}/what-if/9/cancel", 404),
        ("api/sessions/{log}/what-if/x/cancel", 400),
        ("api/sessions/{log}/what-if/9", 404),
    ],
)
def test_what_is_not_there_is_said_in_a_sentence(served, path, status):
    answer, body = ask(served[0], path.format(log=served[1]))
    assert answer.status == status
    assert json.loads(body)["error"]


def test_figures_timeline_window_and_block(served):
    address, log = served
    base = f"api/sessions/{log}"
    assert [row["id"] for row in value(address, "api/sessions")] == [log]
    figures = value(address, f"{base}/figures")
    assert (figures["requests"], figures["folds"]) == (40, 0)
    assert figures["dollars"] > 0
    timeline = value(address, f"{base}/timeline")
    assert timeline["basis"] == "list"
    assert [sum(column) for column in zip(*timeline["layers"], strict=True)] == timeline["tokens"]
    preview = "shown=preview&budget=16k"
    assert max(value(address, f"{base}/timeline?{preview}")["tokens"]) < 16_000
    blocks = value(address, f"{base}/requests/40?{preview}")["blocks"]
    cut = next(block for block in blocks if block["cuts"])
    read = value(address, f"{base}/requests/40/blocks/{cut['at']}?{preview}")
    assert len(read["original"]) > len(read["seen"])
    whole = value(address, f"{base}/texts/{read['cuts'][0]['id']}")
    assert whole["text"] == read["original"]


def test_money_and_the_models_whose_prices_can_be_chosen(served):
    address, log = served
    base = f"api/sessions/{log}"
    models = {model["name"]: model["words"] for model in value(address, "api/models")}
    assert models["anthropic/claude-haiku-4-5"].startswith("input $1, output $5")
    money = value(address, f"{base}/money")
    assert money["totals"]["session"] == pytest.approx(value(address, f"{base}/figures")["dollars"])
    assert sum(money["is_reported"]) == 40
    other = value(address, f"{base}/money?prices=anthropic/claude-haiku-4-5")
    assert other["totals"]["all"] == pytest.approx(money["totals"]["all"] / 5)
    assert value(address, f"{base}/what-if") == []


def test_a_window_comes_in_parts():
    store = MemoryStore()
    log = keep(store, "long", long_work(300))
    with viewer(store) as address:
        parts = [
            value(address, f"api/sessions/{log}/requests/300?first={first}") for first in (0, 200, 400, 600)
        ]
        assert {part["total"] for part in parts} == {603}
        assert [block["at"] for part in parts for block in part["blocks"]] == list(range(603))
        found = value(address, f"api/sessions/{log}/requests/300?words=ROW%20250%20OF")
        assert [block["tool"] for block in found["blocks"]] == ["Bash"]


def test_a_store_on_disk_is_not_changed(tmp_path):
    place = tmp_path / "store.db"
    with SqliteStore(place) as store:
        log = keep(store, "sample", long_work(8, 2))
    before = place.read_bytes()
    with ReadOnlyStore(place) as store, viewer(store) as address:
        for path in (
            "api/sessions",
            f"api/sessions/{log}/figures",
            f"api/sessions/{log}/timeline?shown=preview",
        ):
            value(address, path)
    assert place.read_bytes() == before


def test_a_log_without_its_profile_says_so_and_takes_the_one_that_is_given():
    store = MemoryStore()
    started, *work = long_work()
    log = keep(store, "live", [replace(started, origin="live"), *work])
    with viewer(store) as address:
        base = f"api/sessions/{log}/timeline"
        timeline = value(address, base)
        assert timeline["basis"] == "pack"
        assert "does not name its profile" in timeline["remark"]
        assert value(address, f"{base}?budget=16k")["budget"] == 16_000
        assert value(address, f"{base}?shown=preview")["remark"] == ""


def test_a_session_that_kept_its_profile_is_shown_with_it(tmp_path):
    place = tmp_path / "store.db"
    with Session(budget="24k", store=place) as session:
        session.append({"role": "user", "content": "go"}, {"role": "assistant", "content": "done"})
        log = session.log.id
    with ReadOnlyStore(place) as store, viewer(store) as address:
        timeline = value(address, f"api/sessions/{log}/timeline")
        assert (timeline["basis"], timeline["budget"], timeline["remark"]) == ("pack", 24_000, "")
