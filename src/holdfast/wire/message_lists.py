"""Lists of messages in any provider's format, read into recordings and events.

Rule: nothing is repaired, message by message; what could not be kept is said in notes or in `Noted` events.
"""

from collections.abc import Iterator, Sequence
from hashlib import blake2b

from holdfast.errors import InputError
from holdfast.events import UNREAD, AssistantReplied, Event, Noted, Recording, SystemSet
from holdfast.messages import Json, Thinking
from holdfast.wire.content_blocks import CallNames, FormatName, split_system, system_text
from holdfast.wire.foreign_json import Losses, items, obj, text
from holdfast.wire.formats import FORMATS, GEMINI_CONTENTS, format_named
from holdfast.wire.message_checks import (
    OPENAI_ROLES,
    check_roles,
    checked_json,
    checked_list,
    checked_messages,
)
from holdfast.wire.recording_builder import ID_BYTES, RecordingBuilder, encode_in_order
from holdfast.wire.responses import CONTENT_TYPES, ITEM_TYPES, is_reply_item, reply_event

NEUTRAL = "neutral"
OPENAI: FormatName = "openai"
RESPONSES: FormatName = "responses"
ANTHROPIC: FormatName = "anthropic"
GEMINI: FormatName = "gemini"
MESSAGE_FORMATS = (NEUTRAL, *FORMATS, GEMINI_CONTENTS)
"""Formats that are lists of messages; they are the same where a message is plain text."""

ANTHROPIC_BLOCKS = {"tool_use", "tool_result", "thinking", "redacted_thinking", "document", "image"}
_ROLES: dict[str, tuple[str, ...]] = {ANTHROPIC: ("user", "assistant"), GEMINI_CONTENTS: ("user", "model")}


def message_format(messages: Sequence[Json]) -> str:
    """By what only one has; whatever is plain text in several is read as OpenAI's chat."""
    found = distinct_format(messages) or OPENAI
    return GEMINI_CONTENTS if found == GEMINI else found


def request_format(request: dict[str, Json]) -> str:
    """By its messages; where they are plain text, by what else only Anthropic's requests have."""
    has_system = request.get("system") is not None
    has_schemas = any("input_schema" in obj(tool) for tool in items(request.get("tools")))
    by_messages = distinct_format(request["messages"]) and message_format(request["messages"])
    return by_messages or (ANTHROPIC if has_system or has_schemas else OPENAI)


def request_of(record: dict[str, Json]) -> dict[str, Json]:
    """The request with its messages, without the envelope of a batch line if it has one."""
    for request in (record, obj(record.get("body")), obj(record.get("params"))):
        if isinstance(request.get("messages"), list):
            return request
    return {}


def tool_format(tools: Sequence[Json]) -> FormatName | None:
    """The format of tool definitions; None where there is none, or where it is no provider's."""
    for tool in map(obj, tools):
        if "functionDeclarations" in tool or "function_declarations" in tool:
            return GEMINI
        if "input_schema" in tool:
            return ANTHROPIC
        if tool.get("type") == "function":
            return OPENAI if "function" in tool else RESPONSES
    return None


def block_types(message: dict[str, Json]) -> set[str]:
    return {text(obj(block).get("type")) for block in items(message.get("content"))}


def distinct_format(messages: Sequence[Json]) -> FormatName | None:
    for message in map(obj, messages):
        if isinstance(message.get("parts"), list) and "content" not in message:
            return GEMINI
        if message.get("type") in ITEM_TYPES:
            return RESPONSES
        if message.get("tool_calls") or message.get("role") in ("tool", "function"):
            return OPENAI
        kinds = block_types(message)
        if kinds & ANTHROPIC_BLOCKS:
            return ANTHROPIC
        if kinds & {*CONTENT_TYPES}:
            return RESPONSES
    return None


def read_message_list(value: Json, builder: RecordingBuilder, id: str = "") -> Recording:  # noqa: A002
    """A recording from a list of messages, or from a request that has one, in the builder's format."""
    request = request_of(obj(value))
    messages = items(request.get("messages", value))
    first_turn = _set_up(builder, request, messages)
    _read_turns(builder, messages, first_turn)
    return _finish(builder, messages, first_turn, id, meta={"model": request.get("model")})


def _set_up(builder: RecordingBuilder, request: dict[str, Json], messages: list[Json]) -> int:
    """Read the system prompt and the tools; the result is the place of the first message after the prompt."""
    losses = builder.losses
    opening, rest = split_system(messages, losses)
    if builder.source == ANTHROPIC and len(blocks := items(request.get("system"))) > 1:
        losses.add("joined into one system prompt", "system blocks", len(blocks))
    system = [system_text(request.get("system"), losses), opening]
    builder.set_up("\n\n".join(filter(None, system)), request.get("tools") or request.get("functions"))
    return len(messages) - len(rest)


def _read_turns(builder: RecordingBuilder, messages: list[Json], start: int) -> None:
    losses = builder.losses
    for place, group in _reply_groups(messages[start:], builder.source, start):
        losses.where = f"message {place}"
        builder.extend(_group_events(group, builder.source, builder.names, losses), place=place)
    losses.where = ""


def grouped_events(
    messages: Sequence[Json],
    format: FormatName,  # noqa: A002
    losses: Losses,
) -> Iterator[tuple[list[dict[str, Json]], list[Event]]]:
    """Messages of a list with the events they are: one at a time, or all items of one reply together.

    System messages before the first turn set the prompt; later ones are reminders.
    """
    check_roles(list(messages))
    names, opening = CallNames(), True
    for _, group in _reply_groups(messages, format, 0):
        events = _group_events(group, format, names, losses, opening=opening)
        for event in events:
            names.note(event)
            opening = opening and isinstance(event, SystemSet)
        yield group, events


def _group_events(
    group: list[dict[str, Json]], source: str, names: CallNames, losses: Losses, *, opening: bool = False
) -> list[Event]:
    """The events of messages that are read together, by their own shape; `source` decides about plain text."""
    if len(group) > 1:
        return [reply_event(group, losses)]
    own = distinct_format(group) or format_named(source).name
    # Gemini's own messages never have `content`.
    format_ = FORMATS[OPENAI if own == GEMINI and "content" in group[0] else own]
    return format_.read(group[0], names, losses, opening=opening)


def _reply_groups(
    messages: Sequence[Json], source: str, start: int
) -> Iterator[tuple[int, list[dict[str, Json]]]]:
    """Each message with its place; of the Responses API all items of one reply together."""
    group: list[dict[str, Json]] = []
    for place, message in enumerate(map(obj, messages), start):
        if group and not _is_same_reply(group, message, source):
            yield place - len(group), group
            group = []
        group.append(message)
    if group:
        yield start + len(messages) - len(group), group


def _is_same_reply(group: list[dict[str, Json]], message: Json, source: str) -> bool:
    if not (is_reply_item(message) and is_reply_item(group[-1])):
        return False
    return (distinct_format([*group, message]) or source) == RESPONSES


def _finish(
    builder: RecordingBuilder,
    messages: list[Json],
    first_turn: int,
    id: str,  # noqa: A002
    meta: dict[str, Json] | None = None,
) -> Recording:
    """The recording; an error where the messages say nothing, before `first_turn` or from there on."""
    opening = split_system(messages[:first_turn], Losses())[0]
    if messages and builder.is_empty() and not opening:
        roles = _ROLES.get(builder.source, OPENAI_ROLES)
        for place, message in enumerate(map(obj, messages)):
            if (role := message.get("role")) in roles:
                builder.refuse(
                    f"has no text in message {place} (`{role}`)",
                    hint="`content` must be a non-empty string or a list of parts",
                )
        builder.refuse("has no message with a known role", hint=f"the roles are {', '.join(roles)}")
    return builder.finish(id, meta=meta)


class MessageListReader:
    """Reads a list of messages into a recording, and what is appended to the list later.

    The formats are told apart by shape unless `format` is given.
    """

    def __init__(
        self,
        messages: list[Json],
        *,
        system: str | list[dict[str, Json]] | None = None,
        tools: Sequence[dict[str, Json]] | None = None,
        format: str | None = None,  # noqa: A002
    ) -> None:
        self._replaced = Losses()
        self._messages = checked_messages(list(messages), self._replaced)
        beside = {"system": system, "tools": list(tools or ())}
        request = checked_json(beside, self._replaced, "the system prompt, or a tool,")
        self.source = _checked_format(self._messages, format)
        """The format of the messages."""
        self._is_format_settled = bool(format or distinct_format(self._messages))
        """Whether no later message can change the format."""
        self._notes = [*self._replaced.sentences()]
        self._builder = RecordingBuilder(self.source, where="the list of messages", notes=self._notes)
        self._hash = blake2b(b'{"messages":[', digest_size=ID_BYTES)
        self.size = 0
        """Bytes of the messages, as JSON."""
        self._hash_messages(self._messages, b"")
        ends = encode_in_order(request["system"]), encode_in_order(request["tools"])
        self._hash_end = b'],"system":%b,"tools":%b}' % ends
        self._first_turn = _set_up(self._builder, request, self._messages)
        _read_turns(self._builder, self._messages, self._first_turn)

    def can_append(self, messages: list[Json]) -> bool:
        """Whether a list with these messages at its end is read the same up to here."""
        has_turns = self._first_turn < len(self._messages)
        splits_reply = bool(messages) and _is_same_reply([obj(self._messages[-1])], messages[0], self.source)
        is_same_format = self._is_format_settled or distinct_format(messages) in (
            None,
            format_named(self.source).name,
        )
        return has_turns and not splits_reply and is_same_format

    def append(self, messages: list[Json]) -> None:
        """**Contract:** `can_append` said yes."""
        start = len(self._messages)
        new = checked_messages(messages, self._replaced, start)
        check_roles(new, start)
        self._is_format_settled = self._is_format_settled or distinct_format(new) is not None
        self._notes[:] = self._replaced.sentences()
        self._messages += new
        self._hash_messages(new, b",")
        _read_turns(self._builder, self._messages, start)

    def recording(self) -> Recording:
        """All that was read, with the id that `content_id` gives the request: here it costs what is new."""
        whole = self._hash.copy()
        whole.update(self._hash_end)
        id_ = f"{self.source}-{whole.hexdigest()}"
        return _finish(self._builder, self._messages, self._first_turn, id_)

    def _hash_messages(self, messages: list[Json], before: bytes) -> None:
        for message in messages:
            encoded = encode_in_order(message)
            self._hash.update(before + encoded)
            self.size += len(encoded)
            before = b","


def recording_from_messages(
    messages: Sequence[dict[str, Json]],
    *,
    system: str | list[dict[str, Json]] | None = None,
    tools: Sequence[dict[str, Json]] | None = None,
    format: str | None = None,  # noqa: A002
) -> Recording:
    """A recording from a list of messages, whose format is told by their shape unless it is given."""
    return MessageListReader(checked_list(messages), system=system, tools=tools, format=format).recording()


def events_from_message(
    message: dict[str, Json],
    format: str | None = None,  # noqa: A002
    *,
    names: CallNames | None = None,
    opening: bool = True,
) -> list[Event]:
    """The events of one message, for appending one at a time.

    `names` are the tools by call id, for formats whose results do not name them. `opening` is True until the first
    turn: a system message then sets the prompt, later it is a reminder.
    """
    return events_from_messages([message], format, names=names, opening=opening)


def events_from_messages(
    messages: list[Json],
    format: str | None = None,  # noqa: A002
    *,
    names: CallNames | None = None,
    opening: bool = True,
    start: int = 0,
) -> list[Event]:
    """The events of messages that come together, such as all items of a reply. An error calls one by its place;
    the first is number `start`."""
    losses = Losses()
    messages = checked_messages(messages, losses, start)
    name = _checked_format(messages, format, start)
    known = CallNames() if names is None else names
    events: list[Event] = []
    for _, group in _reply_groups(messages, name, 0):
        for event in _group_events(group, name, known, losses, opening=opening):
            if isinstance(event, AssistantReplied) and all(isinstance(p, Thinking) for p in event.parts):
                losses.add("left out", "assistant messages with neither text nor call")
            else:
                events.append(event)
                known.note(event)
                opening = False if not isinstance(event, SystemSet) else opening
    return [*events, *(Noted(kind=UNREAD, text=sentence) for sentence in losses.sentences())]


def _checked_format(
    messages: list[Json],
    format: str | None,  # noqa: A002
    start: int = 0,
) -> str:
    """The format of messages that have a role each."""
    check_roles(messages, start)
    if format and format not in MESSAGE_FORMATS:
        raise InputError(
            f"`{format}` is not a format of message lists",
            hint=f"known: {', '.join(sorted(MESSAGE_FORMATS))}",
        )
    return format or message_format(messages)
