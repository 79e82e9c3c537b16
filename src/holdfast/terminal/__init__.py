"""The coding agent on a full screen.

Rule: nothing heavy is loaded before the screen is there.
"""

import asyncio
import sys
from importlib import import_module

from holdfast.agents.coding.wish import Wish
from holdfast.terminal.app import AgentApp
from holdfast.terminal.talk import Open, Stage, Talk, Target


def run(wish: Wish) -> int:
    """Show the agent until the person leaves; the exit code. Raises what kept the first talk from being opened."""
    start = Target(wish.log, wish.model, wish.goes_on)
    app = AgentApp(opening(wish), root=wish.root, start=start)
    code = app.run()
    if app.failure:
        raise app.failure
    if app.talks.log:
        sys.stderr.write(f"`holdfast resume {app.talks.log}` goes on from here\n")
    return code or 0


def opening(wish: Wish) -> Open:
    """How the talks of a wish are opened; the agent is loaded with the first one, in a thread."""

    async def open_talk(stage: Stage, target: Target) -> Talk:
        loaded = await asyncio.to_thread(import_module, "holdfast.terminal.opened")
        talk: Talk = await loaded.open_talk(loaded.wished(wish), stage, target)
        return talk

    return open_talk
