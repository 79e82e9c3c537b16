"""Strands Agents as a policy: its sliding window, and its automatic context manager.

Rule: documented defaults; an agent of the library meets every request in its own event loop, and the model at the
end of it refuses what exceeds the budget, as a provider does.

No default is scaled but the window of the model, which is the budget. The window of 40 messages is applied where an
agent applies it, at the end of a user's turn; within a turn only an overflow shortens the history. The limits of
`auto` for one tool result (more than 1 500 tokens become a preview of 750) are absolute in the library and stay so.
"""

import re
from collections.abc import AsyncIterator, Iterator
from importlib.metadata import version
from typing import Any

from strands import Agent
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.models.model import Model
from strands.types.exceptions import ContextWindowOverflowException

from peers.adapters.event_loop import wait_for
from peers.adapters.provider_count import ProviderCount
from peers.adapters.serve import Answer, Bill, Message, Packer, serve
from peers.adapters.stand_in import estimate_tokens, summarize

Native = dict[str, Any]
Block = dict[str, Any]

VARIANTS = {
    "window": "conversation_manager=SlidingWindowConversationManager() (window_size=40, per_turn=False)",
    "auto": "context_manager=auto (tool results over 1500 tokens to 750, summary at 0.85, preserve_recent=4), "
    "rule-based stand-in for the model",
}
_ROLE = re.compile(r"\n---\n\[(\w+)\]")


class Sent(Exception):
    """The request left the library; there is no model to answer it, so the call ends here."""


class Provider(Model):
    """Where requests end: refuses those over the window, keeps the last that was accepted."""

    def __init__(self, window: int) -> None:
        self._config = {"context_window_limit": window}
        self.count = ProviderCount()
        self.request: list[Native] = []
        self.tokens = 0

    def get_config(self) -> dict[str, int]:
        return self._config

    def update_config(self, **model_config: Any) -> None:
        self._config.update(model_config)

    async def structured_output(self, *_: Any, **__: Any) -> AsyncIterator[dict[str, Any]]:
        raise NotImplementedError("a replay asks for no structured output")
        yield {}

    async def stream(self, messages: list[Native], *_: Any, **__: Any) -> AsyncIterator[dict[str, Any]]:
        tokens = sum(map(self.count, to_openai(messages)))
        if tokens > self._config["context_window_limit"]:
            raise ContextWindowOverflowException("the request exceeds the context window")
        self.request, self.tokens = messages, tokens
        raise Sent
        yield {}


class Summarizer(Provider):
    """The auxiliary model: a rule-based summary of the prompt that the library wrote."""

    def __init__(self, window: int) -> None:
        super().__init__(window)
        self.bills: list[Bill] = []

    async def stream(
        self, messages: list[Native], *_: Any, system_prompt: str | None = None, **__: Any
    ) -> AsyncIterator[dict[str, Any]]:
        blocks = [block["text"] for message in messages for block in message["content"]]
        everything = "\n".join(blocks)
        summary = summarize(list(said_by_user(blocks)), everything)
        self.bills.append(Bill(estimate_tokens(f"{system_prompt}\n{everything}"), estimate_tokens(summary)))
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": summary}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


class Strands:
    """One agent on one recording."""

    def __init__(self, variant: str, budget: int) -> None:
        if variant not in VARIANTS:
            raise ValueError(f"there is no variant `{variant}`")
        self._provider, self._summarizer = Provider(budget), Summarizer(budget)
        settings: dict[str, Any] = (
            {"context_manager": "auto"}
            if variant == "auto"
            else {"conversation_manager": SlidingWindowConversationManager()}
        )
        self._agent = Agent(
            model=self._provider, aux_model=self._summarizer, callback_handler=None, **settings
        )
        # An invocation begins so; the loop's metrics want one to write to.
        self._agent.event_loop_metrics.reset_usage_metrics()
        self.about = (
            f"strands-agents {version('strands-agents')}; context_window_limit={budget}, {VARIANTS[variant]}"
        )

    def pack(self, new: list[Message], at: float | None) -> Answer:  # noqa: ARG002
        return wait_for(self._pack(new))

    async def _pack(self, new: list[Message]) -> Answer:
        if not new and not self._agent.messages:
            return Answer([])
        self._summarizer.bills.clear()
        for message in to_strands(new):
            await self._add(message)
        try:
            # One cycle of the event loop, with its hooks and its recovery from an overflow; a whole invocation
            # would end the user's turn after every request.
            async for _ in self._agent._execute_event_loop_cycle({}):  # noqa: SLF001
                pass
        except Sent:
            return Answer(to_openai(self._provider.request), tuple(self._summarizer.bills))
        raise AssertionError("the event loop ended without a request")

    async def _add(self, message: Native) -> None:
        if self._ends_turn(message):
            self._agent.conversation_manager.apply_management(self._agent)
        if message["role"] == "assistant":
            replied = sum(map(self._provider.count, to_openai([message])))
            asked = self._provider.tokens
            usage = {"inputTokens": asked, "outputTokens": replied, "totalTokens": asked + replied}
            message["metadata"] = {"usage": usage, "metrics": {"latencyMs": 0}}
        await self._agent._append_messages(message)  # noqa: SLF001

    def _ends_turn(self, message: Native) -> bool:
        """Whether the agent's run was over before this message: it had answered, or the user broke in."""
        if not self._agent.messages:
            return False
        last = self._agent.messages[-1]
        answered = last["role"] == "assistant" and not any("toolUse" in block for block in last["content"])
        broke_in = any("toolResult" in block for block in last["content"]) and message["role"] == "user"
        return answered or broke_in


def said_by_user(blocks: list[str]) -> Iterator[str]:
    """The user's texts in the library's prompt, and earlier summaries, which hold some; a result is one block
    after its label."""
    role, is_result = "", False
    for block in blocks:
        if marker := _ROLE.fullmatch(block):
            role = marker[1]
        elif block.startswith("[tool result"):
            is_result = True
            continue
        elif (
            not is_result and block != "</content>" and (role == "user" or block.startswith("[Summarized: "))
        ):
            yield block
        is_result = False


def to_strands(messages: list[Message]) -> list[Native]:
    """Results of one round are one message, as the library's own loop writes them."""
    native: list[Native] = []
    for message in messages:
        if message["role"] != "tool":
            native.append({"role": message["role"], "content": list(to_blocks(message))})
            continue
        if not native or "toolResult" not in native[-1]["content"][0]:
            native.append({"role": "user", "content": []})
        result = {
            "toolUseId": message["tool_call_id"],
            "status": "success",
            "content": [{"text": message["content"]}],
        }
        native[-1]["content"].append({"toolResult": result})
    return native


def to_blocks(message: Message) -> Iterator[Block]:
    calls = message.get("tool_calls") or ()
    if message.get("content") or not calls:
        yield {"text": message.get("content") or ""}
    for call in calls:
        yield {"toolUse": {"toolUseId": call["id"], "name": call["name"], "input": call["arguments"]}}


def to_openai(messages: list[Native]) -> list[Message]:
    names: dict[str, str] = {}
    sent: list[Message] = []
    for message in messages:
        texts = [block["text"] for block in message["content"] if "text" in block]
        calls = [block["toolUse"] for block in message["content"] if "toolUse" in block]
        results = [block["toolResult"] for block in message["content"] if "toolResult" in block]
        names |= {call["toolUseId"]: call["name"] for call in calls}
        for result in results:
            text = "\n".join(part["text"] for part in result["content"])
            name = names.get(result["toolUseId"], "")
            sent.append({"role": "tool", "tool_call_id": result["toolUseId"], "name": name, "content": text})
        if texts or calls:
            sent.append({"role": message["role"], "content": "\n".join(texts)})
        if calls:
            sent[-1]["tool_calls"] = [
                {"id": call["toolUseId"], "name": call["name"], "arguments": call["input"]} for call in calls
            ]
    return sent


def start(variant: str, budget: int) -> Packer:
    return Strands(variant, budget)


if __name__ == "__main__":
    serve(start)
