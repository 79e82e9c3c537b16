"""A chat completion that is packed, and whose calls of Recall are answered before its caller sees the reply.

Rule: the caller's list stays as it is. Calls of Recall and their answers are in no list but that of the request.
"""

from collections.abc import Mapping
from typing import Any

from holdfast.followed_conversations import FollowedConversation
from holdfast.recall import RECALL_TOOL
from holdfast.wire.content_blocks import WireDict, split_system, tool_definitions
from holdfast.wire.foreign_json import Losses, obj, text
from holdfast.wire.openai import chat_usage, openai_tool
from holdfast.wire.sdk_objects import plain_message, plain_tools

MOST_ROUNDS = 3
"""How often a model may ask for Recall before it has to answer, which is LiteLLM's own limit too."""


class PackedCall:
    """One chat completion: what the caller asked for, and what is sent."""

    def __init__(
        self, conversation: FollowedConversation[WireDict], request: Mapping[str, Any], *, can_recall: bool
    ) -> None:
        self.conversation = conversation
        self._messages = [plain_message(m, f"message {at}") for at, m in enumerate(request["messages"])]
        self._tools = plain_tools(request.get("tools"))
        self.can_recall = can_recall and not request.get("functions")
        self.is_streamed = bool(request.get("stream"))
        self._is_retried = False
        self._rounds = 0

    def pack(self) -> dict[str, Any]:
        """The messages and tools to send."""
        losses = Losses()
        tools = [*self._tools, *([openai_tool(RECALL_TOOL)] if self.can_recall else [])]
        packed = self.conversation.pack(self._messages, tools=tool_definitions(tools, losses))
        prompt, rest = split_system(self._messages, losses)
        opening = self._messages[: len(self._messages) - len(rest)]
        if packed.system != prompt:
            opening = [{"role": "system", "content": packed.system}] if packed.system else []
        return {"messages": [*opening, *packed.messages], **({"tools": tools} if tools else {})}

    def retry(self, error: BaseException, *, is_overflow: bool) -> bool:
        """Whether the request was too long, so that a smaller one may be sent in its place, once."""
        if self._is_retried or not self.conversation.report_error(error, is_overflow=is_overflow):
            return False
        self._is_retried = True
        return True

    def recalls(self, response: Any) -> list[WireDict]:
        """The calls of Recall in a reply."""
        if not self.can_recall or not getattr(response, "choices", None):
            return []
        calls = response.choices[0].message.tool_calls or []
        return [plain_message(call) for call in calls if call.function.name == RECALL_TOOL.name]

    def answered(self, response: Any) -> list[WireDict]:
        """The reply with its calls of Recall alone, and their answers: other calls are made again after them."""
        reply = response.choices[0].message.model_dump(exclude_none=True)
        calls = self.recalls(response)
        return [
            {**reply, "tool_calls": calls},
            *(
                {
                    "role": "tool",
                    "tool_call_id": call["id"],
                    "content": self.conversation.recall(text(obj(call.get("function")).get("arguments"))),
                }
                for call in calls
            ),
        ]

    def last_tools(self) -> dict[str, Any]:
        """How a model is asked that has called Recall often enough."""
        return {"tools": self._tools} if self._tools else {"tool_choice": "none"}

    def next_request(self, sent: dict[str, Any], response: Any) -> dict[str, Any] | None:
        """The request with the answers of Recall; None where the reply is the caller's."""
        if not self.recalls(response):
            self.report_usage(response)
            return None
        self._rounds += 1
        messages = [*sent["messages"], *self.answered(response)]
        return {**sent, "messages": messages, **(self.last_tools() if self._rounds >= MOST_ROUNDS else {})}

    def report_usage(self, response: Any) -> None:
        usage = getattr(response, "usage", None)
        found = chat_usage(plain_message(usage)) if usage is not None else None
        if found is not None:
            self.conversation.report_usage(found, text(getattr(response, "model", "")))
