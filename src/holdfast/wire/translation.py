"""Lists of messages that are in a provider's own format already, such as chat messages or Responses items."""

from collections.abc import Iterator, Sequence

from holdfast.events import Event
from holdfast.messages import Message
from holdfast.wire.content_blocks import FormatName, WireDict
from holdfast.wire.foreign_json import Losses
from holdfast.wire.formats import FORMATS
from holdfast.wire.message_lists import grouped_events


class WireTranslation:
    """How messages of one format are read and written."""

    def __init__(self, format: FormatName) -> None:  # noqa: A002 - the word of the interface
        self._format = format

    def read(self, messages: Sequence[WireDict]) -> Iterator[tuple[Sequence[WireDict], list[Event]]]:
        return grouped_events(messages, self._format, Losses())

    def write(self, message: Message) -> list[WireDict]:
        return FORMATS[self._format].write(message)
