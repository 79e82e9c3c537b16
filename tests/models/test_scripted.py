"""The scripted model: what it says, how it comes, and what it remembers."""

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdfast
from holdfast.messages import Text, Thinking, ToolCall, ToolDefinition, Usage, UserMessage
from holdfast.models.errors import RateLimited
from holdfast.models.model import (
    ArgumentsDelta,
    CallAnnounced,
    ModelReply,
    ModelRequest,
    ReplyCompleted,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ask,
)
from holdfast.models.scripted import ScriptedModel

READ = ToolCall("c1", "Read", {"path": "src/a.py", "lines": [1, 2]})
GREP = ToolCall("c2", "Grep", {}, raw="{no json")


def request(text: str = "hello", **given: Any) -> ModelRequest:
    return ModelRequest(messages=(UserMessage((Text(text),)),), **given)


def events(model: ScriptedModel, sent: ModelRequest) -> list[StreamEvent]:
    async def gather() -> list[StreamEvent]:
        return [came async for came in model.stream(sent)]

    return asyncio.run(gather())


def test_texts_parts_replies_and_functions_are_given_in_order() -> None:
    whole = ModelReply(parts=(Text("whole"),), stop="length", usage=Usage(7, 3), model="other")
    model = ScriptedModel("one", [Text("two"), READ], whole, lambda sent: sent.messages[0].parts[0].text * 2)  # type: ignore[union-attr]
    replies = [asyncio.run(ask(model, request(text))) for text in ("a", "b", "c", "d")]
    assert [reply.text for reply in replies] == ["one", "two", "whole", "dd"]
    assert [reply.stop for reply in replies] == ["end", "calls", "length", "end"]
    assert replies[1].calls == (READ,)
    assert replies[2] == whole
    assert replies[0].model == model.name == "scripted/model"
    assert [sent.messages[0] for sent in model.requests] == [UserMessage((Text(t),)) for t in "abcd"]


def test_an_error_is_raised_and_the_script_continues() -> None:
    model = ScriptedModel(RateLimited("slow down", retry_after=2.0), "better")
    with pytest.raises(RateLimited, match="slow down"):
        asyncio.run(ask(model, request()))
    assert len(model.requests) == 1
    assert asyncio.run(ask(model, request())).text == "better"


def test_a_function_may_raise_by_its_answer() -> None:
    model = ScriptedModel(lambda sent: RateLimited(f"{len(sent.messages)} messages"))
    with pytest.raises(RateLimited, match="1 messages"):
        asyncio.run(ask(model, request()))


def test_after_the_last_reply_it_says_what_is_wrong() -> None:
    model = ScriptedModel("only", name="scripted/short")
    asyncio.run(ask(model, request()))
    with pytest.raises(
        AssertionError, match=r"`scripted/short` was asked 2 times, but its script has 1 replies"
    ):
        asyncio.run(ask(model, request()))


def test_the_last_reply_can_be_given_again_and_again() -> None:
    model = ScriptedModel("first", "last", repeat_last=True)
    said = [asyncio.run(ask(model, request())).text for _ in range(4)]
    assert said == ["first", "last", "last", "last"]
    assert len(model.requests) == 4


def test_a_reply_arrives_in_pieces_and_ends_with_the_whole() -> None:
    model = ScriptedModel(
        [Thinking("thinking it over", signature="s"), Text("some words here"), READ, GREP], piece=4
    )
    came = events(model, request())
    *pieces, last = came
    assert isinstance(last, ReplyCompleted)
    assert [type(event) for event in pieces[:5]] == [ThinkingDelta] * 4 + [TextDelta]
    assert all(
        len(event.text) <= 4 for event in pieces if not isinstance(event, CallAnnounced | ReplyCompleted)
    )  # type: ignore[union-attr]
    assert [event for event in pieces if isinstance(event, CallAnnounced)] == [
        CallAnnounced(0, "c1", "Read"),
        CallAnnounced(1, "c2", "Grep"),
    ]
    arguments = [
        "".join(e.text for e in pieces if isinstance(e, ArgumentsDelta) and e.number == n) for n in (0, 1)
    ]
    assert arguments == ['{"path":"src/a.py","lines":[1,2]}', "{no json"]
    assert last.reply.parts[0] == Thinking("thinking it over", signature="s")


@given(st.text(), st.integers(1, 9))
def test_the_pieces_are_the_text_and_the_same_each_time(text: str, piece: int) -> None:
    came = events(ScriptedModel(text, piece=piece), request())
    assert "".join(event.text for event in came if isinstance(event, TextDelta)) == text
    assert came == events(ScriptedModel(text, piece=piece), request())


def test_usage_grows_with_what_is_sent_and_said() -> None:
    tool = ToolDefinition("Read", "Reads a file. " * 20, {"type": "object"})
    sent = [request("a" * 40), request("a" * 4_000), request("a" * 40, tools=(tool,))]
    model = ScriptedModel("b" * 400, repeat_last=True)
    short, long, tooled = (asyncio.run(ask(model, one)).usage for one in sent)
    assert short is not None
    assert long is not None
    assert tooled is not None
    assert long.prompt - short.prompt == 990
    assert tooled.prompt > short.prompt + 50
    assert 100 <= short.completion <= 120


def test_two_scripts_can_be_asked_at_once() -> None:
    order: list[str] = []

    def note(came: StreamEvent) -> None:
        order.append(type(came).__name__ + getattr(came, "text", ""))

    async def listen(model: ScriptedModel) -> None:
        async for came in model.stream(request()):
            note(came)

    async def both() -> None:
        await asyncio.gather(listen(ScriptedModel("aaaa", piece=1)), listen(ScriptedModel("bbbb", piece=1)))

    asyncio.run(both())
    assert order == ["TextDeltaa", "TextDeltab"] * 4 + ["ReplyCompleted", "ReplyCompleted"]


def test_it_is_reached_from_the_package_without_a_provider() -> None:
    assert holdfast.ScriptedModel is ScriptedModel
    code = "import sys, holdfast; holdfast.ScriptedModel; print({'httpx2', 'anthropic'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
