"""A provider that never comes to an end is cut off with one sentence, and not asked again."""

import gzip
import json

import pytest

from holdfast.messages import Text, ToolCall
from holdfast.models.adapter import ReplyReader
from holdfast.models.anthropic_api import AnthropicReader
from holdfast.models.errors import NetworkFailed
from holdfast.models.openai_responses_api import OpenAIResponsesReader
from holdfast.models.reply_limits import ReplyLimitReached, ReplyLimits
from support.provider_server import Endless, Failure, Script, serving
from support.remote import FAST, asked, each_protocol, remote

CHAT = "/v1/chat/completions"
TOKEN = b'data: {"choices":[{"index":0,"delta":{"content":"word "}}]}\n\n'
PING = b": still here\n\n"


def refused(answer, path=CHAT, **limits):
    """The error that this answer leads to, after a single request from which the client hung up."""
    with serving(answer) as server:
        with pytest.raises(ReplyLimitReached) as raised:
            asked(remote(server, path, FAST, limits=ReplyLimits(**limits)))
        assert len(server.requests) == 1
    assert raised.value.hint
    return raised.value.message


def gzipped(body, encoding="gzip", **more):
    return Failure(
        **{
            "status": 200,
            "body": gzip.compress(body, 1),
            "headers": {"content-encoding": encoding},
            "content_type": "text/event-stream",
            **more,
        }
    )


@each_protocol
def test_calls_are_limited(path):
    calls = tuple(ToolCall(f"c{n}", "Read", {"path": f"{n}.py"}) for n in range(4))
    with serving(Script(parts=calls)) as server:
        assert asked(remote(server, path, limits=ReplyLimits(calls=4))).calls == calls
    assert "more than 3 calls" in refused(Script(parts=calls), path, calls=3)


@each_protocol
def test_hundreds_of_calls_are_a_reply_and_thousands_are_not(path):
    calls = tuple(ToolCall(f"c{n}", "Read", {}) for n in range(2_000))
    with serving(Script(parts=calls[:500], piece=100)) as server:
        assert len(asked(remote(server, path)).calls) == 500
    assert "more than 512 calls" in refused(Script(parts=calls, piece=100), path)


@each_protocol
def test_characters_are_limited_and_a_short_piece_counts_as_eight(path):
    assert "more than 1000 characters" in refused(
        Script(parts=(Text("a" * 2_000),), piece=500), path, characters=1_000
    )
    assert "more than 1000 characters" in refused(
        Script(parts=(Text("a" * 200),), piece=1), path, characters=1_000
    )
    with serving(Script(parts=(Text("a" * 1_000),), piece=500)) as server:
        assert asked(remote(server, path, limits=ReplyLimits(characters=1_000))).text == "a" * 1_000


def test_a_text_without_end():
    assert "more than 2000000 characters" in refused(Endless(piece=TOKEN.replace(b"word", b"word" * 2_000)))


@pytest.mark.parametrize("piece", [PING * 1_000, b"\n" * 10_000, b"what: 0\n" * 1_000])
def test_bytes_without_end_that_are_no_reply(piece):
    assert "sent more than 300000 bytes for one reply" in refused(Endless(piece=piece), size=300_000)


@pytest.mark.parametrize("piece", [b"data: aaaa", b"data: a\n", b"data:\n", b"event: a"])
def test_an_event_without_end(piece):
    assert "larger than 20000 bytes" in refused(Endless(piece=piece * 100), event_size=20_000)


def test_a_reply_that_trickles_is_ended_after_its_time():
    with serving(Endless(piece=TOKEN, every=0.01)) as server:
        with pytest.raises(ReplyLimitReached, match=r"did not end its reply within 0\.3 s"):
            asked(remote(server, CHAT, FAST, limits=ReplyLimits(seconds=0.3)))
        assert server.hung_up()
        assert len(server.requests) == 1


def test_a_small_body_that_expands_is_counted_as_it_expands():
    bomb = gzipped(PING * 6_000_000)
    assert len(bomb.body) < 1_000_000
    assert "sent more than 67108864 bytes" in refused(bomb)
    assert "larger than 4194304 bytes" in refused(gzipped(b"\0" * 20_000_000))


def test_a_compressed_reply_is_read_and_one_compressed_twice_is_not():
    reply = TOKEN + b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    with serving(gzipped(reply)) as server:
        assert asked(remote(server, CHAT)).text == "word "
    assert "compressed its answer more than once" in refused(gzipped(gzip.compress(reply), "gzip, gzip"))


def test_of_an_error_only_the_beginning_is_read():
    bomb = gzipped(b" " * 50_000_000, status=500, content_type="application/json")
    with serving(bomb) as server, pytest.raises(NetworkFailed):
        asked(remote(server, CHAT))


def fed(reader: ReplyReader, events):
    reader.limits = ReplyLimits(calls=5, characters=1_000)
    for event in events:
        list(reader.feed("", json.dumps(event)))


@pytest.mark.parametrize(
    "event",
    [
        lambda n: {"type": "content_block_start", "index": n, "content_block": {"type": "text"}},
        lambda n: {"type": "content_block_delta", "index": n, "delta": {"type": "text_delta", "text": ""}},
        lambda _: {"type": "content_block_delta", "delta": {"type": "signature_delta", "signature": "s"}},
    ],
    ids=["starts", "deltas", "signatures"],
)
def test_parts_of_messages_that_nobody_sees_are_limited_too(event):
    with pytest.raises(ReplyLimitReached):
        fed(AnthropicReader(), map(event, range(1_000)))


@pytest.mark.parametrize(
    "events",
    [
        [{"type": "response.output_item.added", "output_index": n, "item": {}} for n in range(9)],
        [{"type": "response.output_text.delta", "content_index": n, "delta": "a"} for n in range(9)],
        [
            {
                "type": "response.completed",
                "response": {"output": [{"type": "function_call", "name": "Read"}] * 9},
            }
        ],
    ],
    ids=["items", "contents", "whole"],
)
def test_parts_of_responses_are_limited_however_they_arrive(events):
    with pytest.raises(ReplyLimitReached):
        fed(OpenAIResponsesReader(), events)
