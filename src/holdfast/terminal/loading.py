"""How a talk is opened from the screen: the agent is loaded with the first one.

Rule: what takes long is done in a thread, so that the screen goes on painting.
"""

import asyncio
from importlib import import_module

from holdfast.agents.coding.wish import Wish
from holdfast.terminal.talk import Open, Stage, Talk, Target


def opening(wish: Wish) -> Open:
    """How the talks of a wish are opened."""

    async def open_talk(stage: Stage, target: Target) -> Talk:
        loaded = await asyncio.to_thread(import_module, "holdfast.terminal.opened")
        talk: Talk = await loaded.open_talk(loaded.wished(wish), stage, target)
        return talk

    return open_talk
