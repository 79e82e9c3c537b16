"""What the provider on loopback is told to answer: plain values, the same for all three protocols."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from msgspec import Struct

from holdfast.messages import AssistantPart, Text, ToolCall, Usage
from holdfast.models.model import StopReason

Kind = Literal["overflow", "auth", "rate", "quota", "overloaded", "server", "missing", "refused"]
"""What is wrong with a request or with the provider; each protocol has its own words for it."""


class Pause(Struct, frozen=True, kw_only=True):
    """Nothing comes for some seconds before the event of this number, or only keep-alives, one per `ping_every`."""

    before: int = 0
    seconds: float = 3600.0
    ping_every: float = 0.0


class Broken(Struct, frozen=True, kw_only=True):
    """An error said inside a stream that began with status 200, in place of the event of this number.

    The Responses API has two forms, `response.failed` and, where `bare`, an event called `error`.
    """

    before: int
    kind: Kind = "overloaded"
    bare: bool = False


class Script(Struct, frozen=True, kw_only=True):
    """A streamed reply. Numbers of events count from 0.

    `parts` are what a reply should be read back to: a call with `raw` sends that as its arguments, valid or not.
    """

    parts: tuple[AssistantPart, ...] = (Text("Hello from the loopback."),)
    usage: Usage = Usage(prompt=1_200, completion=34, cache_read=1_000, cache_write=150)
    stop: StopReason | None = None
    """`calls` where there is one and else `end`, unless given."""
    piece: int = 5
    """Characters per delta."""
    chunk: int = 0
    """Bytes per write; 0 writes an event at a time."""
    newline: bytes = b"\n"
    interleaved: bool = False
    """The arguments of several calls come in turns, instead of one call after the other."""
    reasoning: Literal["reasoning_content", "reasoning"] = "reasoning_content"
    """Where an OpenAI-compatible server puts its thinking."""
    pauses: tuple[Pause, ...] = ()
    broken: Broken | None = None
    extra: Mapping[int, bytes] = {}
    """Raw bytes put before the event of that number: data that is no JSON, an unknown event, a comment."""
    cut: int | None = None
    """The stream ends in good order before this event."""
    drop: int | None = None
    """The connection is dropped before this event."""
    content_type: str = "text/event-stream; charset=utf-8"

    @property
    def ending(self) -> StopReason:
        return self.stop or ("calls" if any(isinstance(p, ToolCall) for p in self.parts) else "end")


class Failure(Struct, frozen=True, kw_only=True):
    """An answer with an error status, in the protocol's own words unless `body` is given."""

    kind: Kind = "server"
    status: int = 0
    """0 is the status that goes with the kind."""
    headers: Mapping[str, str] = {}
    body: bytes | None = None
    content_type: str = "application/json"


def html_page(status: int = 502) -> Failure:
    """What a proxy in front of a provider answers when it cannot reach it."""
    body = b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>nginx</body>\r\n</html>\r\n"
    return Failure(status=status, body=body, content_type="text/html")


class Stall(Struct, frozen=True):
    """The request is taken and never answered, not even with a status."""


class HangUp(Struct, frozen=True):
    """The connection is closed as soon as the request has come, without a word."""


class Endless(Struct, frozen=True, kw_only=True):
    """The same bytes of a stream again and again, until the client leaves."""

    piece: bytes
    every: float = 0.0
    """Seconds between two of them."""


Answer = Script | Failure | Stall | HangUp | Endless


class Seen(Struct, frozen=True):
    """A request that came. Names of headers are in small letters."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    json: Any = None


class Sent(Struct, frozen=True):
    """One event: `data` is JSON, or text as it is. `name` is empty where the protocol names no events."""

    data: Any
    name: str = ""


class Protocol(Struct, frozen=True):
    """One provider's way to say things."""

    events: Callable[[Script, Any], list[Sent]]
    """The whole reply to a request's body."""
    failure: Callable[[Kind], tuple[int, Any]]
    """Status and body."""
    broken: Callable[[Broken, Any], list[Sent]]
    """An error inside a stream."""
    ping: bytes


def pieces(text: str, size: int) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)]


def in_turns(deltas: list[list[Sent]]) -> list[Sent]:
    """The first of each, then the second of each."""
    longest = max((len(one) for one in deltas), default=0)
    return [one[i] for i in range(longest) for one in deltas if i < len(one)]


def woven(parts: list[tuple[bool, list[Sent], list[Sent], list[Sent]]], interleaved: bool) -> list[Sent]:
    """All events of all parts, each given as (is a call, start, deltas, end); calls in turns where asked for."""
    out: list[Sent] = []
    calls: list[tuple[bool, list[Sent], list[Sent], list[Sent]]] = []
    for part in parts:
        if interleaved and part[0]:
            calls.append(part)
        else:
            out += [*part[1], *part[2], *part[3]]
    out += [event for call in calls for event in call[1]]
    out += in_turns([call[2] for call in calls])
    return out + [event for call in calls for event in call[3]]
