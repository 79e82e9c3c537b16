"""Content blocks of any vendor into parts.

Rule: a picture stays a picture. Blocks without a place are tallied, never turned into text.
"""

import re

import msgspec

from holdfast.messages import Image, Json, Text, ToolCall, ToolDefinition, UserPart
from holdfast.recordings.decoding import decoded_text
from holdfast.recordings.shapes import items, obj, text
from holdfast.recordings.tally import Tally

TEXT_TYPES = ("text", "input_text", "output_text", "refusal")
DATA_URL = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+);base64,")


def user_parts(content: Json, tally: Tally) -> tuple[UserPart, ...]:
    """Text and pictures of a user message or a tool result, in order; empty text is no part."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    parts: list[UserPart] = []
    for block in items(content if not isinstance(content, dict) else [content]):
        part = user_part(block)
        if part is None:
            tally.add("left out", f"`{block_type(block)}` blocks")
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
    """Anthropic's picture (`source`), or the one of pi and MCP (`data`, `mimeType`)."""
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


def tool_call(call_id: Json, name: Json, arguments: Json, tally: Tally) -> ToolCall:
    """A call with its arguments decoded; what is no JSON object is kept in `raw` as the model wrote it."""
    call = ToolCall(id=text(call_id), name=text(name), arguments={})
    if isinstance(arguments, str):
        try:
            value = decoded_text(arguments, tally) if arguments.strip() else {}
        except ValueError:
            value = None
        raw = arguments
    else:
        value = {} if arguments is None else arguments
        raw = "" if isinstance(value, dict) else msgspec.json.encode(value).decode()
    if isinstance(value, dict):
        return msgspec.structs.replace(call, arguments=value)
    return msgspec.structs.replace(call, raw=raw)


def tool_definitions(tools: Json, tally: Tally) -> tuple[ToolDefinition, ...]:
    """Tools in OpenAI's nested or flat shape, or in Anthropic's."""
    definitions: list[ToolDefinition] = []
    for tool in items(tools):
        body = obj(obj(tool).get("function")) or obj(tool)
        schema = body.get("parameters", body.get("input_schema"))
        if not text(body.get("name")) or not isinstance(schema, dict | None):
            tally.add("left out", f"`{block_type(tool)}` tool definitions")
        elif schema is None and text(body.get("type")) not in ("", "function", "custom"):
            tally.add("left out", f"definitions of the provider's own tool `{block_type(tool)}`")
        else:
            name, description = text(body.get("name")), text(body.get("description"))
            definitions.append(ToolDefinition(name=name, description=description, schema=schema or {}))
    return tuple(definitions)
