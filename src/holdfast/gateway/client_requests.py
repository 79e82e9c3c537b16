"""What a client asks for: its messages, prompt and tools, and which session of the client's it belongs to.

Rule: a client needs no help for this. What it says of its session is used; if it says nothing, its messages tell.
"""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from holdfast.events import UserSaid
from holdfast.gateway.exchange import SESSION_HEADERS
from holdfast.gateway.wires import model_in_path
from holdfast.messages import Json, ToolDefinition, joined_text
from holdfast.models.errors import redacted_line
from holdfast.views.prose import without_wrappers
from holdfast.wire.content_blocks import FormatName, system_text, tool_definitions
from holdfast.wire.foreign_json import Losses, items, obj, replace_lone_surrogates, text
from holdfast.wire.message_checks import is_message
from holdfast.wire.translation import WireTranslation

LIST_FIELDS: Mapping[FormatName, str] = {
    "anthropic": "messages",
    "openai": "messages",
    "responses": "input",
    "gemini": "contents",
}
"""The field of a request that has its messages."""
CONTINUED = (
    "This session is being continued from a previous conversation",
    "Another language model started to solve this problem",
)
"""How clients begin a list of messages after they summarized the one before."""

KEPT_ELSEWHERE = ("previous_response_id", "conversation")
"""Fields that name a history at the provider, to which a request only adds."""


class ClientRequest(Struct, frozen=True):
    """`session` is the client's own name of its session; empty where it says none."""

    format: FormatName
    messages: list[Json]
    system: str
    tools: tuple[ToolDefinition, ...]
    model: str
    session: str
    wire_tools: list[Json]
    is_list: bool
    """Whether the messages are a list in the request, and not one text."""

    @property
    def readable(self) -> list[Json]:
        """The messages that a log can hold: a provider's own items, such as a compaction of its, are none."""
        return [message for message in self.messages if is_message(message)]

    @property
    def user_texts(self) -> list[str]:
        """What a person said, with what the client put around it."""
        return [
            joined_text(event.parts)
            for _, events in WireTranslation(self.format).read(self.readable)
            for event in events
            if isinstance(event, UserSaid) and event.origin == "person"
        ]

    @property
    def title(self) -> str:
        """What a person said last, without what the client put around it: some clients begin with examples."""
        texts = (" ".join(without_wrappers(text).split()) for text in reversed(self.user_texts))
        return redacted_line(next(filter(None, texts), ""))[:100]

    @property
    def is_continued(self) -> bool:
        """Whether the client summarized what came before."""
        return any(mark in str(message)[:20_000] for message in self.messages[:4] for mark in CONTINUED)


def read_request(
    body: bytes, format_: FormatName, headers: Mapping[str, str], path: str = ""
) -> ClientRequest | None:
    """The request in a body; None where it has no messages, such as one that continues a reply at the provider."""
    losses = Losses()
    given = obj(_decoded(body, losses))
    system = system_text(given.get("system") or given.get("instructions"), losses)
    asked = given.get(LIST_FIELDS[format_])
    is_list = isinstance(asked, list)
    messages = items(asked) if is_list else [{"role": "user", "content": asked}] if asked else []
    if format_ == "gemini":
        prompt = obj(given.get("systemInstruction") or given.get("system_instruction"))
        system = "\n".join(text(obj(part).get("text")) for part in items(prompt.get("parts")))
    if not messages or any(given.get(name) for name in KEPT_ELSEWHERE):
        return None
    wire_tools = items(given.get("tools"))
    return ClientRequest(
        format=format_,
        messages=messages,
        system=system,
        tools=tool_definitions(wire_tools, losses),
        model=text(given.get("model")) or model_in_path(path),
        session=client_session(given, headers),
        wire_tools=wire_tools,
        is_list=is_list,
    )


def _decoded(body: bytes, losses: Losses) -> Json:
    """The value of a body. A client that cuts a text inside an emoji writes half of it, which many servers take."""
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        return msgspec.json.decode(replace_lone_surrogates(body, losses))


def client_session(body: Mapping[str, Json], headers: Mapping[str, str]) -> str:
    """What the client calls its session, by a header or in the body."""
    for name in SESSION_HEADERS:
        if headers.get(name):
            return headers[name]
    try:
        user = obj(msgspec.json.decode(text(obj(body.get("metadata")).get("user_id"))))
    except msgspec.DecodeError:
        user = {}
    return text(user.get("session_id")) or text(body.get("prompt_cache_key"))
