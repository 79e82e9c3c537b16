"""The viewer as a local web application: a page, its script and style, and JSON behind them.

Rule: it only reads, and only answers who may ask. Nothing on the page comes from elsewhere, and no text of a log is
ever part of a page: texts go out as JSON, and the page's policy runs no script but its own file.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, unquote

import msgspec
from msgspec import Struct

from holdfast.errors import HoldfastError, InputError, NotFound
from holdfast.messages import Json
from holdfast.models.catalogue import ModelEntry
from holdfast.viewer.answers import reading_of, refused_of, timeline_of, window_of
from holdfast.viewer.comparison import comparison_of
from holdfast.viewer.export import TAGS, ExportChoice, export_view, page_file
from holdfast.viewer.left_out import search_left_out
from holdfast.viewer.library import SessionLibrary
from holdfast.viewer.live import EVENT_STREAM, TOO_MANY, LiveSessions
from holdfast.viewer.money import price_words
from holdfast.viewer.remembered import remembered_at
from holdfast.viewer.what_if import WhatIfRuns

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]


class Admission(Struct, frozen=True):
    """The path that was asked for, without the token; with a `status` of 400 or more, a refusal in `words`."""

    path: str
    status: int = 200
    words: str = ""


Admit = Callable[[Mapping[str, str], bytes], Admission]

KINDS = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}

FILES = {
    "": ("page.html", "text/html; charset=utf-8"),
    **{tag[2]: (tag[2], KINDS[tag[2].rpartition(".")[2]]) for tag in TAGS.finditer(page_file("page.html"))},
}
"""What may be asked for: the page, and the files that its head names."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


class ViewerAnswer(Struct, frozen=True):
    status: int
    kind: str
    body: bytes


class ViewerApplication:
    """An ASGI application."""

    def __init__(
        self,
        library: SessionLibrary,
        admit: Admit,
        what_if: WhatIfRuns | None = None,
        models: Sequence[ModelEntry] = (),
    ) -> None:
        """`models` are those whose prices can be chosen."""
        self._library = library
        self._admit = admit
        self._live = LiveSessions(library)
        self._what_if = what_if or WhatIfRuns(library)
        self._models = models

    def end_streams(self, _waiting: int = 0) -> None:
        """End the streams of events, which would last as long as their pages. For the end of the server."""
        self._live.end()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
            await asyncio.to_thread(self._what_if.close)
        elif scope["type"] == "http":
            # In a thread: a long log takes a while, and the page may ask for something else meanwhile.
            answer = await asyncio.to_thread(self._answer, scope)
            if answer.kind != EVENT_STREAM:
                await _send_answer(send, answer)
            elif self._live.is_full:
                await _send_answer(send, _refusal(503, TOO_MANY))
            else:
                await self._live.serve(_start_of(200, {"content-type": EVENT_STREAM}), receive, send)

    def _answer(self, scope: Scope) -> ViewerAnswer:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        admission = self._admit(headers, scope["raw_path"])
        if admission.status >= 400:
            return _refusal(admission.status, admission.words)
        if scope["method"] not in ("GET", "HEAD"):
            return _refusal(405, "the viewer only reads")
        asked = unquote(admission.path.lstrip("/"))
        if asked in FILES:
            name, kind = FILES[asked]
            return ViewerAnswer(200, kind, page_file(name).encode())
        if asked == "api/events" and scope["method"] == "GET":
            return ViewerAnswer(200, EVENT_STREAM, b"")
        query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
        try:
            value = self._value(asked.split("/"), query)
        except NotFound as error:
            return _refusal(404, error.message)
        except HoldfastError as error:
            return _refusal(400, "; ".join(filter(None, (error.message, error.hint))))
        return ViewerAnswer(200, "application/json", msgspec.json.encode(value))

    def _value(self, asked: list[str], query: Mapping[str, str]) -> Json:
        library = self._library
        match asked:
            case ["api", "sessions"]:
                return library.rows()
            case ["api", "refused"]:
                return refused_of(library.recorded)
            case ["api", "sessions", id_, "inside"]:
                return library.recorded.inside(id_)
            case ["api", "sessions", id_]:
                return library.row(id_)
            case ["api", "sessions", id_, "figures"]:
                return library.figures(id_)
            case ["api", "sessions", id_, "texts", text_id]:
                return {"id": text_id, "text": library.text(id_, text_id)}
            case ["api", "sessions", id_, "timeline"]:
                history = library.history(id_, **_choice(query))
                return timeline_of(history, _first(query) if query.get("history") == history.id else 0)
            case ["api", "sessions", id_, "requests", number]:
                history = library.history(id_, **_choice(query))
                at = _number(number, 1, len(history.requests))
                return window_of(history, at, _first(query), query.get("words", ""))
            case ["api", "sessions", id_, "requests", number, "blocks", block]:
                history = library.history(id_, **_choice(query))
                at = _number(number, 1, len(history.requests))
                return reading_of(history, at, _number(block, 0, len(history.blocks(at)) - 1))
            case ["api", "sessions", id_, "requests", number, "left-out"]:
                history = library.history(id_, **_choice(query))
                at = _number(number, 1, len(history.requests))
                return search_left_out(history, at, query.get("words", ""), _first(query))
            case ["api", "sessions", id_, "requests", number, "remembered"]:
                history = library.history(id_, **_choice(query))
                return remembered_at(history, _number(number, 1, len(history.requests)))
            case ["api", "sessions", id_, "requests", number, "compare", other]:
                history = library.history(id_, **_choice(query))
                at, with_ = (_number(one, 1, len(history.requests)) for one in (number, other))
                return comparison_of(history, at, with_, _first(query), query.get("what", ""))
            case ["api", "sessions", id_, "export"]:
                request, compared = (
                    _number(query.get(name, "0"), 0, 10**8) for name in ("request", "compared")
                )
                rest = {name: query.get(name, "") for name in ("panel", "prices")}
                return export_view(library, id_, ExportChoice(request, compared, **rest, **_choice(query)))
            case ["api", "models"]:
                return [{"name": m.name, "words": price_words(m.price)} for m in self._models if m.price]
            case ["api", "sessions", id_, "money"]:
                return library.money(id_, query.get("prices", ""), **_choice(query))
            case ["api", "sessions", id_, "what-if", *wanted]:
                return self._what_if_rows(id_, wanted, query)
        raise NotFound("there is no such page")

    def _what_if_rows(self, id_: str, wanted: list[str], query: Mapping[str, str]) -> Json:
        # By GET too: browsers send an origin with anything else, and who sends one is refused.
        match wanted:
            case []:
                pass
            case ["start"]:
                self._what_if.start(id_, query.get("profile", ""), query.get("budget", ""))
            case [number, "cancel"]:
                self._what_if.cancel(id_, _number(number, 1, 10**8))
            case _:
                raise NotFound("there is no such page")
        return self._what_if.rows(id_, query.get("prices", ""))


def _choice(query: Mapping[str, str]) -> dict[str, str]:
    return {name: query[name] for name in ("shown", "profile", "budget") if name in query}


def _first(query: Mapping[str, str]) -> int:
    return _number(query.get("first", "0"), 0, 10**8)


def _number(text: str, least: int, most: int) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise InputError(f"`{text[:40]}` is no number")
    if not least <= int(text) <= most:
        raise NotFound(f"there is no number {text}")
    return int(text)


def _refusal(status: int, words: str) -> ViewerAnswer:
    return ViewerAnswer(status, "application/json", msgspec.json.encode({"error": words}))


def _start_of(status: int, headers: Mapping[str, str]) -> Scope:
    raw = [(name.encode(), value.encode()) for name, value in {**HEADERS, **headers}.items()]
    return {"type": "http.response.start", "status": status, "headers": raw}


async def _send_answer(send: Send, answer: ViewerAnswer) -> None:
    await send(
        _start_of(answer.status, {"content-type": answer.kind, "content-length": str(len(answer.body))})
    )
    await send({"type": "http.response.body", "body": answer.body})


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
