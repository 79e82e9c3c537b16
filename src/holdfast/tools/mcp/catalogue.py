"""Which tools of MCP servers stand in a request, and which are only named.

Rule: pure, and the same tools give the same bytes. A server's tools are defined as long as all of them fit the
budget; those of a server that does not fit are named in one list, and their schemas are handed out on demand.
"""

import json
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from holdfast.tools.mcp.names import name_tools
from holdfast.tools.mcp.tools import NamedTool, RemoteTool


class Plan(Struct, frozen=True):
    """Tools that are defined one by one, and tools that wait behind McpDescribe and McpCall."""

    defined: tuple[NamedTool, ...]
    deferred: tuple[NamedTool, ...]


def named_tools(listing: Mapping[str, Sequence[RemoteTool]]) -> dict[str, NamedTool]:
    """Every tool by the name that the model uses, in the order of names."""
    names = name_tools((server, tool.name) for server, tools in listing.items() for tool in tools)
    named = [
        NamedTool(names[server, tool.name], server, tool)
        for server, tools in listing.items()
        for tool in tools
    ]
    return {tool.name: tool for tool in sorted(named, key=lambda tool: tool.name)}


def plan_tools(tools: Iterable[NamedTool], budget: int) -> Plan:
    """Define what fits `budget` characters, the smallest servers first so that as many as possible are whole."""
    by_server: dict[str, list[NamedTool]] = {}
    for tool in tools:
        by_server.setdefault(tool.server, []).append(tool)
    sizes = {server: sum(map(_size, some)) for server, some in by_server.items()}
    defined: list[NamedTool] = []
    deferred: list[NamedTool] = []
    left = budget
    for server in sorted(sizes, key=lambda server: (sizes[server], server)):
        fits = sizes[server] <= left
        left -= sizes[server] if fits else 0
        (defined if fits else deferred).extend(by_server[server])
    return Plan(tuple(sorted(defined, key=_name)), tuple(sorted(deferred, key=_name)))


def list_tools(tools: Sequence[NamedTool], budget: int) -> str:
    """Tools with a line each; only names, or the first names, if that is all that fits."""
    rows = [f"- {tool.name}: {tool.line}" if tool.line else f"- {tool.name}" for tool in tools]
    if _length(rows) <= budget:
        return "\n".join(rows)
    rows = [f"- {tool.name}" for tool in tools]
    shown: list[str] = []
    size = 0
    for row in rows:
        size += len(row) + 1
        if size > budget:
            break
        shown.append(row)
    left = len(rows) - len(shown)
    note = "Descriptions are left out for lack of room"
    shown.append(f"({note}, and {left} of {len(rows)} names too: search for them.)" if left else f"({note}.)")
    return "\n".join(shown)


def search_tools(tools: Iterable[NamedTool], words: str) -> list[NamedTool]:
    """Tools that hold most of the words in name or description; those that hold them in the name come first."""
    wanted = words.lower().split()
    scored = []
    for tool in tools:
        name, said = tool.name.lower(), tool.remote.description.lower()
        score = sum(2 * (word in name) + (word in said) for word in wanted)
        if score:
            scored.append((-score, tool.name, tool))
    return [tool for *_, tool in sorted(scored, key=lambda item: item[:2])]


def _size(tool: NamedTool) -> int:
    definition = tool.definition
    return len(definition.name) + len(definition.description) + len(json.dumps(definition.schema))


def _length(rows: Sequence[str]) -> int:
    return sum(len(row) + 1 for row in rows)


def _name(tool: NamedTool) -> str:
    return tool.name
