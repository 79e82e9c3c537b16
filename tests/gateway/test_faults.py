"""Whatever of ours fails, the request goes as it came, the fault is noted, and the session is changed no more."""

import json

import pytest

from gateway.client_lists import body, first_turn, list_in, long_text, send, step
from gateway.gateway_server import gateway_before, remarks
from gateway.test_fold_mode import BUDGET, work
from gateway.upstream_server import upstream
from holdfast.followed_conversations import FollowedConversation
from holdfast.gateway import folded_lists, reduction, rewriting
from holdfast.gateway.conversations import MODE, REQUEST
from holdfast.gateway.recorder import TrafficRecorder
from holdfast.gateway.replacements import Replacements
from holdfast.gateway.text_files import TextFiles
from holdfast.session import Session
from holdfast.store import MemoryStore, SqliteStore
from support.waiting import wait_until


class Panic(BaseException):
    """What a library in Rust raises when it fails is no Exception."""


def broken(*_: object, **__: object) -> None:
    raise RuntimeError("a part of ours is broken")


def panics(*_: object, **__: object) -> None:
    raise Panic("a part of ours is broken")


STAGES = {
    "safe": [
        (rewriting, "result_texts"), (rewriting, "span_at"), (rewriting, "list_spans"),
        (rewriting, "new_results"), (rewriting, "reduced_result"), (rewriting, "counter_for_model"),
        (reduction, "reduce_new_result"), (reduction, "redact"), (TextFiles, "keep"), (Replacements, "add"),
        (Replacements, "get"), (Replacements, "catch_up"), (FollowedConversation, "has_result"),
        (rewriting, "spliced"),
    ],
    "fold": [
        (rewriting, "span_at"), (rewriting, "list_spans"), (rewriting, "spliced"), (rewriting, "folded_list"),
        (rewriting, "whole_text"), (rewriting, "counter_for_model"), (folded_lists, "check"),
        (FollowedConversation, "pack_for_client"), (Session, "make_room"), (TextFiles, "keep"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("fails", [broken, panics])
@pytest.mark.parametrize(
    ("mode", "part", "name"),
    [pytest.param(m, part, name, id=f"{m}-{name}") for m, parts in STAGES.items() for part, name in parts],
)
def test_a_fault_in_any_stage_costs_no_request(tmp_path, monkeypatch, mode, part, name, fails) -> None:
    store = MemoryStore()
    settings = {"files": tmp_path / "texts", "mode": mode, "budget": BUDGET}
    lists = {"safe": [first_turn("openai", long_text())[:1], first_turn("openai", long_text())]}
    lists["fold"] = [work("openai", 1)[0], work("openai", 30)[-1]]
    first, second = lists[mode]
    third = [*second, *step("openai", 99, "Bash", {"command": "make"}, long_text(name="third"))]
    with upstream() as (url, seen), gateway_before(url, store, **settings) as gateway:
        send(gateway, "openai", body("openai", first))
        wait_until(lambda: len(remarks(store, REQUEST)) == 1)
        with monkeypatch.context() as patch:
            patch.setattr(part, name, fails)
            assert send(gateway, "openai", body("openai", second)).status_code == 200
        assert send(gateway, "openai", body("openai", third)).status_code == 200
    sent = [list_in("openai", request.body) for request in seen.requests]
    assert sent == [first, second, third]
    assert "a part of ours is broken" in remarks(store, REQUEST)[1].data["fault"]
    (switched,) = remarks(store, MODE)
    assert (switched.text, switched.data["settled"]) == ("watch", True)


@pytest.mark.parametrize("name", ["catch_up", "add"])
def test_a_fault_does_not_undo_what_was_replaced_before(tmp_path, monkeypatch, name) -> None:
    settings = {"files": tmp_path / "texts", "mode": "safe"}
    first = first_turn("openai", long_text())
    second = [*first, *step("openai", 2, "Bash", {"command": "make"}, long_text(name="second"))]
    with upstream() as (url, seen), gateway_before(url, MemoryStore(), **settings) as gateway:
        send(gateway, "openai", body("openai", first))
        monkeypatch.setattr(Replacements, name, broken)
        send(gateway, "openai", body("openai", second))
    sent = [list_in("openai", request.body) for request in seen.requests]
    assert sent[0] != first
    assert sent[1] == [*sent[0], *second[3:]]


@pytest.mark.parametrize(
    ("part", "name"),
    [
        (FollowedConversation, "follow"),
        (FollowedConversation, "record_reply"),
        (TrafficRecorder, "_account"),
        (TrafficRecorder, "_judge"),
    ],
)
@pytest.mark.parametrize("fails", [broken, panics])
def test_what_cannot_be_recorded_costs_no_request(monkeypatch, part, name, fails) -> None:
    """And the next request is recorded again."""
    answer = json.dumps({"choices": [{"index": 0, "message": {"role": "assistant", "content": "Yes."}}]})
    store = MemoryStore()
    messages = first_turn("openai", "fine")
    failed: list[bool] = []

    def fail(*_: object, **__: object) -> None:
        failed.append(True)
        fails()

    with upstream(answer.encode()) as (url, _), gateway_before(url, store, missed=1) as gateway:
        with monkeypatch.context() as patch:
            patch.setattr(part, name, fail)
            assert send(gateway, "openai", body("openai", messages[:1])).text == answer
            wait_until(lambda: bool(failed))
        assert send(gateway, "openai", body("openai", messages)).text == answer
    assert remarks(store, REQUEST)[-1].data["status"] == 200


def test_what_a_fault_sent_whole_after_it_was_replaced_is_sent_whole_for_ever(tmp_path, monkeypatch) -> None:
    """Another gateway, which knows only what is stored, does not send the replacement either."""
    store = SqliteStore(tmp_path / "store.db")
    settings = {"files": tmp_path / "texts", "mode": "safe"}
    first = first_turn("openai", long_text())
    second = [*first, *step("openai", 2, "Bash", {"command": "make"}, "fine")]
    with upstream() as (url, seen):
        with gateway_before(url, store, **settings) as gateway:
            with monkeypatch.context() as patch:
                patch.setattr(rewriting, "spliced", broken)
                send(gateway, "openai", body("openai", first))
            wait_until(lambda: len(remarks(store, REQUEST)) == 1)
        with gateway_before(url, store, **settings) as gateway:
            send(gateway, "openai", body("openai", second))
    assert [list_in("openai", request.body) for request in seen.requests] == [first, second]
    assert [remark.data["removed_now"] for remark in remarks(store, REQUEST)] == [0, 0]
