"""The coding agent on a full screen.

Rule: nothing heavy is loaded before there is something to see.
"""

import os
import sys
from contextlib import suppress

from holdfast.agents.options import AgentOptions, preview_agent
from holdfast.terminal.first_frame import default_banner, first_frame
from holdfast.terminal.interface import StatusFigures
from holdfast.terminal.status_line import current_branch

_MOST_HEAPS, _OWN_PAGES = -8, -3
"""`M_ARENA_MAX` and `M_MMAP_THRESHOLD` of malloc.h."""
_LARGE = 128 << 10


def run(options: AgentOptions, *, is_scratch: bool = False, banner: str = "") -> int:
    """Show the agent until the person leaves; the exit code. Raises what kept the first session from opening.

    How to resume is not said of a scratch folder, which is removed. `banner` is the first line of the screen.
    """
    preview, banner = preview_agent(options, os.environ), banner or default_banner(options.root)
    figures = StatusFigures(model=preview.model, branch=current_branch(options.root), mode=preview.mode)
    with first_frame(banner, figures, os.environ) as painted:
        # Imported behind the first frame: it takes longer to load than everything else together.
        from holdfast.terminal.app import AgentApp  # noqa: PLC0415

        _keep_memory_small()
        app = AgentApp(options, banner=banner, figures=figures, painted=painted)
        code = app.run()
    if app.failure:
        raise app.failure
    if app.conversation.log and not is_scratch:
        sys.stderr.write(f"to resume this session: `holdfast resume {app.conversation.log}`\n")
    # What Textual itself ends with after an error in the screen is not what `run()` returns.
    return code or app.return_code or 0


def _keep_memory_small() -> None:
    """The C library of Linux gives each thread a heap of its own, and what one of them freed no other takes: 15 MB
    of a long session. What is as large as a request gets pages of its own, which go back when it is freed: 7 MB
    more. Called before there are threads."""
    # Imported behind the first frame, too.
    import ctypes  # noqa: PLC0415

    with suppress(OSError, AttributeError):  # another C library
        library = ctypes.CDLL(None)
        library.mallopt(_MOST_HEAPS, 1)
        library.mallopt(_OWN_PAGES, _LARGE)
