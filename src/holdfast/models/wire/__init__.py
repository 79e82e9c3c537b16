"""The providers' protocols: a request of ours as the body one takes, and its events as ours.

Rule: pure. A wire module writes and reads values; who carries them over the network is not its matter.
"""

from collections.abc import Iterator, Mapping
from typing import Protocol

from holdfast.messages import Json
from holdfast.models.errors import ModelError
from holdfast.models.protocol import Came, Request


class Reader(Protocol):
    """Reads one reply, event by event."""

    def feed(self, event: str, data: str) -> Iterator[Came]:
        """What one server-sent event says; `Done` at the end of the reply. Raises a `ModelError`."""
        ...

    def end(self) -> Iterator[Came]:
        """The stream ended: `Done` if the reply was whole and not yet given, else `BadReply`."""
        ...


class Wire(Protocol):
    """How one provider is spoken to."""

    @property
    def path(self) -> str:
        """Behind the base address, such as `/chat/completions`."""
        ...

    def headers(self, key: str) -> dict[str, str]:
        """What says who asks; an empty key says nothing."""
        ...

    def body(self, model: str, request: Request) -> dict[str, Json]: ...

    def reader(self) -> Reader:
        """A new one for each reply."""
        ...

    def error(self, status: int, body: bytes, headers: Mapping[str, str]) -> ModelError:
        """What an answer that is no reply means."""
        ...
