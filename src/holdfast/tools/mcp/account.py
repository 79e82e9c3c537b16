"""What a server says that nobody asked it for.

Rule: the SDK keeps a task for each question of a server until the answer is sent, and has no bound of its own; so a
server that talks without end, or asks without listening, is given up.
"""

from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCRequest, JSONRPCResponse
from msgspec import Struct

LEAST_WEIGHT = 256
"""What a message weighs at least: a short one costs us work too."""


class Chatter(Struct, frozen=True):
    """Bytes since the last answer that was waited for, and questions to which no answer could be sent yet."""

    unasked: int = 16 * 1024 * 1024
    unanswered: int = 1_000


class Account:
    def __init__(self, bounds: Chatter | None = None) -> None:
        self._bounds = bounds or Chatter()
        self._awaited: set[str] = set()
        self._unasked = 0
        self._unanswered = 0

    def sending(self, message: JSONRPCMessage) -> None:
        """Noted beforehand, since the answer to a request may be there before we know that it was sent."""
        if isinstance(message, JSONRPCRequest):
            self._awaited.add(str(message.id))

    def sent(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._unanswered -= 1

    def receive(self, message: JSONRPCMessage, size: int) -> str:
        """Why the server is to be given up with this message; empty if it is not."""
        if isinstance(message, JSONRPCResponse | JSONRPCError) and str(message.id) in self._awaited:
            self._awaited.remove(str(message.id))
            self._unasked = 0
            return ""
        self._unasked += max(size, LEAST_WEIGHT)
        self._unanswered += isinstance(message, JSONRPCRequest)
        if self._unanswered > self._bounds.unanswered:
            return f"it asked {self._unanswered} questions and did not take the answers"
        return "it sends messages without end" if self._unasked > self._bounds.unasked else ""
