"""What a provider adapter is, and what adapters have in common.

An adapter writes a request as the body that a provider's API takes, and reads its server-sent events.

Rule: pure values in and out; an adapter never touches the network.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Literal

from msgspec import Struct

from holdfast.effort import THINKING_ROOM, Effort
from holdfast.messages import AssistantPart, Json, ToolCall, Usage
from holdfast.models.errors import BadReply, ModelError, error_from_response, redacted_line
from holdfast.models.model import (
    ArgumentsDelta,
    CallAnnounced,
    ModelReply,
    ModelRequest,
    ReplyCompleted,
    StopReason,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    WebSource,
)
from holdfast.models.reply_limits import LEAST_WEIGHT, ReplyLimitReached, ReplyLimits
from holdfast.wire.content_blocks import tool_call
from holdfast.wire.foreign_json import Losses, decode_text

EffortOff = Literal["", "none", "minimal", "low"]
"""The effort for a model that thinks by default, where no thinking is asked for; empty sends none."""
UNREQUESTED_THINKING_ROOM = 2_048
"""Tokens for a model that thinks a little even when told not to, so that its reply is not cut short."""


class ReplyReader:
    """Reads one reply, event by event, and no more of it than `limits` allow."""

    def __init__(self, auth_hint: str = "") -> None:
        self.limits = ReplyLimits()
        self._auth_hint = auth_hint
        self._announced = 0
        self._characters = 0
        self._stop = ""
        """Why the reply ended, in the provider's words; empty as long as it has not."""
        self._is_done = False

    def feed(self, event: str, data: str) -> Iterator[StreamEvent]:
        """What one server-sent event says; `ReplyCompleted` at the end of the reply. Raises a `ModelError`."""
        if self._is_done or not data.strip():
            return
        for read in self._read(event, data):
            match read:
                case CallAnnounced():
                    self._announced += 1
                    self._check_count(self._announced)
                case TextDelta(text=piece) | ThinkingDelta(text=piece) | ArgumentsDelta(text=piece):
                    self._count_piece(piece)
            yield read

    def end(self) -> Iterator[StreamEvent]:
        """The stream ended: `ReplyCompleted` if the reply is whole and was not given yet, else `BadReply`."""
        if self._is_done:
            return
        if not self._stop:
            raise BadReply("the provider's reply ended too early")
        yield from self._finish()

    def _read(self, event: str, data: str) -> Iterator[StreamEvent]:
        raise NotImplementedError

    def _finish(self) -> Iterator[StreamEvent]:
        raise NotImplementedError

    def _check_count(self, count: int) -> None:
        """Raises `ReplyLimitReached` for too many calls, or too many other parts."""
        if count > self.limits.calls:
            raise ReplyLimitReached(f"the provider's reply has more than {self.limits.calls} calls or texts")

    def _count_piece(self, piece: str) -> None:
        self._characters += max(len(piece), LEAST_WEIGHT)
        if self._characters > self.limits.characters:
            raise ReplyLimitReached(f"the provider's reply has more than {self.limits.characters} characters")

    def _completed(
        self,
        parts: Sequence[AssistantPart],
        said: StopReason,
        usage: Usage | None,
        model: str,
        sources: Iterable[WebSource] = (),
    ) -> ReplyCompleted:
        """The reply. Why it ended is judged by what it holds too: servers say `end` after a call, or `calls` where
        there is none."""
        self._check_count(len(parts))
        self._is_done = True
        if said not in ("length", "refused"):
            if any(isinstance(part, ToolCall) for part in parts):
                said = "calls"
            elif said == "calls":
                said = "other"
        found = {source.url: source for source in sources if source.url}
        reply = ModelReply(
            parts=tuple(parts), stop=said, usage=usage, model=model, sources=tuple(found.values())
        )
        return ReplyCompleted(reply)


class ProviderAdapter(Struct, frozen=True, kw_only=True):
    """How requests to one provider are written and its answers read. `path` is below the base address; `auth_hint`
    says where the key comes from; `max_output` is the longest reply with its thinking, 0 if that is not known;
    `search` is the type of the provider's own tool for the web."""

    path: ClassVar[str]
    max_output: int = 0
    takes_temperature: bool = False
    auth_hint: str = ""
    search: str = ""

    def headers(self, key: str) -> dict[str, str]:
        """Headers with the key; none of them where the key is empty."""
        return {"authorization": f"Bearer {key}"} if key else {}

    def body(self, model: str, request: ModelRequest) -> dict[str, Json]:
        raise NotImplementedError

    def reader(self) -> ReplyReader:
        """A new one for each reply."""
        raise NotImplementedError

    def most_tokens(self, request: ModelRequest, room: int) -> int:
        """The limit of a reply with room for thinking on top."""
        wanted = request.max_tokens + room
        return min(wanted, self.max_output) if self.max_output else wanted

    def error(self, status: int, body: bytes, headers: Mapping[str, str]) -> ModelError:
        return error_from_response(status, body, headers, auth_hint=self.auth_hint)


def requested_effort(effort: Effort, off: EffortOff) -> tuple[str, int]:
    """The effort to ask for, empty for none, and the tokens that it needs on top of the reply."""
    if effort != "off":
        return effort, THINKING_ROOM[effort]
    return off, UNREQUESTED_THINKING_ROOM if off in ("minimal", "low") else 0


class StreamedCall(Struct):
    """A call whose arguments are still arriving. `number` counts the calls of a reply in the order they begin."""

    number: int
    id: str
    name: str
    pieces: list[str] = []

    def __post_init__(self) -> None:
        # Some servers send no id, and a result could not be matched to a call without one.
        self.id = self.id or f"call_{self.number}"

    @property
    def began(self) -> CallAnnounced:
        return CallAnnounced(self.number, self.id, self.name)

    def add(self, piece: str) -> ArgumentsDelta:
        self.pieces.append(piece)
        return ArgumentsDelta(self.number, piece)

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)

    def part(self) -> ToolCall:
        """The call. Arguments that are not a JSON object stay in `raw`, as the model wrote them."""
        return tool_call(self.id, self.name, self.arguments, Losses())


def parse_event(data: str) -> dict[str, Json]:
    """The object of an event. Unknown objects are the caller's to ignore; anything else is a `BadReply`."""
    try:
        value = decode_text(data, Losses())
    except ValueError as error:
        raise BadReply(f"the provider sent an event that is not JSON: `{redacted_line(data)}`") from error
    if not isinstance(value, dict):
        raise BadReply(f"the provider sent an event that is not a JSON object: `{redacted_line(data)}`")
    return value
