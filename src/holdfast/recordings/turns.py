"""System and user turns, read alike from every list of messages.

Rule: only what opens a list sets the system prompt; a later system message adds to it, as a reminder.
"""

from holdfast.events import Event, SystemSet, UserSaid
from holdfast.messages import Json, Text, UserPart, joined_text
from holdfast.recordings.origins import origin_of
from holdfast.recordings.parts import user_parts
from holdfast.recordings.shapes import obj
from holdfast.recordings.tally import Tally

SYSTEM = ("system", "developer")


def split_system(messages: list[Json], tally: Tally) -> tuple[str, list[Json]]:
    """The system prompt that opens a list, and the messages after it."""
    opening: list[str] = []
    for message in messages:
        if obj(message).get("role") not in SYSTEM:
            break
        opening.append(system_text(obj(message).get("content"), tally))
    if len(opening) > 1:
        tally.add("joined into one system prompt", "system messages", len(opening))
    return "\n\n".join(filter(None, opening)), messages[len(opening) :]


def system_text(content: Json, tally: Tally) -> str:
    return joined_text(user_parts(content, tally))


def system_events(message: dict[str, Json], tally: Tally, *, opening: bool) -> list[Event]:
    """A `SystemSet` after the first turn would replace the whole prompt where its author meant to add to it."""
    said = system_text(message.get("content"), tally)
    if not said:
        return []
    if opening:
        return [SystemSet(said)]
    tally.add("kept as reminders", f"{message.get('role')} messages after the first turn")
    return [UserSaid((Text(said),), origin="reminder")]


def user_said(parts: tuple[UserPart, ...], tally: Tally) -> list[Event]:
    if not parts:
        tally.add("left out", "empty user messages")
        return []
    return [UserSaid(parts, origin=origin_of(parts))]
