"""One attempt at a connection: not open yet, open with a session, and then over for a reason.

Rule: only the first reason counts, since what follows is its consequence.
"""

import asyncio
from typing import Protocol

from holdfast.messages import Json
from holdfast.tools.mcp.tools import RemoteTool


class Session(Protocol):
    async def list_tools(self) -> list[RemoteTool]: ...

    async def call(self, tool: str, arguments: dict[str, Json]) -> dict[str, Json]: ...


class Line:
    def __init__(self) -> None:
        self.session: Session | None = None
        self.reason = ""
        self.decided = asyncio.Event()
        self.over = asyncio.Event()
        self._news = asyncio.Event()
        self._is_changed = False

    def open(self, session: Session) -> None:
        self.session = session
        self.decided.set()

    def end(self, reason: str) -> None:
        self.reason = self.reason or reason.rstrip(".")
        self.over.set()
        self.decided.set()
        self._news.set()

    def change(self) -> None:
        """The server says that its tools are others now."""
        self._is_changed = True
        self._news.set()

    async def changed(self) -> bool:
        """Wait until the tools changed, or until it is over: whether they did."""
        await self._news.wait()
        is_changed, self._is_changed = self._is_changed, False
        if not self.over.is_set():
            self._news.clear()
        return is_changed and not self.over.is_set()
