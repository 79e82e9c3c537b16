"""LangChain as policies: `trim_messages`, `SummarizationMiddleware`, `ClearToolUsesEdit`.

Rule: documented defaults, scaled to the budget; nothing is tuned for or against.
"""

import re
from html import unescape
from importlib.metadata import version
from typing import Any

from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware, SummarizationMiddleware
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    trim_messages,
)
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime

from peers.adapters.serve import Answer, Bill, Message, Packer, serve
from peers.adapters.stand_in import estimate_tokens, summarize

ABOUT = f"langchain {version('langchain')}, langchain-core {version('langchain-core')}"
SUMMARY_FRACTION = 0.8
"""Of the model's window, in the documentation of `trigger`, which has no default."""
WINDOW = 200_000
"""The window for which `ClearToolUsesEdit` documents its trigger of 100 000 tokens."""

_HUMAN = re.compile(r'<message type="human">(.*?)</message>', re.DOTALL)


def to_langchain(message: Message) -> BaseMessage:
    text = message.get("content") or ""
    match message["role"]:
        case "assistant":
            calls = [
                {"id": call["id"], "name": call["name"], "args": call["arguments"]}
                for call in message.get("tool_calls") or ()
            ]
            return AIMessage(text, tool_calls=calls)
        case "tool":
            return ToolMessage(text, tool_call_id=message["tool_call_id"], name=message.get("name"))
        case "user":
            return HumanMessage(text)
        case _:
            return SystemMessage(text)


def to_openai(message: BaseMessage) -> Message:
    content = message.content
    if isinstance(message, ToolMessage):
        return {
            "role": "tool",
            "tool_call_id": message.tool_call_id,
            "name": message.name,
            "content": content,
        }
    if isinstance(message, AIMessage):
        calls = [{"id": c["id"], "name": c["name"], "arguments": c["args"]} for c in message.tool_calls]
        said = {"role": "assistant", "content": content}
        return said | {"tool_calls": calls} if calls else said
    return {"role": "system" if isinstance(message, SystemMessage) else "user", "content": content}


PLAIN: dict[str, Any] = {"strategy": "last", "token_counter": "approximate"}
RECOMMENDED: dict[str, Any] = PLAIN | {
    "start_on": "human",
    "end_on": ("human", "tool"),
    "include_system": True,
    "allow_partial": False,
}
"""What the documentation of `trim_messages` advises where the result goes to a chat model."""


class Trim:
    """`trim_messages` on the request, by LangChain's own approximate count. Only `max_tokens` is the budget."""

    def __init__(self, budget: int, options: dict[str, Any]) -> None:
        self._options = {"max_tokens": budget, **options}
        settings = ", ".join(f"{name}={value}" for name, value in self._options.items())
        self.about = f"{ABOUT}; trim_messages({settings})"
        self._history: list[BaseMessage] = []

    def pack(self, new: list[Message], at: float | None) -> Answer:  # noqa: ARG002
        self._history += map(to_langchain, new)
        return Answer(list(map(to_openai, trim_messages(self._history, **self._options))))


class StandIn(BaseChatModel):
    """Answers a summary prompt by rule, and keeps the bill. It only sees what LangChain wrote into the prompt."""

    bills: list[Bill] = []  # noqa: RUF012  pydantic copies it

    @property
    def _llm_type(self) -> str:
        return "stand-in"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,  # noqa: ARG002
    ) -> ChatResult:
        prompt = "\n".join(message.text for message in messages)
        transcript = prompt.rpartition("Messages to summarize:")[2]
        summary = summarize(list(map(unescape, _HUMAN.findall(transcript))), unescape(transcript))
        self.bills.append(Bill(estimate_tokens(prompt), estimate_tokens(summary)))
        return ChatResult(generations=[ChatGeneration(message=AIMessage(summary))])


class Summary:
    """`SummarizationMiddleware` before each request, on a state that keeps what it was replaced by."""

    def __init__(self, budget: int, *, capped: bool) -> None:
        self._model = StandIn(profile={"max_input_tokens": budget})
        # The window is the budget; `keep` stays at its default of 20 messages.
        options: dict[str, Any] = {} if capped else {"trim_tokens_to_summarize": None}
        self._middleware: Any = SummarizationMiddleware(
            self._model, trigger=("fraction", SUMMARY_FRACTION), **options
        )
        cap = self._middleware.trim_tokens_to_summarize
        self.about = (
            f"{ABOUT}; SummarizationMiddleware(trigger=fraction {SUMMARY_FRACTION} of {budget}, "
            f"keep={self._middleware.keep}, trim_tokens_to_summarize={cap}), rule-based stand-in for the model"
        )
        self._state: list[Any] = []

    def pack(self, new: list[Message], at: float | None) -> Answer:  # noqa: ARG002
        self._state = list(add_messages(self._state, list(map(to_langchain, new))))
        billed = len(self._model.bills)
        update = self._middleware.before_model({"messages": self._state}, Runtime())
        if update is not None:
            self._state = list(add_messages(self._state, update["messages"]))
        return Answer(list(map(to_openai, self._state)), tuple(self._model.bills[billed:]))


class Clear:
    """`ContextEditingMiddleware` around each request; the state keeps every result."""

    def __init__(self, budget: int) -> None:
        default = ClearToolUsesEdit()
        edit = ClearToolUsesEdit(trigger=default.trigger * budget // WINDOW)
        self.about = (
            f"{ABOUT}; ContextEditingMiddleware({edit}), trigger scaled from {default.trigger} of {WINDOW}"
        )
        self._middleware: Any = ContextEditingMiddleware(edits=[edit])
        self._model = StandIn()
        self._history: list[Any] = []

    def pack(self, new: list[Message], at: float | None) -> Answer:  # noqa: ARG002
        self._history += map(to_langchain, new)
        sent: list[BaseMessage] = []

        def send(request: Any) -> Any:
            sent.extend(request.messages)
            return ModelResponse(result=[AIMessage("")])

        self._middleware.wrap_model_call(ModelRequest(model=self._model, messages=self._history), send)
        return Answer(list(map(to_openai, sent)))


def start(variant: str, budget: int) -> Packer:
    match variant:
        case "trim":
            return Trim(budget, RECOMMENDED)
        case "trim_plain":
            return Trim(budget, PLAIN)
        case "summary":
            return Summary(budget, capped=False)
        case "summary_capped":
            return Summary(budget, capped=True)
        case "clear":
            return Clear(budget)
        case _:
            raise ValueError(f"there is no variant `{variant}`")


if __name__ == "__main__":
    serve(start)
