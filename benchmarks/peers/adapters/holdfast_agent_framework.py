"""Holdfast inside Microsoft Agent Framework as a policy: its middleware in a chat client of the library.

Rule: the client is that of `adapters/agent_framework.py`, without a strategy of its own.
"""

from functools import partial
from importlib.metadata import version

from agent_framework import ChatMiddlewareLayer
from agent_framework import Message as Native

from holdfast.adapters.agent_framework import HoldfastContextProvider, PackingMiddleware
from peers.adapters.agent_framework import Recorder, to_native, to_openai
from peers.adapters.event_loop import wait_for
from peers.adapters.holdfast_profile import replay_profile
from peers.adapters.serve import Answer, Message, Packer, serve


class PackedRecorder(ChatMiddlewareLayer, Recorder):
    """A client with middleware, whose service keeps the request and answers nothing."""


class HoldfastAgentFramework:
    """One history, as a session has it."""

    def __init__(self, budget: int) -> None:
        provider = HoldfastContextProvider(profile=replay_profile(budget))
        # The tool that it brings to an agent is left out: the budget of a replay is for messages alone.
        middleware = PackingMiddleware(partial(provider.conversations.get, "replay"))
        self._client = PackedRecorder(middleware=[middleware])
        self._history: list[Native] = []
        self._names: dict[str, str] = {}
        self.about = (
            f"agent-framework-core {version('agent-framework-core')}; "
            f"HoldfastContextProvider({budget}, profile=code)"
        )

    def pack(self, new: list[Message], at: float | None) -> Answer:  # noqa: ARG002
        for message in new:
            self._names |= {call["id"]: call["name"] for call in message.get("tool_calls") or ()}
        self._history += map(to_native, new)
        if not self._history:
            return Answer([])
        wait_for(self._client.get_response(self._history))
        return Answer([said for message in self._client.request for said in to_openai(message, self._names)])


def start(variant: str, budget: int) -> Packer:
    if variant != "holdfast":
        raise ValueError(f"there is no variant `{variant}`")
    return HoldfastAgentFramework(budget)


if __name__ == "__main__":
    serve(start)
