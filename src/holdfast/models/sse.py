"""Server-sent events from bytes, however the bytes are split.

Rule: the WHATWG standard, and nothing of what a provider means by an event. Names and data come out; ids, retry
times and comments are dropped.

The decoder of httpx2 loses the first event after a byte order mark, yields events that have no data or never ended,
and reads only its own responses.
"""

from collections.abc import Iterator

from msgspec import Struct

from holdfast.models.errors import BadReply

_BOM = b"\xef\xbb\xbf"
LARGEST_EVENT = 64 * 1024 * 1024
"""Bytes: larger than any reply that repeats its request, and small enough for memory."""


class ServerSentEvent(Struct, frozen=True):
    """`name` is empty where the stream gives none."""

    name: str
    data: str


class SseDecoder:
    """Takes pieces of one stream. An event counts only once a blank line has ended it."""

    def __init__(self, largest: int = LARGEST_EVENT) -> None:
        self._largest = largest
        self._line: list[bytes] = []
        """Pieces of the unfinished line: joined once, however many there are."""
        self._name = ""
        self._data: list[bytes] = []
        self._held = 0
        self._is_first = True
        self._after_cr = False

    def feed(self, piece: bytes) -> Iterator[ServerSentEvent]:
        """The events that end in this piece. Raises `BadReply` where one grows beyond the limit."""
        if self._after_cr and piece.startswith(b"\n"):
            piece = piece[1:]
            self._after_cr = False
        if not piece:
            return
        self._after_cr = piece.endswith(b"\r")
        *lines, rest = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for line in lines:
            yield from self._end_line(line)
        self._hold(self._line, rest)

    def _hold(self, where: list[bytes], held: bytes) -> None:
        where.append(held)
        self._held += len(held)
        if self._held > self._largest:
            raise BadReply(f"an event of the stream is larger than {self._largest} bytes")

    def _end_line(self, end: bytes) -> Iterator[ServerSentEvent]:
        self._held -= sum(map(len, self._line))
        line = b"".join((*self._line, end))
        self._line.clear()
        if self._is_first:
            self._is_first = False
            line = line.removeprefix(_BOM)
        if not line:
            yield from self._end_event()
            return
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._hold(self._data, value)
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")

    def _end_event(self) -> Iterator[ServerSentEvent]:
        if self._data:
            yield ServerSentEvent(self._name, b"\n".join(self._data).decode("utf-8", "replace"))
        self._name = ""
        self._data.clear()
        self._held = 0
