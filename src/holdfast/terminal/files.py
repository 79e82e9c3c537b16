"""The repository's files, for completion.

Rule: they are listed as the tools list them, in a process of their own, and not again for every key.
"""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from holdfast.terminal.completion import with_folders

SECONDS = 10.0
"""How long a listing may take, and how long it counts as new."""


class RepositoryFiles:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._listed = 0.0
        self._listing: asyncio.Task[None] | None = None
        self.paths: list[str] = []

    def refresh(self, then: Callable[[], None]) -> None:
        """List them if the last listing is old; `then` is called when there is a new one."""
        is_new = self._listed and time.monotonic() - self._listed < SECONDS
        if not is_new and self._listing is None:
            self._listing = asyncio.create_task(self._list(then))

    async def _list(self, then: Callable[[], None]) -> None:
        # Loaded with the first mention: the screen is there without it.
        from holdfast.tools.envelope import ToolError  # noqa: PLC0415
        from holdfast.tools.listing.ripgrep import find_searcher, run_program  # noqa: PLC0415
        from holdfast.tools.listing.search import Walking, read_paths  # noqa: PLC0415

        try:
            done = await run_program(find_searcher().files(Walking()), str(self._root), SECONDS)
            found = await asyncio.to_thread(read_paths, done.output)
            self.paths = await asyncio.to_thread(with_folders, sorted(found))
        except ToolError:
            self.paths = []
        finally:
            self._listed = time.monotonic()
            self._listing = None
        then()
