"""Holdfast inside Pydantic AI as a policy: its capability in an agent of the library.

Rule: an agent runs for every request, over the recorded history, and its model is where the request ends.
"""

from importlib.metadata import version
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from holdfast.adapters.pydantic_ai import Holdfast
from peers.adapters.event_loop import wait_for
from peers.adapters.holdfast_profile import replay_profile
from peers.adapters.pydantic_ai_lists import add_to, to_openai
from peers.adapters.serve import Answer, Message, Packer, serve


class Sent(Exception):
    """The request left the library; there is no model to answer it, so the run ends here."""


class WithoutRecall(Holdfast):
    """The budget of a replay is for messages alone, and a tool would take some of it."""

    def get_toolset(self) -> Any:
        return None


class HoldfastPydanticAI:
    """One conversation, run after run."""

    def __init__(self, budget: int) -> None:
        capability = WithoutRecall(profile=replay_profile(budget))
        self._agent = Agent(FunctionModel(self._accept), capabilities=[capability])
        self._history: list[ModelMessage] = []
        self._request: list[Message] = []
        self.about = (
            f"pydantic-ai-slim {version('pydantic-ai-slim')}; capabilities=[Holdfast({budget}, profile=code)]"
        )

    async def _accept(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:  # noqa: ARG002
        self._request = to_openai(messages)
        raise Sent

    def pack(self, new: list[Message], at: float | None) -> Answer:  # noqa: ARG002
        for message in new:
            add_to(self._history, message, RequestUsage())
        if not self._history:
            return Answer([])
        # An agent does not ask again after an answer, unless a request follows it; this one says nothing.
        is_answered = isinstance(self._history[-1], ModelResponse)
        history = [*self._history, ModelRequest([])] if is_answered else self._history
        try:
            wait_for(self._agent.run(message_history=history, conversation_id="replay"))
        except Sent:
            return Answer(self._request)
        raise AssertionError("the run ended without a request")


def start(variant: str, budget: int) -> Packer:
    if variant != "holdfast":
        raise ValueError(f"there is no variant `{variant}`")
    return HoldfastPydanticAI(budget)


if __name__ == "__main__":
    serve(start)
