"""Content blocks, system and user turns of any provider, read into parts and events.

Rule: an image stays an image. Blocks that have no place are counted as losses, never turned into text. Only what
opens a list sets the system prompt; a later system message adds to it, as a reminder. A user message is a
reminder only if nothing a person wrote is left once the known wrappers are removed.
"""

import re
from typing import Literal

import msgspec

from holdfast.events import Event, SystemSet, UserSaid
from holdfast.messages import Image, Json, Text, ToolCall, ToolDefinition, UserPart, joined_text
from holdfast.wire.foreign_json import Losses, decode_text, items, obj, text

TEXT_TYPES = ("text", "input_text", "output_text", "refusal")
DATA_URL = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+);base64,")


def user_parts(content: Json, losses: Losses) -> tuple[UserPart, ...]:
    """Text and images of a user message or a tool result, in order; empty text is left out."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    parts: list[UserPart] = []
    for block in items(content if not isinstance(content, dict) else [content]):
        part = user_part(block)
        if part is None:
            losses.add("left out", f"`{block_type(block)}` blocks")
        elif not (isinstance(part, Text) and not part.text):
            parts.append(part)
    return tuple(parts)


def user_part(block: Json) -> UserPart | None:
    if isinstance(block, str):
        return Text(block)
    block = obj(block)
    kind = block.get("type")
    if kind in TEXT_TYPES or (kind is None and "text" in block):
        return Text(text(block.get("text")) or text(block.get("refusal")))
    if kind == "image":
        return _image(block)
    if kind in ("image_url", "input_image"):
        url = block.get("image_url")
        return image_at(text(url) or text(obj(url).get("url")))
    source = obj(block.get("source"))
    if kind == "document" and source.get("type") == "text":
        return Text(text(source.get("data")))
    return None


def _image(block: dict[str, Json]) -> Image | None:
    """Anthropic's image (`source`), or that of pi and MCP (`data`, `mimeType`)."""
    source = obj(block.get("source"))
    data = text(source.get("data")) or text(block.get("data"))
    if data:
        media = text(source.get("media_type")) or text(block.get("mimeType")) or "image/png"
        return Image(media_type=media, data=data)
    return image_at(text(source.get("url")) or text(block.get("url")))


def image_at(url: str) -> Image | None:
    if match := DATA_URL.match(url):
        return Image(media_type=match["type"], data=url[match.end() :])
    return Image(media_type="", url=url) if url else None


def block_type(block: Json) -> str:
    return text(obj(block).get("type"))[:40] or type(block).__name__


def tool_call(call_id: Json, name: Json, arguments: Json, losses: Losses) -> ToolCall:
    """A call with its arguments decoded; anything but a JSON object is kept in `raw` as the model wrote it."""
    call = ToolCall(id=text(call_id), name=text(name), arguments={})
    if isinstance(arguments, str):
        try:
            value = decode_text(arguments, losses) if arguments.strip() else {}
        except ValueError:
            value = None
        raw = arguments
    else:
        value = {} if arguments is None else arguments
        raw = "" if isinstance(value, dict) else msgspec.json.encode(value).decode()
    if isinstance(value, dict):
        return msgspec.structs.replace(call, arguments=value)
    return msgspec.structs.replace(call, raw=raw)


def tool_definitions(tools: Json, losses: Losses) -> tuple[ToolDefinition, ...]:
    """Tools in OpenAI's nested or flat shape, or in Anthropic's."""
    definitions: list[ToolDefinition] = []
    for tool in items(tools):
        body = obj(obj(tool).get("function")) or obj(tool)
        schema = body.get("parameters", body.get("input_schema"))
        if not text(body.get("name")) or not isinstance(schema, dict | None):
            losses.add("left out", f"`{block_type(tool)}` tool definitions")
        elif schema is None and text(body.get("type")) not in ("", "function", "custom"):
            losses.add("left out", f"definitions of the provider's own tool `{block_type(tool)}`")
        else:
            name, description = text(body.get("name")), text(body.get("description"))
            definitions.append(ToolDefinition(name=name, description=description, schema=schema or {}))
    return tuple(definitions)


Origin = Literal["person", "agent", "reminder"]

WRAPPERS = (
    "system-reminder",
    "system_reminder",
    "system_notification",
    "current_datetime",
    "local-command-caveat",
    "local-command-stdout",
    "local-command-stderr",
    "command-name",
    "command-message",
    "command-args",
    "command-contents",
    "bash-input",
    "bash-stdout",
    "bash-stderr",
    "task-notification",
    "user-prompt-submit-hook",
    "environment_context",
    "user_instructions",
    "permissions instructions",
    "collaboration_mode",
    "recommended_plugins",
    "developer",
    "turn_aborted",
    "user_shell_command",
    "subagent_notification",
)
OPENINGS = (
    "[Request interrupted by user",
    "This session is being continued from a previous conversation",
    "Caveat: The messages below were generated by the user while running local commands",
    "# AGENTS.md instructions for ",
    "<stage system prompt",
    "[user ran a command]",
)
WRAPPED = re.compile(r"\s*<(?P<tag>" + "|".join(map(re.escape, WRAPPERS)) + r")(?:\s[^>]*)?>")
ARGUMENTS = re.compile(r"<command-args>\s*[^<\s]")


def origin_of(parts: tuple[UserPart, ...]) -> Origin:
    """Who wrote these parts, judged by their text alone; an image without text is a person's."""
    return "reminder" if is_machine_made(joined_text(parts)) else "person"


def is_machine_made(text: str) -> bool:
    text = text.lstrip()
    if text.startswith(OPENINGS):
        return True
    # A prompt command (`/review the parser`) begins with its message or has arguments; only a local command
    # (`/model`) tells the model nothing.
    if text.startswith("<command-message>"):
        return False
    if text.startswith("<command-name>") and ARGUMENTS.search(text, 0, 2000):
        return False
    return _is_wrapped(text)


def _is_wrapped(text: str) -> bool:
    at = 0
    while match := WRAPPED.match(text, at):
        closing = f"</{match['tag']}>"
        end = text.find(closing, match.end())
        if end < 0:
            return True
        at = end + len(closing)
    return at > 0 and not text[at:].strip()


SYSTEM_ROLES = ("system", "developer")


def split_system(messages: list[Json], losses: Losses) -> tuple[str, list[Json]]:
    """The system prompt that opens a list, and the messages after it."""
    opening: list[str] = []
    for message in messages:
        if obj(message).get("role") not in SYSTEM_ROLES:
            break
        opening.append(system_text(obj(message).get("content"), losses))
    if len(opening) > 1:
        losses.add("joined into one system prompt", "system messages", len(opening))
    return "\n\n".join(filter(None, opening)), messages[len(opening) :]


def system_text(content: Json, losses: Losses) -> str:
    return joined_text(user_parts(content, losses))


def system_message_events(message: dict[str, Json], losses: Losses, *, opening: bool) -> list[Event]:
    """After the first turn a reminder: a `SystemSet` would replace the whole prompt, where its author meant to
    add."""
    said = system_text(message.get("content"), losses)
    if not said:
        return []
    if opening:
        return [SystemSet(said)]
    losses.add("kept as reminders", f"{message.get('role')} messages after the first turn")
    return [UserSaid((Text(said),), origin="reminder")]


def user_message_events(parts: tuple[UserPart, ...], losses: Losses) -> list[Event]:
    if not parts:
        losses.add("left out", "empty user messages")
        return []
    return [UserSaid(parts, origin=origin_of(parts))]
