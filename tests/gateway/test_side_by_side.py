"""Two gateways, as programs, on one PostgreSQL store: they serve one session in turn with the same bytes, and where
one is killed the other goes on."""

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx2
import pytest

from cli.command_line import command
from gateway.client_lists import (
    FORMATS,
    PATHS,
    body,
    first_turn,
    list_in,
    long_text,
    result_in,
    said,
    send,
    step,
)
from gateway.gateway_server import remarks
from gateway.upstream_server import STREAM, upstream
from holdfast.events import AssistantReplied, Rewound
from holdfast.gateway.conversations import MODE, REQUEST
from holdfast.log import Log
from holdfast.messages import Text, joined_text
from holdfast.store import open_store
from holdfast.store_places import parse_place
from support.postgres import PostgresServer
from support.programs import running
from support.provider_server import Failure, Script, serving
from support.waiting import wait_until

pytestmark = pytest.mark.slow


@contextmanager
def gateway_program(
    store: str, provider: str, *options: object
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The address of a gateway, and its process; what passed is recorded when this ends."""
    upstreams = [word for wire in ("anthropic", "openai", "gemini") for word in (f"--{wire}", provider)]
    words = command("gateway", "--port", "0", "--store", store, *upstreams, *options)
    with running(words, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        head = process.stderr.readline()
        (address,) = re.findall(r"listening on (\S+) \(", head) or pytest.fail(head + process.stderr.read())
        try:
            yield address, process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            assert process.wait(60) in (0, -signal.SIGKILL)
            assert "secret" not in process.stderr.read()


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.tcp_url(postgres.make_database())


def lists_of(format_: str, turns: int) -> list[list[dict]]:
    """The lists that a client sends, each the one before and a step with a large result."""
    lists = [first_turn(format_, long_text())]
    for number in range(2, turns + 1):
        more = step(
            format_, number, "Bash", {"command": f"python part{number}.py"}, long_text(name=f"p{number}")
        )
        lists.append([*lists[-1], *more])
    return lists


def recorded(store: str) -> int:
    with open_store(parse_place(store)) as opened:
        return len(remarks(opened, REQUEST))


@pytest.mark.parametrize("format_", FORMATS)
def test_in_safe_mode_both_send_what_the_first_one_sent(url, format_, tmp_path) -> None:
    lists = lists_of(format_, 3)
    with upstream() as (provider, seen):
        options = ("--mode", "safe", "--texts", tmp_path / "texts")
        with (
            gateway_program(url, provider, *options) as (one, _),
            gateway_program(url, provider, *options) as (two, _),
        ):
            for number, messages in enumerate(lists):
                send((one, two)[number % 2], format_, body(format_, messages))
                # The other one is asked for the same once more.
                send((two, one)[number % 2], format_, body(format_, messages))
    sent = [request.body for request in seen.requests]
    assert sent[0::2] == sent[1::2]
    for before, after in zip(sent[0::2], sent[2::2], strict=False):
        shown, later = list_in(format_, before), list_in(format_, after)
        assert later[: len(shown)] == shown
    first = result_in(format_, list_in(format_, sent[-1])[2])
    assert first.startswith("[holdfast:")
    for file in set(re.findall(r"/\S*?\.txt", first)):
        assert Path(file).read_text() == long_text()
    with open_store(parse_place(url)) as store:
        assert len([info for info in store.logs() if info.head.source == "gateway"]) == 1
        assert remarks(store, MODE) == []
        assert len(remarks(store, REQUEST)) == 6


def test_the_second_one_writes_the_files_that_the_first_ones_marks_name(url, tmp_path) -> None:
    """On another machine the folder has the same name and is empty."""
    texts, (first, second) = tmp_path / "texts", lists_of("openai", 2)
    with upstream() as (provider, seen):
        with gateway_program(url, provider, "--mode", "safe", "--texts", texts) as (one, _):
            send(one, "openai", body("openai", first))
        texts.rename(tmp_path / "left behind")
        with gateway_program(url, provider, "--mode", "watch", "--texts", texts) as (two, _):
            send(two, "openai", body("openai", second))
    shown = [result_in("openai", list_in("openai", request.body)[2]) for request in seen.requests]
    assert shown[0] == shown[1]
    (file,) = set(re.findall(r"/\S*?\.txt", shown[0]))
    assert Path(file).read_text() == long_text()


def test_in_fold_mode_two_in_turn_send_what_one_alone_sends(postgres, tmp_path) -> None:
    format_ = "anthropic"
    lists = lists_of(format_, 8)
    options = ("--mode", "fold", "--budget", "16k", "--texts", tmp_path / "texts")
    sent = []
    for gateways in (1, 2):
        url = postgres.tcp_url(postgres.make_database())
        with (
            upstream() as (provider, seen),
            gateway_program(url, provider, *options) as (one, _),
            gateway_program(url, provider, *options) as (two, _),
        ):
            for number, messages in enumerate(lists):
                send((one, two)[number % gateways], format_, body(format_, messages))
                wait_until(lambda many=number + 1, place=url: recorded(place) == many)
        sent.append([request.body for request in seen.requests])
    assert sent[0] == sent[1]
    assert len(sent[0][-1]) < len(body(format_, lists[-1])) / 2


def test_a_mode_that_one_switched_off_is_off_for_the_other(url, tmp_path) -> None:
    """The provider refuses what was changed, and takes it whole: from then on nobody changes it."""
    lists = [[said("anthropic", "user", "Why does it fail?")], *lists_of("anthropic", 3)]
    options = ("--mode", "safe", "--texts", tmp_path / "texts")
    with (
        serving(Script(), Failure(kind="refused"), *[Script()] * 3) as server,
        gateway_program(url, server.url, *options) as (one, _),
        gateway_program(url, server.url, *options) as (two, _),
    ):
        for number, messages in enumerate(lists):
            sent = body("anthropic", messages, stream=True)
            assert send((one, two)[number % 2], "anthropic", sent).status_code == 200
            wait_until(lambda many=number + 1: recorded(url) == many)
    whole = [body("anthropic", messages, stream=True) for messages in lists]
    passed = [request.body for request in server.requests]
    assert [passed[0], *passed[2:]] == whole
    assert len(passed[1]) < len(whole[1]) / 2
    with open_store(parse_place(url)) as store:
        assert [remark.text for remark in remarks(store, MODE)] == ["watch"]


def test_a_server_that_is_gone_holds_no_request_and_changes_no_bytes(tmp_path) -> None:
    """What was replaced before is replaced all the same; what is new goes as it came."""
    first, second = lists_of("openai", 2)
    server = PostgresServer("fsync=off")
    try:
        url = server.tcp_url(server.make_database())
        with (
            upstream() as (provider, seen),
            gateway_program(url, provider, "--mode", "safe", "--texts", tmp_path / "texts") as (one, _),
        ):
            send(one, "openai", body("openai", first))
            wait_until(lambda: recorded(url) == 1)
            server.kill()
            given = {"content": body("openai", second), "headers": {"x-session-id": "s1"}, "timeout": 60}
            assert httpx2.post(one + PATHS["openai"], **given).status_code == 200
            server.start()
        shown = [list_in("openai", request.body) for request in seen.requests]
        assert shown[0] != first
        assert shown[1] == [*shown[0], *second[len(first) :]]
    finally:
        server.close()


def ask_and_kill(gateway: str, asked: bytes, process: subprocess.Popen[str]) -> None:
    """Read a stream for a while, and kill the gateway that passes it on."""
    given = {"content": asked, "headers": {"x-session-id": "s1"}, "timeout": 60}
    with httpx2.stream("POST", gateway + PATHS["openai"], **given) as answer:
        for number, _ in enumerate(answer.iter_bytes()):
            if number == 3:
                process.kill()


def test_one_is_killed_in_the_middle_of_a_stream_and_the_next_request_goes_through_the_other(
    url, tmp_path
) -> None:
    first, second = lists_of("openai", 2)
    options = ("--mode", "safe", "--texts", tmp_path / "texts")
    with (
        upstream(b"data: {}\n\n", headers=[STREAM], endless=True) as (endless, begun),
        upstream() as (provider, seen),
        gateway_program(url, provider, *options) as (two, _),
    ):
        with gateway_program(url, endless, *options) as (one, process):
            send(two, "openai", body("openai", [said("openai", "user", "Why does it fail?")]))
            with suppress(httpx2.HTTPError):
                ask_and_kill(one, body("openai", first), process)
        assert process.wait(60) == -signal.SIGKILL
        for messages in (first, second):
            assert send(two, "openai", body("openai", messages)).status_code == 200
    assert seen.requests[1].body == begun.requests[0].body != body("openai", first)
    shown = [list_in("openai", request.body) for request in seen.requests]
    assert shown[2][: len(shown[1])] == shown[1]
    with open_store(parse_place(url)) as store:
        assert len([info for info in store.logs() if info.head.source == "gateway"]) == 1
        assert [remark.text for remark in remarks(store, REQUEST)] == ["safe"] * 3


def test_a_reply_that_the_client_sends_back_at_once_is_recorded_once(url, tmp_path) -> None:
    """The other gateway may still be recording it."""
    replies = ["It is the ledger.", "Because of the ledger.", "Sure.", "Always."]
    messages = [said("anthropic", "user", "Why does it fail?")]
    options = ("--mode", "safe", "--texts", tmp_path / "texts")
    with (
        serving(*[Script(parts=(Text(reply),)) for reply in replies]) as server,
        gateway_program(url, server.url, *options) as (one, _),
        gateway_program(url, server.url, *options) as (two, _),
    ):
        for number, reply in enumerate(replies):
            sent = body("anthropic", messages, stream=True)
            assert reply[:5] in send((one, two)[number % 2], "anthropic", sent).text
            messages += [
                said("anthropic", "assistant", reply),
                said("anthropic", "user", f"Why {number}?"),
            ]
    with open_store(parse_place(url)) as store:
        (log,) = [info.head.id for info in store.logs() if info.head.source == "gateway"]
        events = [entry.event for entry in Log.open(store, log).entries()]
    assert [joined_text(event.parts) for event in events if isinstance(event, AssistantReplied)] == replies
    assert not any(isinstance(event, Rewound) for event in events)
