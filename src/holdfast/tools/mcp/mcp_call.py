"""Calls of the tools of MCP servers, directly or by name through McpCall, and their results.

Rule: an answer becomes an envelope here and nowhere else, whichever way the tool was called. Everything is bounded,
and what is left out is said. `content` is the JSON of the wire, whatever library read it.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct, field

from holdfast.messages import Image, Json
from holdfast.tools.envelope import (
    PICTURES,
    Envelope,
    EnvelopeError,
    ToolError,
    ToolResult,
    build_result,
    error_result,
)
from holdfast.tools.mcp.connection import ServerConnection
from holdfast.tools.mcp.tool_names import NamedTool
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace


class ResultLimits(Struct, frozen=True):
    """Characters of text, of the base64 of one picture, and of the structured answer that `data` keeps."""

    chars: int = 400_000
    pictures: int = 10
    picture_chars: int = 7_000_000
    data_chars: int = 10_000


def map_result(answer: dict[str, Json], context: dict[str, Json], bounds: ResultLimits) -> ToolResult:
    content = answer.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    pictures: list[Image] = []
    texts = [_text(block, pictures, bounds) for block in blocks]
    structured = answer.get("structuredContent")
    if structured is not None and not _is_told(structured, blocks):
        texts.append(json.dumps(structured, ensure_ascii=False))
    whole = "\n".join(text for text in texts if text)
    text, cut = whole, len(whole) - bounds.chars
    if cut > 0:
        head, tail = bounds.chars * 3 // 4, bounds.chars - bounds.chars * 3 // 4
        note = f"[… {cut} of {len(whole)} characters left out; ask the tool for less at once …]"
        text = f"{whole[:head]}\n{note}\n{whole[len(whole) - tail :]}"
    is_error = answer.get("isError") is True
    message = text or ("the server gave no reason" if is_error else "(The tool answered with nothing.)")
    data: dict[str, Json] = {"chars": len(whole), "truncated": cut > 0, "pictures": len(pictures)}
    if structured is not None and len(json.dumps(structured, ensure_ascii=False)) <= bounds.data_chars:
        data["structured"] = structured
    envelope = Envelope(
        status="error" if is_error else "partial" if cut > 0 else "success",
        text=f"EXECUTION_ERROR: {message}" if is_error else message,
        data=data,
        error=EnvelopeError("EXECUTION_ERROR", message[:2000]) if is_error else None,
        context=context,
    )
    first = message.strip().split("\n", 1)[0]
    return build_result(envelope, first if len(first) <= 120 else first[:117] + "...", *pictures)


def _text(block: dict[str, Json], pictures: list[Image], bounds: ResultLimits) -> str:
    """The text of a block; pictures are collected, and what cannot be shown is named."""
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "image":
            return _picture(block.get("mimeType"), block.get("data"), "picture", pictures, bounds)
        case "resource_link":
            named = [str(block.get(key, "")) for key in ("name", "uri", "mimeType", "description")]
            return f"[link to a resource: {' · '.join(part for part in named if part)[:2000]}]"
        case "resource" if isinstance(block.get("resource"), dict):
            resource = block["resource"]
            name = f"resource {str(resource.get('uri', ''))[:500]}"
            if isinstance(resource.get("text"), str):
                return f"[{name}]\n{resource['text']}"
            return _picture(resource.get("mimeType"), resource.get("blob"), name, pictures, bounds)
        case "audio":
            return f"[sound, {block.get('mimeType', 'of unknown type')}: cannot be shown]"
        case kind:
            return f"[something of the kind {str(kind)[:60]}: cannot be shown]"


def _picture(media: Json, data: Json, name: str, pictures: list[Image], bounds: ResultLimits) -> str:
    size = len(data) if isinstance(data, str) else 0
    if media not in PICTURES or not size or size > bounds.picture_chars or len(pictures) >= bounds.pictures:
        return f"[{name}, {media or 'of unknown type'}, {size * 3 // 4} bytes: not shown]"
    pictures.append(Image(str(media), data=str(data)))
    return f"[{name}, {media}]"


def _is_told(structured: Json, blocks: Sequence[dict[str, Json]]) -> bool:
    """Whether the text says the same, as servers write it for clients without structured answers: in one block, or
    one block for each item of a list."""
    texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    values = [value for text in texts for value in (text, _decoded(text))]
    lists = [texts, [_decoded(text) for text in texts]]
    # A single value is wrapped as `{"result": value}`, because a structured answer must be an object.
    is_wrapped = isinstance(structured, dict) and list(structured) == ["result"]
    wanted = [structured, *([structured["result"]] if is_wrapped else [])]
    return any(value in values or value in lists for value in wanted)


def _decoded(text: str) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


class McpTool:
    """A tool of a server, defined on its own."""

    def __init__(self, tool: NamedTool, connection: ServerConnection, bounds: ResultLimits) -> None:
        self.name = tool.name
        self.definition = tool.definition
        self.is_read_only = connection.server.trusted and tool.remote.claims_read_only
        self.tool = tool
        self._connection = connection
        self._bounds = bounds

    async def run(self, arguments: dict[str, Json], workspace: Workspace) -> ToolResult:  # noqa: ARG002
        try:
            return await call_remote(self.tool, self._connection, arguments, self._bounds)
        except ToolError as error:
            return error_result(error, {"tool": self.name, "server": self.tool.server})


async def call_remote(
    tool: NamedTool, connection: ServerConnection, arguments: dict[str, Json], bounds: ResultLimits
) -> ToolResult:
    answer = await connection.call(tool.remote.name, arguments)
    return map_result(answer, {"tool": tool.name, "server": tool.server}, bounds)


class McpCallArguments(Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(description="The tool's whole name, such as `mcp__server__tool`.")]
    arguments: Annotated[dict[str, Json], Meta(description="Arguments that fit the tool's schema.")] = field(
        default_factory=dict
    )


def mcp_call_tool(
    find: Callable[[str], Awaitable[NamedTool]],
    connections: Mapping[str, ServerConnection],
    bounds: ResultLimits,
) -> Tool:
    async def call(arguments: McpCallArguments, _workspace: Workspace) -> ToolResult:
        tool = await find(arguments.name)
        return await call_remote(tool, connections[tool.server], arguments.arguments, bounds)

    return TypedTool("McpCall", McpCallArguments, prompt_beside(__file__), call)
