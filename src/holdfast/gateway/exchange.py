"""A request and its reply as they passed, for whoever records them.

Rule: no key is in it. Of the headers only those are kept that tell a client's sessions apart.
"""

from collections.abc import Iterable

from msgspec import Struct

from holdfast.gateway.wires import Route

SESSION_HEADERS = (
    "x-claude-code-session-id",
    "session-id",
    "session_id",
    "thread-id",
    "x-session-id",
    "x-session-affinity",
    "x-codex-window-id",
    "user-agent",
)
"""What clients say of their session. None of these is a secret."""


class PassedExchange(Struct, kw_only=True):
    """`reply` is what the provider sent, compressed as it came; `is_whole` says whether it came to its end."""

    route: Route
    at: float
    headers: dict[str, str]
    path: str
    body: bytes
    body_encoding: str = ""
    status: int = 0
    reply_type: str = ""
    reply_encoding: str = ""
    reply: bytearray
    is_whole: bool = False
    first_byte_seconds: float = 0.0
    seconds: float = 0.0


def session_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The headers that tell sessions apart."""
    named = ((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in headers)
    return {name: value[:400] for name, value in named if name in SESSION_HEADERS}
