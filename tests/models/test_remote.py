"""A model behind a network, all three protocols, well behaved."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.messages import Text, Thinking, ToolCall, Usage
from holdfast.models.anthropic_api import AnthropicAdapter
from holdfast.models.model import ArgumentsDelta, ModelReply, ReplyCompleted, TextDelta, ask
from holdfast.models.remote import RemoteModel
from holdfast.models.transport import Endpoint
from support.provider_server import Pause, ProviderServer, Script, serving
from support.remote import CALLS, KEY, REQUEST, asked, each_protocol, remote, streamed


@pytest.mark.slow
@each_protocol
@pytest.mark.parametrize(("interleaved", "chunk"), [(False, 0), (False, 1), (True, 5)])
def test_a_reply_is_read_whole(path, interleaved, chunk):
    usage = Usage(prompt=500, completion=20, cache_read=300, cache_write=100)
    script = Script(parts=CALLS, interleaved=interleaved, chunk=chunk, usage=usage, piece=20)
    with serving(script) as server:
        got = streamed(remote(server, path))
    last = got[-1]
    assert isinstance(last, ReplyCompleted)
    assert last.reply.parts == CALLS
    assert last.reply.stop == "calls"
    assert last.reply.model == "test"
    assert last.reply.usage is not None
    assert (last.reply.usage.prompt, last.reply.usage.completion) == (500, 20)
    assert last.reply.usage.cache_read == 300
    assert "".join(came.text for came in got if isinstance(came, TextDelta)) == CALLS[0].text
    arguments = [came.text for came in got if isinstance(came, ArgumentsDelta) and came.number == 1]
    assert "".join(arguments) == '{"command":"ls"}'


@pytest.mark.slow
@each_protocol
@settings(max_examples=10)
@given(
    text=st.text(min_size=1, max_size=200).filter(str.strip),
    piece=st.integers(1, 40),
    chunk=st.integers(0, 9),
)
def test_any_text_comes_as_it_was_sent(path, text, piece, chunk):
    with serving(Script(parts=(Text(text),), piece=piece, chunk=chunk)) as server:
        assert asked(remote(server, path)).text == text


@each_protocol
def test_thinking_comes_before_the_text(path):
    with serving(Script(parts=(Thinking("Let me see.", "c2ln"), Text("Yes.")))) as server:
        thought, said = asked(remote(server, path)).parts
    assert isinstance(thought, Thinking)
    assert thought.text == "Let me see."
    assert said == Text("Yes.")


@each_protocol
def test_the_request_says_who_asks_for_what(path):
    with serving() as server:
        asked(remote(server, path))
        seen = server.requests[0]
    assert seen.path == path
    assert seen.json["model"] == "test"
    assert seen.json["stream"] is True
    assert seen.headers["content-type"] == "application/json"
    assert KEY in (
        seen.headers.get("x-api-key"),
        seen.headers.get("authorization", "").removeprefix("Bearer "),
    )


def test_headers_of_the_endpoint_go_above_the_wires_own():
    async def run(url: str) -> None:
        where = Endpoint(url=url, key=KEY, headers={"anthropic-version": "9", "x-title": "holdfast"})
        async with RemoteModel("a/b", "b", AnthropicAdapter(), where) as model:
            await ask(model, REQUEST)

    with serving() as server:
        asyncio.run(run(server.url))
        headers = server.requests[0].headers
    assert (headers["anthropic-version"], headers["x-title"]) == ("9", "holdfast")


@each_protocol
def test_malformed_arguments_are_kept_and_do_no_harm(path):
    call = ToolCall("call_1", "Read", {}, raw='{"path": "a')
    with serving(Script(parts=(call,))) as server:
        assert asked(remote(server, path)).calls == (call,)


@each_protocol
def test_one_connection_serves_many_requests(path):
    async def run(model: RemoteModel) -> None:
        async with model:
            for _ in range(3):
                await ask(model, REQUEST)

    with serving() as server:
        asyncio.run(run(remote(server, path)))
        assert server.connections == 1


@pytest.mark.slow
def test_requests_at_the_same_time():
    async def run(model: RemoteModel) -> list[ModelReply]:
        async with model:
            return list(await asyncio.gather(*(ask(model, REQUEST) for _ in range(5))))

    with serving(Script(parts=CALLS, chunk=3)) as server:
        assert [reply.parts for reply in asyncio.run(run(remote(server, "/v1/responses")))] == [CALLS] * 5


def test_a_model_can_be_used_in_one_event_loop_after_the_other_once_closed():
    with serving() as server:
        model = remote(server, "/v1/messages")
        assert asked(model) == asked(model)


@pytest.mark.parametrize("before", [0, 5], ids=["no-first-token", "mid-stream"])
def test_who_stops_listening_is_rid_of_the_connection(before):
    async def run(server: ProviderServer) -> None:
        async with remote(server, "/v1/messages") as model:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await ask(model, REQUEST)
            assert await asyncio.to_thread(server.hung_up)

    with serving(Script(pauses=(Pause(before=before),))) as server:
        asyncio.run(run(server))


def test_leaving_the_loop_early_closes_the_connection():
    async def run(server: ProviderServer) -> None:
        async with remote(server, "/v1/messages") as model:
            stream = model.stream(REQUEST)
            async for came in stream:
                assert came == TextDelta("Hello")
                break
            await stream.aclose()
            assert await asyncio.to_thread(server.hung_up)

    with serving(Script(pauses=(Pause(before=4),))) as server:
        asyncio.run(run(server))
