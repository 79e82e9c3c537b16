"""How large a reply may become, and how long it may take.

Rule: a provider that exceeds a limit is cut off with one sentence, and the request is not repeated: the next answer
would be as long. The limits are far beyond every real reply, and small enough for the memory of any machine.
"""

from msgspec import Struct

from holdfast.models.errors import BadReply

HINT = "the server does not behave like a model: check its address, or choose another model"
LEAST_WEIGHT = 8
"""The characters that a piece of a reply counts for at least, because a short one takes memory too."""


class ReplyLimits(Struct, frozen=True, kw_only=True):
    size: int = 64 * 1024 * 1024
    """Bytes of the whole answer, after decompression."""
    event_size: int = 4 * 1024 * 1024
    """Bytes of one server-sent event; some repeat the whole reply, or the instructions of the request."""
    seconds: float = 3600.0
    """From the request to the end of the reply, however fast it arrives."""
    calls: int = 512
    """Calls of one reply; the same number limits its texts and thoughts."""
    characters: int = 2_000_000
    """Texts, thinking and arguments of calls together."""


class ReplyLimitReached(BadReply):
    """The provider sends more than a reply can be, or takes longer."""

    is_transient = False

    def __init__(self, message: str) -> None:
        super().__init__(message, hint=HINT)
