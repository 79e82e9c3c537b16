"""Messages for an agent that works.

Rule: they are recorded between two steps, because the reply that is being written knows nothing of them. Until then
they can be taken back.
"""

from collections.abc import Iterable

from holdfast.events import UserSaid
from holdfast.messages import Image, Text, UserPart, joined_text


class MessageQueue:
    def __init__(self) -> None:
        self._messages: list[tuple[UserSaid, ...]] = []
        """Each with the reminders that belong to it."""

    def __bool__(self) -> bool:
        return bool(self._messages)

    def add(self, text: str, reminders: Iterable[str], images: Iterable[Image] = ()) -> None:
        # No provider takes a blank message.
        parts: tuple[UserPart, ...] = (*([Text(text)] if text.strip() else []), *images)
        said = [UserSaid(parts)] if parts else []
        self._messages.append((*said, *(UserSaid((Text(more),), "reminder") for more in reminders)))

    def take(self) -> list[UserSaid]:
        """All of them, to be recorded."""
        taken, self._messages = self._messages, []
        return [event for events in taken for event in events]

    def take_back(self, text: str) -> bool:
        """Remove the newest message with this text; whether there was one."""
        for n in range(len(self._messages) - 1, -1, -1):
            said = self._messages[n]
            if said and said[0].origin == "person" and joined_text(said[0].parts) == text:
                del self._messages[n]
                return True
        return False
