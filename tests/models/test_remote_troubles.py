"""A model behind a network, all three protocols, when something goes wrong."""

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import msgspec
import pytest

from holdfast.models.errors import (
    AuthFailed,
    BadReply,
    ModelError,
    NetworkFailed,
    Overflowed,
    RateLimited,
    Refused,
    TimedOut,
)
from holdfast.models.model import ReplyCompleted, RetryScheduled, StreamEvent, TextDelta, ask
from holdfast.models.remote import RemoteModel, RetryPolicy
from support.provider_server import Broken, Failure, HangUp, Pause, Script, events_of, html_page, serving
from support.remote import CALLS, FAST, KEY, REQUEST, asked, each_protocol, remote, streamed


@each_protocol
@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("overflow", Overflowed),
        ("auth", AuthFailed),
        ("rate", RateLimited),
        ("overloaded", RateLimited),
        ("server", NetworkFailed),
        ("missing", Refused),
        ("refused", Refused),
        ("quota", ModelError),
    ],
)
def test_a_failure_in_the_providers_own_words(path, kind, error):
    with serving(Failure(kind=kind)) as server, pytest.raises(error) as raised:
        asked(remote(server, path))
    assert raised.value.is_transient is (kind in ("rate", "overloaded", "server"))
    assert len(server.requests) == 1


@each_protocol
@pytest.mark.parametrize("kind", ["overloaded", "rate", "server", "overflow"])
def test_an_error_inside_a_stream(path, kind):
    got: list[StreamEvent] = []
    with serving(Script(broken=Broken(before=5, kind=kind))) as server, pytest.raises(ModelError) as raised:
        streamed(remote(server, path), got)
    assert isinstance(raised.value, Overflowed) is (kind == "overflow")
    assert raised.value.is_transient is (kind != "overflow")
    assert not any(isinstance(came, ReplyCompleted) for came in got)


@each_protocol
def test_a_page_of_a_proxy(path):
    with serving(html_page()) as server, pytest.raises(NetworkFailed) as raised:
        asked(remote(server, path))
    assert "Bad Gateway" in raised.value.message
    assert "<" not in raised.value.message


@each_protocol
@pytest.mark.parametrize("content_type", ["text/html; charset=utf-8", "application/json"])
def test_a_page_where_a_stream_should_be_is_told_at_once(path, content_type):
    with serving(Script(content_type=content_type)) as server, pytest.raises(BadReply) as raised:
        asked(remote(server, path, FAST))
    assert content_type.partition(";")[0] in raised.value.message
    assert len(server.requests) == 1


LM_STUDIO = (
    "The number of tokens to keep from the initial prompt is greater than the context length "
    "(n_keep: 9000>= n_ctx: 4096). Try to load the model with a larger context length."
)


@each_protocol
@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"error": LM_STUDIO}, id="text"),
        pytest.param({"error": {"message": LM_STUDIO}}, id="object"),
        pytest.param([{"error": {"message": LM_STUDIO}}], id="list"),
        pytest.param({"type": "error", "message": LM_STUDIO}, id="bare"),
    ],
)
def test_an_error_under_a_status_that_says_all_is_well(path, body):
    failure = Failure(
        status=200, body=msgspec.json.encode(body), content_type="application/json; charset=utf-8"
    )
    with serving(failure) as server, pytest.raises(Overflowed) as raised:
        asked(remote(server, path, FAST))
    assert raised.value.limit == 4_096
    assert len(server.requests) == 1


@each_protocol
@pytest.mark.parametrize("body", [b'{"object":"chat.completion","error":null}', b"[]", b"3", b"{no json"])
def test_json_that_holds_no_error_is_no_reply_and_no_error_of_the_provider(path, body):
    with serving(Failure(status=200, body=body)) as server, pytest.raises(BadReply) as raised:
        asked(remote(server, path, FAST))
    assert body.decode() in raised.value.message
    assert "that the server can stream" in raised.value.hint
    assert len(server.requests) == 1


@each_protocol
@pytest.mark.parametrize(
    "first",
    [
        pytest.param(Failure(kind="rate", headers={"retry-after-ms": "1"}), id="429"),
        pytest.param(Failure(kind="server"), id="500"),
        pytest.param(html_page(), id="proxy"),
        pytest.param(HangUp(), id="no-answer"),
        pytest.param(Script(drop=5), id="dropped"),
        pytest.param(Script(cut=5), id="truncated"),
        pytest.param(Script(extra={4: b"data: {no json\n\n"}), id="no-json"),
        pytest.param(Script(broken=Broken(before=5)), id="error-event"),
        pytest.param(Script(pauses=(Pause(before=0),)), id="no-first-token"),
        pytest.param(Script(pauses=(Pause(before=5),)), id="idle"),
        pytest.param(Script(pauses=(Pause(before=5, ping_every=0.01),)), id="only-pings"),
    ],
)
def test_what_passes_is_tried_again_from_the_start(path, first):
    with serving(first, Script(parts=CALLS)) as server:
        got = streamed(remote(server, path, FAST, first_token=0.5, idle=0.5, stalled=0.7))
        assert len(server.requests) == 2
        assert server.requests[0].body == server.requests[1].body
    (retried,) = [i for i, came in enumerate(got) if isinstance(came, RetryScheduled)]
    after = got[retried + 1 :]
    assert "".join(came.text for came in after if isinstance(came, TextDelta)) == CALLS[0].text
    assert isinstance(after[-1], ReplyCompleted)
    assert after[-1].reply.parts == CALLS


@each_protocol
def test_a_stream_cut_anywhere_is_no_reply(path):
    script = Script(parts=CALLS)
    finished = {"/v1/messages": 2, "/v1/chat/completions": 3, "/v1/responses": 1}[path]
    count = len(events_of(path, script))
    answers = [Script(parts=CALLS, cut=number) for number in range(0, count - finished, 3)]

    async def run(model: RemoteModel) -> None:
        async with model:
            for _ in answers:
                with pytest.raises(BadReply):
                    await ask(model, REQUEST)

    with serving(*answers) as server:
        asyncio.run(run(remote(server, path)))
        assert len(server.requests) == len(answers) > 3


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions"], ids=["anthropic", "chat"])
def test_a_stream_that_only_lacks_its_last_event_is_whole(path):
    count = len(events_of(path, Script(parts=CALLS)))
    with serving(Script(parts=CALLS, cut=count - 1)) as server:
        assert asked(remote(server, path)).parts == CALLS


@each_protocol
def test_how_long_the_provider_asks_to_wait(path):
    now = datetime.now(UTC).replace(microsecond=0)
    then = now + timedelta(seconds=90)
    asks = {
        "seconds": {"retry-after": "90"},
        "milliseconds": {"retry-after-ms": "90000", "retry-after": "1"},
        "a date": {
            "retry-after": format_datetime(then, usegmt=True),
            "date": format_datetime(now, usegmt=True),
        },
    }
    for headers in asks.values():
        for kind in ("rate", "server"):
            with serving(Failure(kind=kind, headers=headers)) as server, pytest.raises(ModelError) as raised:
                asked(remote(server, path, RetryPolicy(total=60.0)))
            assert raised.value.retry_after == 90.0
            assert len(server.requests) == 1


def test_a_provider_may_say_that_trying_again_does_not_help():
    failure = Failure(kind="server", headers={"x-should-retry": "false"})
    with serving(failure, Script()) as server, pytest.raises(NetworkFailed):
        asked(remote(server, "/v1/messages", FAST))
    assert len(server.requests) == 1


def test_429_a_few_times_and_then_a_reply():
    rate = Failure(kind="rate", headers={"retry-after-ms": "5"})
    with serving(rate, rate, Script()) as server:
        got = streamed(remote(server, "/v1/messages", FAST))
        assert [came.seconds >= 0.005 for came in got if isinstance(came, RetryScheduled)] == [True, True]
        assert len(server.requests) == 3


def test_a_timeout_is_a_failure_of_the_network():
    with serving(Script(pauses=(Pause(before=5),))) as server, pytest.raises(TimedOut) as raised:
        asked(remote(server, "/v1/messages", idle=0.05))
    assert isinstance(raised.value, NetworkFailed)


@each_protocol
@pytest.mark.parametrize("before", [0, 270], ids=["whole", "where-words-are-cut"])
@pytest.mark.parametrize("inside", [False, True], ids=["status", "stream"])
def test_a_provider_that_says_the_key_back_is_not_repeated(path, inside, before, caplog):
    caplog.set_level(logging.DEBUG)
    said = (
        b'{"type":"error","error":{"type":"authentication_error","message":"%b no such key %b","code":"bad"}}'
    )
    body = said % (b"x" * before, KEY.encode())
    answer = (
        Script(extra={3: b"event: error\ndata: " + body + b"\n\n"})
        if inside
        else Failure(status=401, body=body)
    )
    with serving(answer) as server:
        model = remote(server, path)
        with pytest.raises(ModelError) as raised:
            asked(model)
    shown = f"{raised.value} {raised.value!r} {raised.value.hint} {raised.value.args} {model!r} {caplog.text}"
    assert not any(KEY[:n] in shown for n in range(8, len(KEY) + 1))
