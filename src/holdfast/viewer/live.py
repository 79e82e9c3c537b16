"""Server-sent events: which sessions are new, have grown or are gone, for every page that listens.

Rule: one watch for all pages, and none without a page. An event names sessions and how far they are; the page asks
for what it shows. A page that connects gets them all first, so that it needs no memory of what it missed.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

import msgspec

from holdfast.errors import HoldfastError
from holdfast.viewer.library import SessionLibrary
from holdfast.viewer.listed_session import ListedSession

EVENT_STREAM = "text/event-stream"
SECONDS = 0.3
"""Between two looks at the store, each of which takes some microseconds where nothing has changed."""

MOST_PAGES = 4
"""A browser opens six connections to a server at most, and a stream keeps one: the rest is for what pages ask."""

TOO_MANY = f"{MOST_PAGES} pages are live already, and this one is not: close one of them, or reload this page"

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class LiveSessions:
    """**Contract:** used in the event loop of the server alone."""

    def __init__(self, library: SessionLibrary) -> None:
        self._library = library
        self._pages: set[asyncio.Event] = set()
        """Set when there is something to tell the page."""
        self._rows: dict[str, ListedSession] | None = None
        self._watch: asyncio.Task[None] | None = None
        self._is_ended = False

    @property
    def is_full(self) -> bool:
        return len(self._pages) >= MOST_PAGES

    def end(self) -> None:
        self._is_ended = True
        for page in self._pages:
            page.set()

    async def serve(self, start: Message, receive: Receive, send: Send) -> None:
        """Send the `start` of an answer, and events until the page leaves; one, where nothing can change."""
        page = asyncio.Event()
        if self._rows is not None:
            page.set()
        leaving = asyncio.create_task(_leaves(receive, page))
        self._pages.add(page)
        self._watch = self._watch or asyncio.create_task(self._keep_watch())
        known: dict[str, ListedSession] | None = None
        try:
            await send(start)
            while True:
                await page.wait()
                page.clear()
                if leaving.done() or self._is_ended:
                    break
                if self._rows is None or self._rows == known:
                    continue
                event = _event(known, self._rows, is_live=self._library.is_live)
                known = self._rows
                await send({"type": "http.response.body", "body": event, "more_body": True})
                if not self._library.is_live:
                    break
        finally:
            self._pages.discard(page)
            leaving.cancel()
        await send({"type": "http.response.body", "body": b""})

    async def _keep_watch(self) -> None:
        state: object = None
        while self._pages and not self._is_ended:
            # A store that is busy is asked again.
            with suppress(HoldfastError):
                now = await asyncio.to_thread(self._library.state)
                if now != state:
                    self._rows = {row.id: row for row in await asyncio.to_thread(self._library.rows)}
                    state = now
                    for page in self._pages:
                        page.set()
            await asyncio.sleep(SECONDS)
        self._rows = self._watch = None


async def _leaves(receive: Receive, page: asyncio.Event) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    page.set()


def _event(known: dict[str, ListedSession] | None, rows: dict[str, ListedSession], *, is_live: bool) -> bytes:
    value = {
        "is_live": is_live,
        "is_all": known is None,
        "sessions": [row for id_, row in rows.items() if known is None or known.get(id_) != row],
        "gone": [id_ for id_ in known or {} if id_ not in rows],
    }
    return b"data: " + msgspec.json.encode(value) + b"\n\n"
