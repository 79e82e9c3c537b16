"""Holdfast inside Strands Agents as a policy: its conversation manager in an agent of the library.

Rule: the agent is that of `adapters/strands.py`; only the conversation manager is another.
"""

from importlib.metadata import version

from strands import Agent

from holdfast.adapters.strands import HoldfastConversationManager
from holdfast.recall import RECALL_TOOL
from peers.adapters.event_loop import wait_for
from peers.adapters.holdfast_profile import replay_profile
from peers.adapters.serve import Answer, Message, Packer, serve
from peers.adapters.strands import Provider, Sent, to_openai, to_strands


class HoldfastStrands:
    """One agent on one recording."""

    def __init__(self, budget: int) -> None:
        self._provider = Provider(budget)
        manager = HoldfastConversationManager(profile=replay_profile(budget))
        self._agent = Agent(model=self._provider, conversation_manager=manager, callback_handler=None)
        # The budget of a replay is for messages alone, and a tool would take some of it.
        del self._agent.tool_registry.registry[RECALL_TOOL.name]
        self._agent.event_loop_metrics.reset_usage_metrics()
        self.about = (
            f"strands-agents {version('strands-agents')}; "
            f"conversation_manager=HoldfastConversationManager({budget}, profile=code)"
        )

    def pack(self, new: list[Message], at: float | None) -> Answer:  # noqa: ARG002
        return wait_for(self._pack(new))

    async def _pack(self, new: list[Message]) -> Answer:
        if not new and not self._agent.messages:
            return Answer([])
        await self._agent._append_messages(*to_strands(new))  # noqa: SLF001
        try:
            async for _ in self._agent._execute_event_loop_cycle({}):  # noqa: SLF001
                pass
        except Sent:
            return Answer(to_openai(self._provider.request))
        raise AssertionError("the event loop ended without a request")


def start(variant: str, budget: int) -> Packer:
    if variant != "holdfast":
        raise ValueError(f"there is no variant `{variant}`")
    return HoldfastStrands(budget)


if __name__ == "__main__":
    serve(start)
