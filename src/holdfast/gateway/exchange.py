"""A request and its reply as they passed, for what changes, records or observes them.

Rule: no key is in it. The only headers kept are those that say which client it is, and which of its sessions.
"""

from collections.abc import Callable, Iterable
from threading import Lock
from typing import Literal, Protocol

from msgspec import Struct

from holdfast.events import AssistantReplied
from holdfast.gateway.wires import Route

SESSION_HEADERS = (
    "x-claude-code-session-id",
    "session-id",
    "session_id",
    "thread-id",
    "x-session-id",
)
"""Where clients name their session, the most telling first. None of these is a secret."""

Retry = Literal["", "whole", "smaller"]
"""A second try after the provider refused a changed request: as the client sent it, or packed smaller."""


TOO_LATE = "the request could not be changed in time"


class RequestChange(Struct, kw_only=True):
    """What was done to a request. `removed` are the tokens that it has less than the client's, of which
    `removed_now` were never removed before; `fault` is a failure of ours, for which the request went as it came."""

    mode: str = "watch"
    removed: int = 0
    removed_now: int = 0
    is_folded: bool = False
    retry: Retry = ""
    fault: str = ""


class RewriteDeadline:
    """Until when a request waits to be changed. Either it expires, or what changes the request meets it; the first
    of the two counts. `known` is the request with what was replaced before and nothing else, which needs no store,
    and `removed` the tokens that it has less."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._is_met: bool | None = None
        self.known: bytes | None = None
        self.removed = 0
        self.on_expiry: Callable[[], None] = lambda: None

    def meet(self) -> bool:
        """Whether the request still waits; from now on it waits for as long as it takes."""
        return self._settle(is_met=True)

    def expire(self) -> bool:
        """Whether the request need wait no more."""
        has_expired = not self._settle(is_met=False)
        if has_expired:
            self.on_expiry()
        return has_expired

    def _settle(self, *, is_met: bool) -> bool:
        with self._lock:
            if self._is_met is None:
                self._is_met = is_met
            return self._is_met


class PassedExchange(Struct, kw_only=True):
    """`body` is what the client sent, `reply` what the provider did, compressed as they came; `is_whole` says
    whether the reply came to its end, `no_answer` why there is none. `context` is what was found out about the
    request when it was changed."""

    route: Route
    at: float
    headers: dict[str, str]
    path: str
    body: bytes
    body_encoding: str = ""
    change: RequestChange
    context: object = None
    is_changed: bool = False
    """Whether something else than `body` was sent."""
    status: int = 0
    reply_type: str = ""
    reply_encoding: str = ""
    reply: bytearray
    is_whole: bool = False
    is_broken_off: bool = False
    """Whether it was the provider that ended the reply too early."""
    no_answer: str = ""
    first_byte_seconds: float = 0.0
    seconds: float = 0.0

    @property
    def size(self) -> int:
        return len(self.body) + len(self.reply)


class RecordedExchange(Struct, frozen=True, kw_only=True):
    """An exchange with what was found out about it. `log` is empty where it is in none; `model` is what the client
    asked for; `dollars` is None where the cost is not known."""

    exchange: PassedExchange
    log: str = ""
    model: str = ""
    reply: AssistantReplied | None = None
    dollars: float | None = None


class ExchangeObserver(Protocol):
    """Is told of every exchange once it is recorded, or could not be."""

    def observe(self, recorded: RecordedExchange) -> None: ...


class Traffic(Protocol):
    """What changes requests, and records exchanges whose messages a log could hold.

    **Contract:** it never raises."""

    @property
    def may_rewrite(self) -> bool:
        """Whether any request may have to be changed."""

    @property
    def waiting(self) -> int:
        """How many exchanges wait to be recorded."""

    @property
    def missed(self) -> int:
        """How many exchanges could not be recorded."""

    def rewrite(self, exchange: PassedExchange, deadline: RewriteDeadline) -> bytes | None:
        """What to send in place of a request, without compression; None for the request as it came. May wait, also
        beyond the deadline: then `deadline.known` is sent."""

    def rewrite_refused(
        self, exchange: PassedExchange, status: int, reply: bytes, encoding: str
    ) -> bytes | None:
        """What to send once more after a refusal; None where the refusal is passed on. May wait."""

    def record(self, exchange: PassedExchange) -> None:
        """Take an exchange that has ended. Never waits."""


def kept_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The headers that tell clients and their sessions apart."""
    named = ((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in headers)
    return {name: value[:400] for name, value in named if name in (*SESSION_HEADERS, "user-agent")}
