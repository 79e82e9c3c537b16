"""What a client asks for: its messages, prompt and tools, and which session of the client's it belongs to.

Rule: a client needs no help for this. What it says of its session is used; if it says nothing, its messages tell.
"""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from holdfast.messages import Json, ToolDefinition
from holdfast.wire.content_blocks import FormatName, system_text, tool_definitions
from holdfast.wire.foreign_json import Losses, items, obj, text

CONTINUED = (
    "This session is being continued from a previous conversation",
    "Another language model started to solve this problem",
)
"""How clients begin a list of messages after they summarized the one before."""


class ClientRequest(Struct, frozen=True):
    """`session` is the client's own name of its session; empty where it says none."""

    format: FormatName
    messages: list[Json]
    system: str
    tools: tuple[ToolDefinition, ...]
    model: str
    session: str

    @property
    def is_continued(self) -> bool:
        """Whether the client summarized what came before."""
        return any(mark in str(message)[:20_000] for message in self.messages[:4] for mark in CONTINUED)


def read_request(body: bytes, format_: FormatName, headers: Mapping[str, str]) -> ClientRequest | None:
    """The request in a body; None where it has no messages, such as one that continues a reply at the provider."""
    given = obj(msgspec.json.decode(body))
    losses = Losses()
    system = system_text(given.get("system") or given.get("instructions"), losses)
    match format_:
        case "responses":
            asked = given.get("input")
            messages = [{"role": "user", "content": asked}] if isinstance(asked, str) else items(asked)
        case "gemini":
            messages = items(given.get("contents"))
            prompt = obj(given.get("systemInstruction") or given.get("system_instruction"))
            system = "\n".join(text(obj(part).get("text")) for part in items(prompt.get("parts")))
        case _:
            messages = items(given.get("messages"))
    if not messages or given.get("previous_response_id"):
        return None
    tools = tool_definitions(items(given.get("tools")), losses)
    return ClientRequest(
        format_, messages, system, tools, text(given.get("model")), client_session(given, headers)
    )


def client_session(body: Mapping[str, Json], headers: Mapping[str, str]) -> str:
    """What the client calls its session, by a header or in the body."""
    for name in ("x-claude-code-session-id", "session-id", "session_id", "thread-id", "x-session-id"):
        if headers.get(name):
            return headers[name]
    try:
        user = obj(msgspec.json.decode(text(obj(body.get("metadata")).get("user_id"))))
    except msgspec.DecodeError:
        user = {}
    return text(user.get("session_id")) or text(body.get("prompt_cache_key"))
