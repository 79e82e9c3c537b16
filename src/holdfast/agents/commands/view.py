"""`/view`: a page in the browser with every request of this session, live.

Rule: the viewer is a process of its own that ends with the session; it reads the store and changes nothing.
"""

import asyncio

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import SlashCommand
from holdfast.agents.outcomes import CommandAnswer
from holdfast.agents.viewer_process import ViewerProcess
from holdfast.errors import InputError


async def _run(coding: CodingSession, argument: str) -> CommandAnswer:
    if argument:
        raise VIEW.unexpected(argument)
    store, log = coding.session.store, coding.session.log.id
    if store.place is None:
        raise InputError(
            "this session is kept in memory alone, where the viewer cannot read it",
            hint="`/context` shows what is in the window now",
        )
    if coding.viewer is not None and not coding.viewer.is_running:
        coding.viewer.close()
        coding.viewer = None
    if coding.viewer is None:
        coding.viewer = ViewerProcess(store.place, log, opens_browser=True)
    address = await asyncio.to_thread(coding.viewer.address)
    return CommandAnswer(f"This session is at <{address}> until you leave it.")


VIEW = SlashCommand("view", "/view", "show every request of this session in a browser, live", _run)
