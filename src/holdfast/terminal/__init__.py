"""The coding agent on a full screen.

Rule: nothing heavy is loaded before there is something to be seen.
"""

import os
import sys

from holdfast.agents.options import AgentOptions, preview_agent
from holdfast.terminal.first_frame import default_banner, first_frame
from holdfast.terminal.interface import SessionTarget, StatusFigures
from holdfast.terminal.status_line import current_branch


def run(wish: AgentOptions, *, is_scratch: bool = False, banner: str = "") -> int:
    """Show the agent until the person leaves; the exit code. Raises what kept the first talk from being opened. Of
    a talk in a scratch folder it is not said how to go on with it. `banner` is the line above an empty talk."""
    told, banner = preview_agent(wish, os.environ), banner or default_banner(wish.root)
    figures = StatusFigures(model=told.model, branch=current_branch(wish.root), mode=told.mode)
    with first_frame(banner, figures, os.environ) as painted:
        # Loaded behind the first frame: it takes longer than everything else together.
        from holdfast.terminal.app import AgentApp  # noqa: PLC0415
        from holdfast.terminal.loading import opening  # noqa: PLC0415

        start = SessionTarget(wish.log, wish.model, wish.goes_on)
        app = AgentApp(
            opening(wish), root=wish.root, start=start, banner=banner, figures=figures, painted=painted
        )
        code = app.run()
    if app.failure:
        raise app.failure
    if app.talks.log and not is_scratch:
        sys.stderr.write(f"`holdfast resume {app.talks.log}` goes on from here\n")
    return code or 0
