"""In `safe`, a large result is shortened before it is first sent, and stays as it was sent."""

import json
import re
import shutil
from pathlib import Path

import pytest

from gateway.client_lists import (
    FORMATS,
    RUN,
    body,
    first_turn,
    list_in,
    long_text,
    result_in,
    said,
    send,
    step,
)
from gateway.gateway_server import gateway_before, remarks
from gateway.upstream_server import upstream
from holdfast.gateway.conversations import MODE, REQUEST
from holdfast.store import MemoryStore, SqliteStore
from support.provider_server import Failure, Script, serving
from support.waiting import wait_until

SECRET = "sk-ant-api03-" + "A1b2C3d4" * 11 + "-AbCdEfGA"


@pytest.mark.parametrize("format_", FORMATS)
def test_a_large_result_is_shortened_once_and_stays_as_it_was_sent(tmp_path, format_) -> None:
    text = long_text()
    first = first_turn(format_, text)
    second = [*first, said(format_, "assistant", "The ledger."), said(format_, "user", "Why?")]
    third = [*second, *step(format_, 2, "Bash", {"command": "date"}, "Wed")]
    store = SqliteStore(tmp_path / "store.db")
    with upstream() as (url, seen):
        with gateway_before(url, store, files=tmp_path / "texts", mode="safe") as gateway:
            send(gateway, format_, body(format_, first))
            send(gateway, format_, body(format_, second))
        # Another process, in `watch`, and a client that gave its session another name.
        with gateway_before(url, store, files=tmp_path / "texts") as gateway:
            send(gateway, format_, body(format_, third), session="s2")
    sent = [request.body for request in seen.requests]
    shown = [result_in(format_, list_in(format_, one)[2]) for one in sent]
    assert shown[0] == shown[1] == shown[2]
    assert len(shown[0]) < len(text) / 2
    assert "ERROR: the ledger of item 4711 does not add up" in shown[0]
    whole = [line for line in shown[0].split("\n") if not line.startswith("[")]
    assert all(line in text.split("\n") for line in whole)
    places = [text.split("\n").index(line) for line in whole]
    assert places == sorted(places)
    # All other bytes are the client's.
    for one, messages in zip(sent, (first, second, third), strict=True):
        assert one.replace(json.dumps(shown[0]).encode(), json.dumps(text).encode()) == body(
            format_, messages
        ) or (
            one.replace(json.dumps(shown[0], ensure_ascii=False).encode(), json.dumps(text).encode())
            == body(format_, messages)
        )
    found = re.search(r"lines [\d-]+ of (/.*?\.txt)", shown[0])
    assert found is not None
    assert Path(found[1]).read_text() == text
    assert Path(found[1]).stat().st_mode & 0o077 == 0
    accounts = [remark.data for remark in remarks(store, REQUEST)]
    assert [bool(account["removed_now"]) for account in accounts] == [True, False, False]
    assert accounts[0]["removed"] == accounts[0]["removed_now"] == accounts[1]["removed"]
    assert [remark.text for remark in remarks(store, REQUEST)][:2] == ["safe", "safe"]


@pytest.mark.parametrize("format_", FORMATS)
def test_what_another_session_replaced_stays_whole_where_it_was_sent_whole(tmp_path, format_) -> None:
    """Clients count their calls, so that two sessions have the same call with the same result."""
    text = long_text()
    first = first_turn(format_, text)
    second = [*first, said(format_, "assistant", "The ledger."), said(format_, "user", "Why?")]
    whole = [*first_turn(format_, text, arguments={"command": "tail -900 app.log"}), *second[-2:]]
    store = SqliteStore(tmp_path / "store.db")
    settings = {"files": tmp_path / "texts", "mode": "safe"}
    with upstream() as (url, seen):
        with gateway_before(url, store, files=tmp_path / "texts") as gateway:
            send(gateway, format_, body(format_, first), session="watched")
        for _ in range(2):
            with gateway_before(url, store, **settings) as gateway:
                send(gateway, format_, body(format_, whole[:3]), session="whole")
                send(gateway, format_, body(format_, first), session="shortened")
                send(gateway, format_, body(format_, second), session="watched")
                send(gateway, format_, body(format_, whole), session="whole")
    shown = [result_in(format_, list_in(format_, request.body)[2]) for request in seen.requests]
    assert [one == text for one in shown] == [True] + [True, False, True, True] * 2


def test_what_a_model_has_replied_to_is_never_changed(tmp_path) -> None:
    """The gateway may begin in the middle of a session."""
    messages = [*first_turn("openai", long_text()), said("openai", "assistant", "It is the ledger.")]
    messages += [said("openai", "user", "Sure?"), *step("openai", 2, "Bash", RUN, long_text(name="other"))]
    with (
        upstream() as (url, seen),
        gateway_before(url, MemoryStore(), files=tmp_path, mode="safe") as gateway,
    ):
        send(gateway, "openai", body("openai", messages))
    sent = list_in("openai", seen.requests[0].body)
    assert sent[:-1] == messages[:-1]
    assert len(sent[-1]["content"]) < len(messages[-1]["content"])


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Read", {"file_path": "/app.log", "offset": 100, "limit": 900}),
        ("Bash", {"command": "sed -n '100,999p' app.log"}),
        ("Bash", {"command": "cat app.log | tail -900"}),
        ("Bash", {"command": "python worker.py 2>&1 | tail -n 900"}),
        ("Bash", {"command": "sed -ne '100,999p' app.log"}),
        ("Bash", {"command": "sed -n '100,999p;999q' app.log"}),
        ("Bash", {"command": "for f in a b; do sed -n 1,450p $f.log; done"}),
        ("Bash", {"command": "timeout 5 head -900 app.log"}),
        ("Bash", {"command": "docker exec web tail -900 app.log"}),
        ("Bash", {"command": "awk 'NR>=100 && NR<=999' app.log"}),
        ("Bash", {"command": "cat /home/me/texts/a0123456789ab.txt"}),
        ("mcp__holdfast__recall", {"id": "a0123456789ab"}),
    ],
)
def test_what_the_agent_asked_for_by_its_lines_stays_whole(tmp_path, tool, arguments) -> None:
    sent = body("anthropic", first_turn("anthropic", long_text(), tool, arguments))
    with (
        upstream() as (url, seen),
        gateway_before(url, MemoryStore(), files=tmp_path, mode="safe") as gateway,
    ):
        send(gateway, "anthropic", sent)
    assert seen.requests[0].body == sent
    assert not [*tmp_path.iterdir()]


def test_a_result_with_a_secret_is_sent_whole_and_kept_in_no_file(tmp_path) -> None:
    sent = body("openai", first_turn("openai", f"{long_text()}\nANTHROPIC_API_KEY={SECRET}"))
    store = SqliteStore(tmp_path / "store.db")
    with upstream() as (url, seen), gateway_before(url, store, files=tmp_path / "t", mode="safe") as gateway:
        send(gateway, "openai", sent)
    store.close()
    assert seen.requests[0].body == sent
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert SECRET.encode() not in b"".join(file.read_bytes() for file in files)


def test_a_file_that_was_deleted_is_there_again_when_its_mark_is_sent_again(tmp_path) -> None:
    sent = body("openai", first_turn("openai", long_text()))
    with (
        upstream() as (url, seen),
        gateway_before(url, MemoryStore(), files=tmp_path / "texts", mode="safe") as gateway,
    ):
        send(gateway, "openai", sent)
        (file,) = (tmp_path / "texts").iterdir()
        shutil.rmtree(tmp_path / "texts")
        send(gateway, "openai", sent)
        assert file.read_text() == long_text()
        shutil.rmtree(tmp_path / "texts")
        (tmp_path / "texts").write_text("no folder can be made here")
        assert send(gateway, "openai", sent).status_code == 200
    # What was sent once is sent again, file or not.
    assert len({request.body for request in seen.requests}) == 1


def test_a_short_result_and_one_with_a_picture_stay_as_they_are(tmp_path) -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    messages = first_turn("anthropic", "fine")
    with_picture = first_turn("anthropic", "")
    with_picture[-1]["content"][0]["content"] = [{"type": "text", "text": long_text()}, picture]
    with (
        upstream() as (url, seen),
        gateway_before(url, MemoryStore(), files=tmp_path, mode="safe") as gateway,
    ):
        for given in (messages, with_picture):
            send(gateway, "anthropic", body("anthropic", given))
    assert [list_in("anthropic", request.body) for request in seen.requests] == [messages, with_picture]


def test_a_refused_change_is_tried_whole_and_switches_the_session_off(tmp_path) -> None:
    store = MemoryStore()
    first = body("anthropic", first_turn("anthropic", long_text()), model="claude-opus-5-5", stream=True)
    later = [*first_turn("anthropic", long_text()), said("anthropic", "assistant", "Hm.")]
    later += [said("anthropic", "user", "?"), *step("anthropic", 2, "Bash", RUN, long_text(name="b"))]
    second = body("anthropic", later, stream=True)
    answers = Failure(kind="refused"), Script(), Script()
    settings = {"files": tmp_path, "mode": "safe"}
    with serving(*answers) as server, gateway_before(server.url, store, **settings) as gateway:
        assert send(gateway, "anthropic", first).status_code == 200
        assert send(gateway, "anthropic", second).status_code == 200
    sent = [request.body for request in server.requests]
    assert len(sent[0]) < len(sent[1])
    assert sent[1:] == [first, second]
    (switched,) = remarks(store, MODE)
    assert switched.text == "watch"
    assert "as it came" in switched.data["why"]
    assert [account.data["retry"] for account in remarks(store, REQUEST)] == ["whole", ""]


def test_a_refusal_of_the_whole_request_too_reaches_the_client(tmp_path) -> None:
    sent = body("openai", first_turn("openai", long_text()))
    settings = {"files": tmp_path, "mode": "safe"}
    refusing = upstream(b'{"error": {"message": "no"}}', 400)
    with refusing as (url, seen), gateway_before(url, MemoryStore(), **settings) as gateway:
        reply = send(gateway, "openai", sent)
    assert (reply.status_code, reply.content) == (400, b'{"error": {"message": "no"}}')
    assert [request.body == sent for request in seen.requests] == [False, True]


def test_a_fault_of_ours_sends_the_request_as_it_came_and_switches_off(tmp_path) -> None:
    store = MemoryStore()
    (tmp_path / "texts").write_text("no folder can be made here")
    sent = body("openai", first_turn("openai", long_text()))
    with (
        upstream() as (url, seen),
        gateway_before(url, store, files=tmp_path / "texts", mode="safe") as gateway,
    ):
        assert send(gateway, "openai", sent).status_code == 200
    assert seen.requests[0].body == sent
    (switched,) = remarks(store, MODE)
    assert (switched.text, switched.data["settled"]) == ("watch", True)
    assert "Error" in remarks(store, REQUEST)[0].data["fault"]


@pytest.mark.slow
def test_sessions_of_the_control_arm_stay_in_watch(tmp_path) -> None:
    store = MemoryStore()
    text = long_text()
    settings = {"files": tmp_path, "mode": "safe", "control": 0.5}
    messages = first_turn("openai", text)
    with upstream() as (url, seen), gateway_before(url, store, **settings) as gateway:
        # The same call with the same result in each: what one session replaced is not replaced in another.
        for given in (messages[:1], messages, messages):
            for number in range(24):
                send(gateway, "openai", body("openai", given), session=f"s{number}")
    modes = [remark.text for remark in remarks(store, REQUEST)]
    assert {*modes} == {"watch", "safe"}
    shown = [list_in("openai", request.body)[-1]["content"] == text for request in seen.requests[24:]]
    assert sum(shown) * 3 == modes.count("watch") * 2
    assert shown[:24] == shown[24:]


def usage_reply(read: int) -> bytes:
    counted = {
        "prompt_tokens": 9_999,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": read},
    }
    message = {"role": "assistant", "content": "Yes."}
    return json.dumps({"id": "x", "choices": [{"index": 0, "message": message}], "usage": counted}).encode()


@pytest.mark.slow
def test_a_session_whose_cache_reads_fall_is_changed_no_more(tmp_path) -> None:
    store = MemoryStore()
    reads = [9_000, 9_000, 9_000, 100, 9_000, 100, 100, 9_000, 9_000]
    messages = [said("openai", "user", "Go on.")]
    server = upstream([usage_reply(read) for read in reads])
    settings = {"files": tmp_path, "mode": "safe"}
    with server as (url, seen), gateway_before(url, store, **settings) as gateway:
        for number in range(len(reads)):
            messages += step("openai", number, "Bash", RUN, long_text(name=f"n{number}"))
            send(gateway, "openai", body("openai", messages))
            messages += [said("openai", "assistant", "Yes."), said("openai", "user", "On.")]
            wait_until(lambda number=number: len(remarks(store, REQUEST)) > number)
    (switched,) = remarks(store, MODE)
    assert (switched.text, switched.data["whole"]) == ("watch", False)
    assert "cache" in switched.data["why"]
    last = list_in("openai", seen.requests[-1].body)
    texts = [message["content"] for message in last if message["role"] == "tool"]
    # What was replaced stays replaced, what came later is whole.
    assert [text.startswith("[holdfast:") for text in texts] == [True] * 7 + [False] * 2
