"""The official SDKs and our adapters at the same server: they read the same replies, and send the same requests."""

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar

import msgspec
import pytest

from holdfast.messages import (
    AssistantMessage,
    AssistantPart,
    Image,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolDefinition,
    ToolMessage,
    Usage,
    UserMessage,
)
from holdfast.models.adapter import ProviderAdapter
from holdfast.models.anthropic_api import AnthropicAdapter
from holdfast.models.errors import AuthFailed, ModelError, NetworkFailed, Overflowed, RateLimited, Refused
from holdfast.models.model import ModelReply, ModelRequest, ask
from holdfast.models.openai_chat_api import OpenAIChatAdapter
from holdfast.models.openai_responses_api import OpenAIResponsesAdapter
from holdfast.models.remote import RemoteModel, RetryPolicy
from holdfast.models.transport import Endpoint
from support.provider_server import Broken, Failure, ProviderServer, Script, serving

anthropic = pytest.importorskip("anthropic", reason="the SDK of Anthropic is not installed")
openai = pytest.importorskip("openai", reason="the SDK of OpenAI is not installed")

KEY = "sk-loopback-0123456789"
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
READ = ToolDefinition("Read", "reads a file", SCHEMA)
STATIC, QUESTION = "You are careful.", "what is in a.py?"
ASKED: tuple[Message, ...] = (SystemMessage(STATIC), UserMessage((Text(QUESTION),)))
STEP = (
    Thinking("Let me see 文件.", signature="c2lnbmVk"),
    Text("I shall look.\n"),
    ToolCall("call_1", "Read", {"path": "a.py"}),
    ToolCall("call_2", "Read", {"path": "ü.py"}),
)
RESULTS = {"call_1": "x = 1\n", "call_2": "no such file"}

Seen = dict[str, Any]
"""A reply in plain words, the same from either side."""


def ours(server: ProviderServer, adapter: ProviderAdapter, *messages: Message) -> ModelReply:
    async def run() -> ModelReply:
        url = server.url if isinstance(adapter, AnthropicAdapter) else server.openai_url
        where = Endpoint(url=url, key=KEY)
        async with RemoteModel("loopback/test", "test", adapter, where, retries=RetryPolicy(most=0)) as model:
            return await ask(model, ModelRequest(messages=messages or ASKED, tools=(READ,), max_tokens=500))

    return asyncio.run(run())


def told(reply: ModelReply) -> Seen:
    parts = [_part(part) for part in reply.parts]
    return {"parts": parts, "stop": reply.stop, "usage": reply.usage, "model": reply.model}


def _part(part: AssistantPart) -> tuple[Any, ...]:
    match part:
        case Text(text):
            return "text", text
        case Thinking(text, signature, redacted):
            opaque = msgspec.json.decode(redacted)["encrypted_content"] if redacted[:1] == "{" else redacted
            return "thinking", text, signature or opaque
        case ToolCall(id, name, arguments, raw):
            return "call", id, name, raw or arguments


def _arguments(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


class AnthropicSdk:
    adapter = AnthropicAdapter(cache="")
    stops: ClassVar = {"end_turn": "end", "tool_use": "calls", "max_tokens": "length", "refusal": "refused"}

    def __init__(self, server: ProviderServer) -> None:
        self.client = anthropic.Anthropic(api_key=KEY, base_url=server.url, max_retries=0)

    def ask(self, *rest: Any) -> Any:
        tool = {"name": "Read", "description": "reads a file", "input_schema": SCHEMA}
        messages = [{"role": "user", "content": QUESTION}, *rest]
        with self.client.messages.stream(
            model="test", max_tokens=500, system=STATIC, tools=[tool], messages=messages
        ) as stream:
            return stream.get_final_message()

    def told(self, reply: Any) -> Seen:
        usage = reply.usage
        read, write = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
        counted = Usage(usage.input_tokens + read + write, usage.output_tokens, read, write)
        parts = [self._part(block) for block in reply.content]
        return {
            "parts": parts,
            "stop": self.stops[reply.stop_reason],
            "usage": counted,
            "model": reply.model,
        }

    def _part(self, block: Any) -> tuple[Any, ...]:
        if block.type == "text":
            return "text", block.text
        if block.type == "tool_use":
            return "call", block.id, block.name, block.input
        if block.type == "redacted_thinking":
            return "thinking", "", block.data
        return "thinking", block.thinking, block.signature

    def answered(self, reply: Any) -> list[Any]:
        results = [{"type": "tool_result", "tool_use_id": k, "content": v} for k, v in RESULTS.items()]
        return [{"role": "assistant", "content": reply.content}, {"role": "user", "content": results}]


class ChatSdk:
    adapter = OpenAIChatAdapter(reasoning_field="reasoning_content")
    stops: ClassVar = {"stop": "end", "tool_calls": "calls", "length": "length", "content_filter": "refused"}

    def __init__(self, server: ProviderServer) -> None:
        self.client = openai.OpenAI(api_key=KEY, base_url=server.openai_url, max_retries=0)

    def ask(self, *rest: Any) -> Any:
        function = {"name": "Read", "description": "reads a file", "parameters": SCHEMA}
        messages = [{"role": "system", "content": STATIC}, {"role": "user", "content": QUESTION}, *rest]
        stream = self.client.chat.completions.create(
            model="test",
            max_completion_tokens=500,
            messages=messages,
            tools=[{"type": "function", "function": function}],
            stream=True,
            stream_options={"include_usage": True},
        )
        # The SDK's own gathering refuses a reply that met its limit, so its state is used bare.
        state = openai.lib.streaming.chat.ChatCompletionStreamState()
        for chunk in stream:
            state.handle_chunk(chunk)
        return state.current_completion_snapshot

    def told(self, reply: Any) -> Seen:
        (choice,), usage = reply.choices, reply.usage
        details = usage.prompt_tokens_details
        message = choice.message
        thought = getattr(message, "reasoning_content", None)
        parts: list[tuple[Any, ...]] = [("thinking", thought, "")] if thought else []
        parts += [("text", message.content)] if message.content else []
        parts += [
            ("call", c.id, c.function.name, _arguments(c.function.arguments))
            for c in message.tool_calls or ()
        ]
        counted = Usage(
            usage.prompt_tokens, usage.completion_tokens, details.cached_tokens, details.cache_write_tokens
        )
        return {
            "parts": parts,
            "stop": self.stops[choice.finish_reason],
            "usage": counted,
            "model": reply.model,
        }

    def answered(self, reply: Any) -> list[Any]:
        results = [{"role": "tool", "tool_call_id": k, "content": v} for k, v in RESULTS.items()]
        return [reply.choices[0].message, *results]


class ResponsesSdk:
    adapter = OpenAIResponsesAdapter()

    def __init__(self, server: ProviderServer) -> None:
        self.client = openai.OpenAI(api_key=KEY, base_url=server.openai_url, max_retries=0)

    def ask(self, *rest: Any) -> Any:
        tool = {"type": "function", "name": "Read", "description": "reads a file", "parameters": SCHEMA}
        events = self.client.responses.create(
            model="test",
            max_output_tokens=500,
            instructions=STATIC,
            input=[{"role": "user", "content": QUESTION}, *rest],
            tools=[{**tool, "strict": False}],
            store=False,
            include=["reasoning.encrypted_content"],
            stream=True,
        )
        *_, last = events
        return last.response

    def told(self, reply: Any) -> Seen:
        details = reply.usage.input_tokens_details
        counted = Usage(
            reply.usage.input_tokens,
            reply.usage.output_tokens,
            details.cached_tokens,
            details.cache_write_tokens,
        )
        parts = [part for item in reply.output for part in self._parts(item)]
        reason = reply.incomplete_details.reason if reply.incomplete_details else None
        stop = "calls" if any(part[0] == "call" for part in parts) else "end"
        stop = {"max_output_tokens": "length", "content_filter": "refused"}.get(reason, stop)
        return {"parts": parts, "stop": stop, "usage": counted, "model": reply.model}

    def _parts(self, item: Any) -> list[tuple[Any, ...]]:
        if item.type == "message":
            return [("text", part.text) for part in item.content]
        if item.type == "function_call":
            return [("call", item.call_id, item.name, _arguments(item.arguments))]
        text = "".join(part.text for part in item.summary)
        return [("thinking", text, item.encrypted_content or "")]

    def answered(self, reply: Any) -> list[Any]:
        results = [{"type": "function_call_output", "call_id": k, "output": v} for k, v in RESULTS.items()]
        return [*reply.output, *results]


Sdk = Callable[[ProviderServer], Any]
each_sdk = pytest.mark.parametrize(
    "sdk", [AnthropicSdk, ChatSdk, ResponsesSdk], ids=["anthropic", "chat", "responses"]
)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDKs heed a proxy of the environment even on their way to this machine."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.slow
@each_sdk
@pytest.mark.parametrize(
    "script",
    [
        Script(),
        Script(parts=STEP),
        Script(parts=STEP, interleaved=True, chunk=3, piece=2),
        Script(parts=(Thinking(redacted="b3BhcXVl"), Text("Yes."))),
        Script(parts=(Text("as far as"),), stop="length"),
        Script(parts=(Text("I cannot."),), stop="refused"),
        Script(parts=(ToolCall("call_1", "Read", {}), ToolCall("call_2", "Read", {"n": [1.5, None, "ü"]}))),
    ],
    ids=["text", "step", "mixed", "hidden thinking", "cut", "refused", "calls only"],
)
def test_the_same_reply_is_read(sdk: Sdk, script: Script):
    with serving(script) as server:
        theirs = sdk(server)
        with theirs.client:
            expected = theirs.told(theirs.ask())
        assert told(ours(server, theirs.adapter)) == expected


@pytest.mark.parametrize("sdk", [ChatSdk, ResponsesSdk], ids=["chat", "responses"])
def test_arguments_that_are_no_json_are_read_the_same(sdk: Sdk):
    # Anthropic's SDK raises an error here, which is no reading.
    with serving(Script(parts=(ToolCall("call_1", "Read", {}, raw='{"path": "a'),))) as server:
        theirs = sdk(server)
        with theirs.client:
            expected = theirs.told(theirs.ask())
        assert told(ours(server, theirs.adapter)) == expected


@each_sdk
def test_a_step_is_sent_back_the_same(sdk: Sdk):
    """The SDK is given its own reply objects, as its documentation says; we send what we read."""
    with serving(Script(parts=STEP)) as server:
        theirs = sdk(server)
        with theirs.client:
            theirs.ask(*theirs.answered(theirs.ask()))
        reply = ours(server, theirs.adapter)
        results = [ToolMessage(k, "Read", (Text(v),)) for k, v in RESULTS.items()]
        ours(server, theirs.adapter, *ASKED, AssistantMessage(reply.parts), *results)
        bodies = [plain(seen.json) for seen in server.requests]
    assert bodies[2] == bodies[0]
    assert bodies[3] == bodies[1]
    assert "c2lnbmVk" in str(bodies[1]) or sdk is ChatSdk


_NOT_COMPARED = ("status", "annotations", "logprobs", "index", "parsed_arguments", "phase")


def plain(body: Any) -> Any:
    """A request without what means the same: a text for a list of one, no field for nothing, ids of the API's own.

    A reasoning item keeps its id, without which it is not known again.
    """
    if isinstance(body, list):
        return [plain(item) for item in body]
    if not isinstance(body, dict):
        return _arguments(body) if isinstance(body, str) and body[:1] == "{" else body
    kept = {
        key: plain(value)
        for key, value in body.items()
        if value is not None and key not in _NOT_COMPARED and not _is_own_id(body, key)
    }
    if kept.get("type") == "message":
        del kept["type"]
    for field in ("content", "system"):
        match kept.get(field):
            case [{"type": "text" | "output_text", "text": text, **rest}] if not rest:
                kept[field] = text
    return kept


def _is_own_id(item: dict[str, Any], key: str) -> bool:
    return key == "id" and item.get("type") in ("message", "function_call")


@each_sdk
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("overflow", Overflowed),
        ("auth", AuthFailed),
        ("rate", RateLimited),
        ("overloaded", RateLimited),
        ("server", NetworkFailed),
        ("missing", Refused),
        ("refused", Refused),
        ("quota", Refused),
    ],
)
def test_a_refusal_is_understood_the_same(sdk: Sdk, kind: Any, expected: type[ModelError]):
    with serving(Failure(kind=kind)) as server:
        theirs = sdk(server)
        with theirs.client, pytest.raises((anthropic.APIStatusError, openai.APIStatusError)) as their:
            theirs.ask()
        with pytest.raises(ModelError) as our:
            ours(server, theirs.adapter)
    assert type(our.value) is expected
    assert f"({their.value.status_code})" in our.value.message
    said = their.value.body.get("error", their.value.body)["message"]
    assert said[:40] in our.value.message


@each_sdk
def test_an_error_inside_a_stream_is_seen_by_both(sdk: Sdk):
    with serving(Script(broken=Broken(before=5, kind="overloaded"))) as server:
        theirs = sdk(server)
        with theirs.client:
            if isinstance(theirs, ResponsesSdk):
                # This SDK hands the failure on as an event.
                assert theirs.ask().status == "failed"
            else:
                with pytest.raises((anthropic.APIError, openai.APIError)):
                    theirs.ask()
        with pytest.raises((RateLimited, NetworkFailed)):
            ours(server, theirs.adapter)


@pytest.mark.slow
def test_our_bodies_have_the_types_of_the_sdks():
    """What a type checker would say to our requests if they were written by hand."""
    pydantic = pytest.importorskip("pydantic", reason="pydantic comes with the SDKs")
    picture = Image("image/png", data="aWE=")
    results = [ToolMessage(k, "Read", (Text(v), picture), error=True) for k, v in RESULTS.items()]
    item = Thinking("hm", redacted='{"id":"rs_1","encrypted_content":"gAAA"}')
    request = ModelRequest(
        messages=(*ASKED, AssistantMessage((item, *STEP)), *results, UserMessage((Text("and?"), picture))),
        tools=(READ,),
        layer_ends=(0, 1, 2),
        effort="low",
    )
    chat = openai.types.chat.completion_create_params.CompletionCreateParamsStreaming
    responses = openai.types.responses.response_create_params.ResponseCreateParamsStreaming
    messages = anthropic.types.message_create_params.MessageCreateParamsStreaming
    with_betas = anthropic.types.beta.message_create_params.MessageCreateParamsStreaming
    for adapter, kind in (
        (AnthropicAdapter(), messages),
        (AnthropicAdapter(thinking="adaptive"), with_betas),
        (OpenAIChatAdapter(thinking="effort"), chat),
        (OpenAIResponsesAdapter(), responses),
    ):
        body = adapter.body("test", request)
        # Lists are checked while they are read, so the type adapter must live until then.
        types = pydantic.TypeAdapter(kind)
        checked = types.validate_python(body)
        assert set(checked) == set(body)
        assert exhausted(checked), adapter


def exhausted(value: Any) -> bool:
    """Reads every list in it to its end, which raises where one holds what it may not."""
    if isinstance(value, dict):
        return all(exhausted(item) for item in value.values())
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
        return True
    return all(exhausted(item) for item in value)
