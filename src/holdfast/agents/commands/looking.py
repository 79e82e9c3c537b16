"""The window as a command may look at it.

Rule: a window that the agent is working on in a thread of its own is not touched; another is made from the log.
"""

from holdfast.agents.coding.desk import Desk
from holdfast.packing.window import Window
from holdfast.views import path


def window_of(desk: Desk) -> Window:
    session = desk.session
    if not desk.agent.is_running:
        session.catch_up()
        return session.window
    return Window(session.profile, session.window.scene.counter, path(session.log.entries()))
