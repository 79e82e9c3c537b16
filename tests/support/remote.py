"""A model of ours against the provider on loopback, in all three protocols."""

import asyncio

import pytest

from holdfast.messages import Text, ToolCall, UserMessage
from holdfast.models.protocol import Came, Reply, Request, ask
from holdfast.models.remote import RemoteModel
from holdfast.models.retrying import ONCE, Retries
from holdfast.models.sending import Endpoint, Timeouts
from holdfast.models.wire import Wire
from holdfast.models.wire.anthropic import AnthropicWire
from holdfast.models.wire.openai_chat import OpenAIChatWire
from holdfast.models.wire.openai_responses import OpenAIResponsesWire
from support.provider_server import PROTOCOLS, ProviderServer

KEY = "correct horse battery staple".replace(" ", "-")
"""Like no provider's, so that no scanner of secrets knows it."""
WIRES: dict[str, Wire] = {
    "/v1/messages": AnthropicWire(),
    "/v1/chat/completions": OpenAIChatWire(),
    "/v1/responses": OpenAIResponsesWire(),
}
REQUEST = Request(messages=(UserMessage((Text("hello"),)),))
FAST = Retries(most=2, first=0.001)
CALLS = (
    Text("I shall look at 文件.\n"),
    ToolCall("call_1", "Read", {"path": "src/ü.py", "lines": [1, 2]}),
    ToolCall("call_2", "Bash", {"command": "ls"}),
)

each_protocol = pytest.mark.parametrize("path", list(PROTOCOLS), ids=["anthropic", "chat", "responses"])


def remote(server: ProviderServer, path: str, retries: Retries = ONCE, **timeouts: float) -> RemoteModel:
    url = server.url if path == "/v1/messages" else server.openai_url
    where = Endpoint(url=url, key=KEY, timeouts=Timeouts(**timeouts))
    return RemoteModel("loopback/test", "test", WIRES[path], where, retries=retries)


def streamed(model: RemoteModel, into: list[Came] | None = None) -> list[Came]:
    async def run() -> list[Came]:
        got = [] if into is None else into
        async with model:
            async for came in model.stream(REQUEST):
                got.append(came)
        return got

    return asyncio.run(run())


def asked(model: RemoteModel) -> Reply:
    async def run() -> Reply:
        async with model:
            return await ask(model, REQUEST)

    return asyncio.run(run())
