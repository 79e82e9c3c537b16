"""Holdfast's own middleware for LangChain, called with LangChain's requests as an agent would.

Rule: the profile is that of the row `code`, which besides knows the time of each request and counts as the scorer
does.
"""

from importlib.metadata import version
from typing import Any
from uuid import uuid4

from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableLambda

from holdfast.adapters.langchain import HoldfastMiddleware
from peers.adapters.holdfast_profile import replay_profile
from peers.adapters.langchain import ABOUT, StandIn, to_langchain, to_openai
from peers.adapters.serve import Answer, Message, Packer, serve


class Middleware:
    """`HoldfastMiddleware` around each request of one thread; the history keeps every message."""

    def __init__(self, budget: int) -> None:
        self.about = f"{ABOUT}; HoldfastMiddleware(budget={budget}) of holdfast {version('holdfast')}"
        self._middleware = HoldfastMiddleware(profile=replay_profile(budget))
        self._thread: Any = {"configurable": {"thread_id": str(uuid4())}}
        self._model = StandIn()
        self._history: list[Any] = []

    def pack(self, new: list[Message], at: float | None) -> Answer:  # noqa: ARG002
        self._history += map(to_langchain, new)
        sent: list[BaseMessage] = []

        def send(request: Any) -> Any:
            sent.extend(request.messages)
            # The reply is the recording's, and comes with the next request.
            return ModelResponse(result=[])

        def call(messages: list[Any]) -> Any:
            # Without tools: a budget of the replay is for messages alone.
            request = ModelRequest(model=self._model, messages=messages)
            return self._middleware.wrap_model_call(request, send)

        # A node of a graph runs with the config of its run, which has the thread.
        RunnableLambda(call).invoke(self._history, self._thread)
        return Answer(list(map(to_openai, sent)))


def start(variant: str, budget: int) -> Packer:
    if variant != "holdfast":
        raise ValueError(f"there is no variant `{variant}`")
    return Middleware(budget)


if __name__ == "__main__":
    serve(start)
