"""A model of ours against the provider on loopback, in all three protocols."""

import asyncio

import pytest

from holdfast.messages import Text, ToolCall, UserMessage
from holdfast.models.adapter import ProviderAdapter
from holdfast.models.anthropic_api import AnthropicAdapter
from holdfast.models.model import ModelReply, ModelRequest, StreamEvent, ask
from holdfast.models.openai_chat_api import OpenAIChatAdapter
from holdfast.models.openai_responses_api import OpenAIResponsesAdapter
from holdfast.models.remote import RemoteModel, RetryPolicy
from holdfast.models.reply_limits import ReplyLimits
from holdfast.models.transport import Endpoint, Timeouts
from support.provider_server import PROTOCOLS, ProviderServer

KEY = "correct horse battery staple".replace(" ", "-")
"""Like no provider's, so that no scanner of secrets knows it."""
WIRES: dict[str, ProviderAdapter] = {
    "/v1/messages": AnthropicAdapter(),
    "/v1/chat/completions": OpenAIChatAdapter(),
    "/v1/responses": OpenAIResponsesAdapter(),
}
REQUEST = ModelRequest(messages=(UserMessage((Text("hello"),)),))
FAST = RetryPolicy(most=2, first=0.001)
CALLS = (
    Text("I shall look at 文件.\n"),
    ToolCall("call_1", "Read", {"path": "src/ü.py", "lines": [1, 2]}),
    ToolCall("call_2", "Bash", {"command": "ls"}),
)

each_protocol = pytest.mark.parametrize("path", list(PROTOCOLS), ids=["anthropic", "chat", "responses"])

NO_RETRIES = RetryPolicy(most=0)
USUAL = ReplyLimits()


def remote(
    server: ProviderServer,
    path: str,
    retries: RetryPolicy = NO_RETRIES,
    *,
    limits: ReplyLimits = USUAL,
    **timeouts: float,
) -> RemoteModel:
    url = server.url if path == "/v1/messages" else server.openai_url
    where = Endpoint(url=url, key=KEY, timeouts=Timeouts(**timeouts), limits=limits)
    return RemoteModel("loopback/test", "test", WIRES[path], where, retries=retries)


def streamed(model: RemoteModel, into: list[StreamEvent] | None = None) -> list[StreamEvent]:
    async def run() -> list[StreamEvent]:
        got = [] if into is None else into
        async with model:
            async for came in model.stream(REQUEST):
                got.append(came)
        return got

    return asyncio.run(run())


def asked(model: RemoteModel) -> ModelReply:
    async def run() -> ModelReply:
        async with model:
            return await ask(model, REQUEST)

    return asyncio.run(run())
