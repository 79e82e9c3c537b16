"""How a talk is opened from the screen: the agent is loaded with the first one.

Rule: what takes long is done in a thread, so that the screen goes on painting.
"""

import asyncio
from importlib import import_module

from holdfast.agents.options import AgentOptions
from holdfast.terminal.interface import OpenSession, ScreenSession, SessionDisplay, SessionTarget


def opening(wish: AgentOptions) -> OpenSession:
    """How the talks of a wish are opened."""

    async def open_talk(stage: SessionDisplay, target: SessionTarget) -> ScreenSession:
        loaded = await asyncio.to_thread(import_module, "holdfast.terminal.screen_session")
        talk: ScreenSession = await loaded.open_talk(loaded.wished(wish), stage, target)
        return talk

    return open_talk
