"""Microsoft Agent Framework as a policy: the context-window strategy that its harness agent uses by default.

Rule: documented defaults, scaled to the budget; a chat client of the library meets every request and compacts it.

The strategy takes a window and the tokens of it that are kept for output, neither with a default. A replay's budget
covers messages alone, so the window is the budget and nothing is kept for output: the input budget, of which the
library takes 0.5 and 0.8 as its thresholds, is the whole budget. It has no summary by a model.
"""

from collections.abc import Awaitable, Iterator, Sequence
from importlib.metadata import version
from typing import Any

from agent_framework import BaseChatClient, ChatResponse, Content, ContextWindowCompactionStrategy
from agent_framework import Message as Native

from peers.adapters.event_loop import wait_for
from peers.adapters.serve import Answer, Message, Packer, serve


class Recorder(BaseChatClient):
    """A client whose service keeps the request and answers nothing."""

    request: Sequence[Native] = ()

    def _inner_get_response(
        self, *, messages: Sequence[Native], stream: bool, options: Any, **_: Any
    ) -> Awaitable[ChatResponse]:
        assert not stream, options
        self.request = messages
        return _nothing()


async def _nothing() -> ChatResponse:
    return ChatResponse(messages=[])


class ContextWindow:
    """One history, which the library marks and adds summaries of tool results to."""

    def __init__(self, budget: int) -> None:
        strategy = ContextWindowCompactionStrategy(max_context_window_tokens=budget, max_output_tokens=0)
        self._client = Recorder(compaction_strategy=strategy)
        self._history: list[Native] = []
        self._names: dict[str, str] = {}
        self.about = (
            f"agent-framework-core {version('agent-framework-core')}; ContextWindowCompactionStrategy("
            f"max_context_window_tokens={budget}, max_output_tokens=0), "
            f"tool_eviction_threshold={strategy.tool_eviction_threshold}, "
            f"truncation_threshold={strategy.truncation_threshold}, keep_last_tool_call_groups=4, "
            f"{type(strategy.tokenizer).__name__}"
        )

    def pack(self, new: list[Message], at: float | None) -> Answer:  # noqa: ARG002
        for message in new:
            self._names |= {call["id"]: call["name"] for call in message.get("tool_calls") or ()}
        self._history += map(to_native, new)
        if not self._history:
            return Answer([])
        # In place: the library's loop hands the same list over in each round, and keeps its marks there.
        wait_for(self._client.get_response(self._history))
        return Answer([said for message in self._client.request for said in to_openai(message, self._names)])


def to_openai(message: Native, names: dict[str, str]) -> Iterator[Message]:
    """`names` are the tools by call id, which a result does not say."""
    results = [content for content in message.contents if content.type == "function_result"]
    for result in results:
        name = names.get(result.call_id, "")
        yield {"role": "tool", "tool_call_id": result.call_id, "name": name, "content": result.result}
    if results:
        return
    calls = [
        {"id": content.call_id, "name": content.name, "arguments": content.parse_arguments()}
        for content in message.contents
        if content.type == "function_call"
    ]
    said: Message = {"role": str(message.role), "content": message.text}
    yield said | {"tool_calls": calls} if calls else said


def to_native(message: Message) -> Native:
    if message["role"] == "tool":
        result = Content.from_function_result(message["tool_call_id"], result=message["content"])
        return Native("tool", [result])
    contents = [Content.from_text(message["content"])] if message.get("content") else []
    contents += [
        Content.from_function_call(call["id"], call["name"], arguments=call["arguments"])
        for call in message.get("tool_calls") or ()
    ]
    return Native(message["role"], contents)


def start(variant: str, budget: int) -> Packer:
    if variant != "context_window":
        raise ValueError(f"there is no variant `{variant}`")
    return ContextWindow(budget)


if __name__ == "__main__":
    serve(start)
