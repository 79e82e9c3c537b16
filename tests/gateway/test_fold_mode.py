"""In `fold`, a history that would not fit is packed to a budget, and the provider takes it."""

import json
import re
import sqlite3
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

from gateway.caching_provider import caching_provider, run_agent
from gateway.client_lists import (
    FORMATS,
    LISTS,
    PATHS,
    body,
    list_in,
    long_text,
    parallel_step,
    said,
    send,
    step,
)
from gateway.gateway_server import LOOKUP, gateway_before, remarks
from gateway.upstream_server import upstream
from holdfast.events import AssistantReplied, Folded, Rewound
from holdfast.gateway import conversations, rewriting
from holdfast.gateway.conversations import MODE, REQUEST, ClientConversation
from holdfast.gateway.exchange import PassedExchange, RequestChange, RewriteDeadline
from holdfast.gateway.recorder import TrafficRecorder
from holdfast.gateway.settings import GatewaySettings
from holdfast.gateway.text_files import TextFiles
from holdfast.gateway.wires import Route
from holdfast.log import Log
from holdfast.packing.validator import check
from holdfast.store import MemoryStore, SqliteStore, Store
from holdfast.tokenizers import counter_for_model
from support.provider_server import Failure, Script, serving
from support.waiting import wait_until

BUDGET = 16_000
STEPS = 40


def work(format_: str, steps: int = STEPS, lines: int = 60) -> list[list[dict[str, Any]]]:
    """The lists of a session's requests, each with one step more."""
    messages = [said(format_, "user", "Find out which item is wrong. Never touch ledger.py.")]
    lists = [[*messages]]
    for number in range(steps):
        output = long_text(lines, name=f"run{number}")
        messages += step(format_, number, "Bash", {"command": f"./check {number}"}, output)
        lists.append([*messages])
    return lists


def folds(store: Store) -> list[Folded]:
    logs = [info.head.id for info in store.logs() if info.head.source == "gateway"]
    events = [entry.event for log in logs for entry in Log.open(store, log).entries()]
    return [event for event in events if isinstance(event, Folded)]


def strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [found for one in inner for found in strings(one)]


def tokens(sent: bytes) -> int:
    """What the texts of a request take."""
    return counter_for_model("test").text("\n".join(strings(json.loads(sent))))


def is_prefix(before: Sequence[object], after: Sequence[object]) -> bool:
    return list(after[: len(before)]) == list(before)


@pytest.mark.slow
@pytest.mark.parametrize("format_", FORMATS)
def test_a_long_session_fits_and_the_provider_takes_every_request(tmp_path, format_) -> None:
    store = SqliteStore(tmp_path / "store.db")
    settings = {"files": tmp_path / "texts", "mode": "fold", "budget": BUDGET}
    lists = work(format_)
    with upstream() as (url, seen):
        for half in (lists[:25], lists[25:]):
            # Two gateways, one after the other: the second continues the sessions of the first.
            with gateway_before(url, store, **settings) as gateway:
                for messages in half:
                    assert send(gateway, format_, body(format_, messages)).status_code == 200
    sent = [request.body for request in seen.requests]
    assert tokens(body(format_, lists[-1])) > 3 * BUDGET
    assert max(map(tokens, sent)) <= BUDGET
    packed = [list_in(format_, one) for one in sent]
    for one in packed:
        assert check(one, format_) == ()
        assert "Never touch ledger.py." in json.dumps(one)
    moved = [n for n in range(1, len(packed)) if not is_prefix(packed[n - 1], packed[n])]
    assert len(moved) == len(folds(store))
    assert 1 <= len(moved) <= 10
    assert [remark.text for remark in remarks(store, MODE)] == []
    accounts = [remark.data for remark in remarks(store, REQUEST)]
    assert sum(account["is_folded"] for account in accounts) == len(moved)
    unique = sum(account["removed_now"] for account in accounts)
    assert 0 < unique <= tokens(body(format_, lists[-1]))
    # Every text that was left out is where its mark says.
    paths = {*re.findall(r"(/[^\s\"\\]+/texts/[ae]\w+\.txt)", sent[-1].decode())}
    assert paths
    assert all(Path(path).read_text() for path in paths)
    assert "Recall(" not in sent[-1].decode()
    # The rest of a request is the client's, byte for byte.
    field = json.dumps(LISTS[format_]).encode()
    assert sent[-1].partition(field)[0] == body(format_, lists[-1]).partition(field)[0]


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("mode", ["safe", "fold"])
def test_half_an_emoji_in_a_request_does_not_end_the_mode(tmp_path, mode, format_) -> None:
    store, settings = MemoryStore(), {"mode": mode, "largest_result": 1_000}
    settings |= {"budget": BUDGET} if mode == "fold" else {}
    whole = body(format_, work(format_, 12, lines=120)[-1]).replace(b"Find out", b"Find \\ud83d out")
    with upstream() as (url, seen), gateway_before(url, store, files=tmp_path, **settings) as gateway:
        assert httpx2.post(f"{gateway}{PATHS[format_]}", content=whole).status_code == 200
    assert remarks(store, MODE) == []
    (sent,) = (got.body for got in seen.requests)
    assert len(sent) < len(whole)
    assert b"Find \\ud83d out" in sent


def test_a_history_that_fits_goes_as_it_came(tmp_path) -> None:
    sent = body("anthropic", work("anthropic", 5, lines=12)[-1])
    settings = {"files": tmp_path, "mode": "fold", "budget": BUDGET}
    with upstream() as (url, seen), gateway_before(url, MemoryStore(), **settings) as gateway:
        send(gateway, "anthropic", sent)
    assert seen.requests[0].body == sent


@pytest.mark.parametrize("format_", FORMATS)
def test_results_in_another_order_than_their_calls_stay_as_they_are(tmp_path, format_) -> None:
    settings = {"files": tmp_path, "mode": "fold", "budget": BUDGET}
    first = [said(format_, "user", "Check both."), *parallel_step(format_, 1, ["one", "two", "three"])]
    second = [*first, *parallel_step(format_, 2, [long_text(name="four"), "five"])]
    with upstream() as (url, seen), gateway_before(url, MemoryStore(), **settings) as gateway:
        for messages in (first, second):
            send(gateway, format_, body(format_, messages))
    assert seen.requests[0].body == body(format_, first)
    sent = list_in(format_, seen.requests[1].body)
    assert sent != second
    assert sent[: len(first)] == first


PDF = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}}
PDF_PART = {"inlineData": {"mimeType": "application/pdf", "data": "JVBERi0="}}


@pytest.mark.parametrize(
    ("format_", "key", "file"), [("anthropic", "content", PDF), ("gemini", "parts", PDF_PART)]
)
def test_a_file_beside_a_result_that_is_shortened_stays(tmp_path, format_, key, file) -> None:
    """No log can hold it, so a message that is written again would lack it."""
    settings = {"files": tmp_path, "mode": "fold", "budget": BUDGET}
    first = [
        said(format_, "user", "Read it."),
        *parallel_step(format_, 1, [long_text(), "The file is below."]),
    ]
    first[-1][key].append(file)
    second = [*first, *step(format_, 9, "Bash", {"command": "make"}, "fine")]
    with upstream() as (url, seen), gateway_before(url, MemoryStore(), **settings) as gateway:
        for messages in (first, second):
            send(gateway, format_, body(format_, messages))
    before, after = (list_in(format_, request.body) for request in seen.requests)
    assert before != first
    assert before[-1][key][-1] == file
    assert is_prefix(before, after)


@pytest.mark.parametrize(
    ("format_", "key", "file"), [("anthropic", "content", PDF), ("gemini", "parts", PDF_PART)]
)
def test_a_file_beside_words_that_are_shortened_stays(tmp_path, format_, key, file) -> None:
    settings = {"files": tmp_path, "mode": "fold", "budget": BUDGET}
    first = [
        said(format_, "user", f"Read it.\n{long_text()}"),
        *step(format_, 1, "Bash", {"command": "ls"}, "a"),
    ]
    first[0] = {**first[0], key: [{"text": first[0][key]}]} if isinstance(first[0][key], str) else first[0]
    if format_ == "anthropic":
        first[0][key] = [{"type": "text", **one} for one in first[0][key]]
    first[0][key].append(file)
    lists = [[*first]]
    for number in range(2, 24):
        lists.append([*lists[-1], *step(format_, number, "Bash", {"command": "make"}, long_text()[:6_000])])
    with upstream() as (url, seen), gateway_before(url, MemoryStore(), **settings) as gateway:
        for messages in lists:
            send(gateway, format_, body(format_, messages))
    last = list_in(format_, seen.requests[-1].body)
    assert last[0][key][0] != first[0][key][0], "the words were shortened"
    assert [block for message in last for block in message[key]].count(file) == 1


@pytest.mark.slow
def test_system_messages_of_a_chat_stay_in_front_as_they_were(tmp_path) -> None:
    prompts = [{"role": "system", "content": "Be  brief."}, {"role": "developer", "content": "Use tools."}]
    settings = {"files": tmp_path, "mode": "fold", "budget": BUDGET}
    with upstream() as (url, seen), gateway_before(url, MemoryStore(), **settings) as gateway:
        for messages in work("openai", 20):
            send(gateway, "openai", body("openai", [*prompts, *messages]))
    last = list_in("openai", seen.requests[-1].body)
    assert last[:2] == prompts
    assert [message["role"] for message in last].count("system") == 1
    assert tokens(seen.requests[-1].body) <= BUDGET


def test_a_list_with_something_unknown_goes_as_it_came(tmp_path) -> None:
    messages = [{"type": "compaction", "encrypted_content": "b3BhcXVl"}, *work("responses", 30)[-1]]
    sent = body("responses", messages)
    settings = {"files": tmp_path, "mode": "fold", "budget": BUDGET}
    with upstream() as (url, seen), gateway_before(url, MemoryStore(), **settings) as gateway:
        send(gateway, "responses", sent)
    assert seen.requests[0].body == sent


@pytest.mark.parametrize("format_", ["anthropic", "openai", "responses"])
def test_a_request_that_is_too_long_after_all_is_packed_smaller(tmp_path, format_) -> None:
    store = MemoryStore()
    settings = {"files": tmp_path, "mode": "fold", "budget": BUDGET}
    sent = body(format_, work(format_, 9)[-1], stream=True)
    answers = Failure(kind="overflow"), Script()
    with serving(*answers) as server, gateway_before(server.url, store, **settings) as gateway:
        assert send(gateway, format_, sent).status_code == 200
    sizes = [len(request.body) for request in server.requests]
    assert sizes[1] < sizes[0]
    assert [remark.data["retry"] for remark in remarks(store, REQUEST)] == ["smaller"]


def test_a_refusal_of_a_change_that_removed_nothing_is_tried_whole_too(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(ClientConversation, "tokens_of", lambda *_: 0)
    store = MemoryStore()
    settings = {"files": tmp_path, "mode": "fold", "budget": BUDGET}
    sent = body("openai", work("openai", 9)[-1], stream=True)
    with (
        serving(Failure(kind="refused"), Script()) as server,
        gateway_before(server.url, store, **settings) as gateway,
    ):
        assert send(gateway, "openai", sent).status_code == 200
    assert [request.body == sent for request in server.requests] == [False, True]
    assert [remark.data["retry"] for remark in remarks(store, REQUEST)] == ["whole"]


THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk"}


def thinking_work(steps: int) -> list[list[dict[str, Any]]]:
    lists = work("anthropic", steps, lines=40)
    for message in lists[-1]:
        if message["role"] == "assistant":
            message["content"].insert(0, THOUGHT)
    return lists


@pytest.mark.slow
@pytest.mark.parametrize("name", ["claude-next-9", "us.anthropic.claude-next-9-v1:0"])
def test_bound_thinking_is_never_sent_behind_other_messages(tmp_path, monkeypatch, name) -> None:
    monkeypatch.setattr(rewriting, "DEFAULT_LIFE", 0.0)
    store = MemoryStore()
    settings = {"files": tmp_path, "mode": "fold", "budget": 40_000}
    lists = thinking_work(30)
    answer = said("anthropic", "assistant", "It is 4711.")
    asked = [*lists[-1], {**answer, "content": [THOUGHT, {"type": "text", "text": "It is 4711."}]}]
    asked.append(said("anthropic", "user", "Are you sure?"))
    model = {"model": name, "stream": True}
    with upstream() as (url, seen), gateway_before(url, store, **settings) as gateway:
        for messages in (*lists[:20], asked):
            httpx2.post(gateway + "/v1/messages", content=body("anthropic", messages, **model), timeout=30)
        after = [*asked, *step("anthropic", 99, "Bash", {"command": "true"}, "fine")]
        after[-2]["content"].insert(0, THOUGHT)
        httpx2.post(gateway + "/v1/messages", content=body("anthropic", after, **model), timeout=30)
    sent = [request.body for request in seen.requests]
    # While a model works, nothing is changed; when a person speaks and the cache is cold, all is folded.
    assert sent[:20] == [body("anthropic", messages, **model) for messages in lists[:20]]
    assert tokens(sent[20]) < tokens(body("anthropic", asked, **model)) - 10_000
    assert b"signature" not in sent[20]
    last = list_in("anthropic", sent[21])
    assert is_prefix(list_in("anthropic", sent[20]), last)
    assert [message for message in last if "signature" in json.dumps(message)] == [after[-2]]


def test_a_fault_sends_the_request_as_it_came(tmp_path) -> None:
    (tmp_path / "texts").write_text("no folder can be made here")
    store = MemoryStore()
    settings = {"files": tmp_path / "texts", "mode": "fold", "budget": BUDGET}
    sent = body("openai", work("openai", 30)[-1])
    with upstream() as (url, seen), gateway_before(url, store, **settings) as gateway:
        assert send(gateway, "openai", sent).status_code == 200
    assert seen.requests[0].body == sent
    assert [remark.text for remark in remarks(store, MODE)] == ["watch"]


@pytest.mark.slow
def test_the_cache_mark_at_the_end_of_a_clients_list_stays_there(tmp_path) -> None:
    settings = {"files": tmp_path, "mode": "fold", "budget": BUDGET}
    mark = {"type": "ephemeral"}
    with upstream() as (url, seen), gateway_before(url, MemoryStore(), **settings) as gateway:
        for messages in work("anthropic", 20)[1:]:
            last = messages[-1]["content"][-1]
            last["cache_control"] = mark
            send(gateway, "anthropic", body("anthropic", messages))
            del last["cache_control"]
    for request in seen.requests:
        marked = [
            block for message in list_in("anthropic", request.body) for block in message["content"][-1:]
        ]
        marks = [isinstance(block, dict) and block.get("cache_control") == mark for block in marked]
        assert marks == [False] * (len(marks) - 1) + [True]


@pytest.mark.slow
def test_a_client_may_use_what_is_newer_than_our_rules(tmp_path) -> None:
    """Claude Code sends a message of the role `system` after the first one."""
    settings = {"files": tmp_path, "mode": "fold", "budget": BUDGET}
    store = MemoryStore()
    newer = {"role": "system", "content": [{"type": "text", "text": "Think a lot."}]}
    with upstream() as (url, seen), gateway_before(url, store, **settings) as gateway:
        for messages in work("anthropic", 20):
            send(gateway, "anthropic", body("anthropic", [messages[0], newer, *messages[1:]]))
    assert remarks(store, MODE) == []
    assert tokens(seen.requests[-1].body) <= BUDGET


def test_what_comes_while_a_request_is_late_is_not_changed_either(tmp_path, monkeypatch) -> None:
    class SlowFiles(TextFiles):
        def keep_all(self, texts: Iterable[tuple[str, str]]) -> None:
            waits.set()
            assert goes_on.wait(60)
            super().keep_all(texts)

    def asked(messages: list[dict[str, Any]]) -> PassedExchange:
        sent, route = body("openai", messages), Route("openai", "openai")
        about = {"headers": {}, "path": PATHS["openai"], "change": RequestChange(), "reply": bytearray()}
        return PassedExchange(route=route, at=time.time(), body=sent, **about)

    monkeypatch.setattr(conversations, "RECORDING_SECONDS", 0.1)
    waits, goes_on, store, lists = threading.Event(), threading.Event(), MemoryStore(), work("openai")
    settings = GatewaySettings("fold", budget=BUDGET)
    recorder = TrafficRecorder(store, settings, SlowFiles(tmp_path / "texts"), LOOKUP)
    deadline = RewriteDeadline()
    late = threading.Thread(target=recorder.rewrite, args=(asked(lists[-2]), deadline))
    late.start()
    assert waits.wait(60)
    assert deadline.expire()
    threading.Timer(1.0, goes_on.set).start()
    assert recorder.rewrite(asked(lists[-1]), RewriteDeadline()) is None
    late.join()
    recorder.close()
    assert [remark.text for remark in remarks(store, MODE)] == ["watch"]


def test_a_store_that_takes_nothing_more_costs_no_request(tmp_path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    settings = {"files": tmp_path / "texts", "mode": "fold", "budget": BUDGET}
    lists = work("openai", 30)
    with upstream() as (url, seen), gateway_before(url, store, missed=1, **settings) as gateway:
        send(gateway, "openai", body("openai", lists[0]))
        wait_until(lambda: len(remarks(store, REQUEST)) == 1)
        with closing(sqlite3.connect(tmp_path / "store.db")) as other:
            other.execute(
                "create trigger full before insert on entries begin select raise(abort, 'disk is full'); end"
            )
        sent = body("openai", lists[-1])
        assert send(gateway, "openai", sent).status_code == 200
    assert seen.requests[1].body == sent


@pytest.mark.parametrize("mode", ["safe", "fold"])
def test_a_client_that_answers_at_once_is_recorded_once(tmp_path, mode) -> None:
    """Its copy of a reply comes back before the reply may be recorded."""
    store = SqliteStore(tmp_path / "store.db")
    settings = {"files": tmp_path / "texts", "mode": mode, "budget": BUDGET}
    with caching_provider() as (url, _), gateway_before(url, store, **settings) as gateway:
        run_agent(gateway, 20)
    (log,) = [info.head.id for info in store.logs() if info.head.source == "gateway"]
    events = [entry.event for entry in Log.open(store, log).entries()]
    assert sum(isinstance(event, AssistantReplied) for event in events) == 20
    assert not any(isinstance(event, Rewound) for event in events)
