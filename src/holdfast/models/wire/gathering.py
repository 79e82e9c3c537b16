"""A reply on its way in: events decoded, calls gathered piece by piece.

Rule: what a server invents is passed over; only an event that is no JSON object at all makes a reply a bad one.
"""

from holdfast.messages import Json, ToolCall
from holdfast.models.errors import BadReply
from holdfast.models.protocol import ArgumentsCame, CallBegan, Stop
from holdfast.models.wire.failures import one_line
from holdfast.recordings.decoding import decoded_text
from holdfast.recordings.parts import tool_call
from holdfast.recordings.tally import Tally


class GatheredCall:
    """A call whose arguments are still coming. `number` counts the calls of a reply in the order they begin."""

    __slots__ = ("_pieces", "id", "name", "number")

    def __init__(self, number: int, call_id: str, name: str) -> None:
        self.number = number
        # Some servers give none, and nothing could answer a call without one.
        self.id = call_id or f"call_{number}"
        self.name = name
        self._pieces: list[str] = []

    @property
    def began(self) -> CallBegan:
        return CallBegan(self.number, self.id, self.name)

    def add(self, piece: str) -> ArgumentsCame:
        self._pieces.append(piece)
        return ArgumentsCame(self.number, piece)

    @property
    def arguments(self) -> str:
        return "".join(self._pieces)

    def part(self) -> ToolCall:
        """The call; arguments that are no JSON object stay as the model wrote them, in `raw`."""
        return tool_call(self.id, self.name, self.arguments, Tally())


def event_object(data: str) -> dict[str, Json]:
    try:
        value = decoded_text(data, Tally())
    except ValueError as error:
        raise BadReply(f"the provider sent an event that is no JSON: `{one_line(data)}`") from error
    if not isinstance(value, dict):
        raise BadReply(f"the provider sent an event that is no object: `{one_line(data)}`")
    return value


def told_stop(said: Stop, *, calls: bool) -> Stop:
    """Why a reply ended, by what it holds: servers say `end` behind a call, and `calls` where none is for us."""
    if said in ("length", "refused"):
        return said
    if calls:
        return "calls"
    return "other" if said == "calls" else said


def broken_off() -> BadReply:
    return BadReply("the provider's reply broke off before its end")
