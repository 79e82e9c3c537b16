"""Holdfast inside LiteLLM as a policy: its callback, in chat completions of the library.

Rule: a chat completion for each request, with the whole history; a provider of our own is where the request ends.
"""

import os
from importlib.metadata import version
from typing import Any

# Before the import: prices and windows are looked up in the network otherwise.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm

from holdfast.adapters.chat_calls import PackedCall
from holdfast.adapters.litellm import HoldfastHandler
from peers.adapters.event_loop import wait_for
from peers.adapters.holdfast_profile import replay_profile
from peers.adapters.nesting import flatten, nest
from peers.adapters.serve import Answer, Message, Packer, serve


class Recorder(litellm.CustomLLM):
    """A provider that keeps the request and says nothing."""

    request: list[Message]

    async def acompletion(self, **request: Any) -> litellm.ModelResponse:
        self.request = request["messages"]
        return litellm.ModelResponse()


class WithoutRecall(HoldfastHandler):
    """The budget of a replay is for messages alone, and a tool would take some of it."""

    def _begin(self, request: Any, *, can_recall: bool) -> PackedCall:  # noqa: ARG002
        return super()._begin(request, can_recall=False)


class HoldfastLiteLLM:
    """One conversation on one recording."""

    def __init__(self, budget: int) -> None:
        self._provider = Recorder()
        litellm.custom_provider_map = [{"provider": "replay", "custom_handler": self._provider}]
        litellm.callbacks = [WithoutRecall(profile=replay_profile(budget))]
        self._history: list[Message] = []
        self.about = f"litellm {version('litellm')}; callbacks=[HoldfastHandler({budget}, profile=code)]"

    def pack(self, new: list[Message], at: float | None) -> Answer:  # noqa: ARG002
        self._history += map(nest, new)
        if not self._history:
            return Answer([])
        wait_for(litellm.acompletion("replay/model", messages=self._history, litellm_session_id="replay"))
        return Answer(list(map(flatten, self._provider.request)))


def start(variant: str, budget: int) -> Packer:
    if variant != "holdfast":
        raise ValueError(f"there is no variant `{variant}`")
    return HoldfastLiteLLM(budget)


if __name__ == "__main__":
    serve(start)
