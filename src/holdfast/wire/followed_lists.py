"""A list of messages that a framework or a client keeps, as a log of ours follows it.

Rule: what is sent unchanged is the list's own message, and each of these is sent once.
"""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from holdfast.errors import InputError
from holdfast.events import AssistantReplied, Event, SystemSet, ToolReturned, UserSaid
from holdfast.messages import AssistantMessage, Message, Thinking, ToolMessage, UserMessage

M = TypeVar("M")
Turn = UserSaid | AssistantReplied | ToolReturned
"""What a message of a conversation is in the log."""


class _Original(Struct, Generic[M], frozen=True):
    """Messages of the list, and the keys of ours that they are."""

    group: Sequence[M]
    keys: list[bytes]


class FollowedList(Generic[M]):
    """A list with the events that it is. `unread` counts messages that say nothing which a log could hold."""

    def __init__(self) -> None:
        self.prompts: list[str] = []
        """What its system messages say."""
        self.events: list[Event] = []
        """All the others."""
        self.unread = 0
        self._originals: list[_Original[M]] = []
        self._length = 0
        self._ends: list[int] = []
        """For each turn, the number of messages up to its end."""

    def add(self, group: Sequence[M], events: Sequence[Event]) -> None:
        """Add the next messages. Raises InputError where JSON cannot hold them."""
        self.prompts += [event.text for event in events if isinstance(event, SystemSet)]
        said = [event for event in events if not isinstance(event, SystemSet)]
        self.events += said
        own = [turn_message(event) for event in said if isinstance(event, Turn)]
        # A system message is sent as the prompt, so what holds one is never sent as it was.
        if own and len(own) == len(events):
            self._originals.append(_Original(group, [_key(message, self._length) for message in own]))
        self.unread += len(group) if not own and len(said) == len(events) else 0
        self._length += len(group)
        self._ends += [self._length] * len(own)

    def length_at(self, turns: int) -> int:
        """The number of messages that are the first so many turns."""
        return self._ends[min(turns, len(self._ends)) - 1] if turns and self._ends else 0

    def write(
        self, sent: Sequence[Message], translate: Callable[[Message], list[M]], *, compares_thinking: bool
    ) -> list[M]:
        """Our messages as the list's: its own where all of one is sent as it was, the others translated."""
        sent = self._in_order(sent)
        keys = [_key(message) for message in sent]
        by_first: dict[bytes, list[_Original[M]]] = {}
        for original in reversed(self._originals):
            by_first.setdefault(original.keys[0], []).append(original)
        written: list[M] = []
        at = 0
        while at < len(sent):
            candidates = by_first.get(keys[at], [])
            found = next((o for o in reversed(candidates) if keys[at : at + len(o.keys)] == o.keys), None)
            if found is None and not compares_thinking:
                # The client sends back what was said without what was thought.
                candidates = by_first.get(_key(without_thinking(sent[at])), [])
                found = next((o for o in reversed(candidates) if len(o.keys) == 1), None)
            if found is None:
                written += translate(sent[at])
                at += 1
                continue
            # Of equal messages the first one sent is the first one of the list.
            candidates.remove(found)
            written += found.group
            at += len(found.keys)
        return written

    def _in_order(self, sent: Sequence[Message]) -> list[Message]:
        """Our messages with results in the order of the list: a pack has them in that of their calls."""
        results = (event for event in self.events if isinstance(event, ToolReturned))
        places = {result.call_id: place for place, result in enumerate(results)}
        ordered: list[Message] = []
        for _, run in groupby(sent, key=lambda message: isinstance(message, ToolMessage)):
            ordered += sorted(
                run, key=lambda m: places.get(m.call_id, 0) if isinstance(m, ToolMessage) else 0
            )
        return ordered


def turn_message(turn: Turn) -> Message:
    """What of a turn is in the list: not its usage, nor what a log knows besides."""
    match turn:
        case UserSaid(parts=parts):
            return UserMessage(parts)
        case AssistantReplied(parts=parts):
            return AssistantMessage(parts)
        case ToolReturned():
            return ToolMessage(turn.call_id, turn.name, turn.parts, turn.error)


def without_thinking(message: Message) -> Message:
    if not isinstance(message, AssistantMessage):
        return message
    return AssistantMessage(tuple(part for part in message.parts if not isinstance(part, Thinking)))


def _key(message: Message, place: int = 0) -> bytes:
    """The message as bytes. Raises InputError where JSON cannot hold it; `place` is that of the list's message."""
    try:
        return msgspec.json.encode(message)
    except (TypeError, UnicodeEncodeError) as error:
        raise InputError(
            f"message {place} holds something that JSON cannot: {error}",
            hint="texts are Unicode without lone surrogates, and arguments are plain JSON",
        ) from None
