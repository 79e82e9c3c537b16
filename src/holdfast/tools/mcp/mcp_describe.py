"""McpDescribe: the tools of MCP servers that have no definition of their own.

Rule: the list in the definition is made once; the answers are what the servers say now.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from holdfast.messages import Json
from holdfast.tools.envelope import ToolResult, tool_result
from holdfast.tools.mcp.tool_names import NamedTool, list_tools, search_tools
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace

MOST_FOUND = 30
LONGEST_ANSWER = 40_000


class McpDescribeArguments(Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(description="The whole name of one tool.")] = ""
    search: Annotated[
        str, Meta(max_length=500, description="Words to look for in names and descriptions.")
    ] = ""


def mcp_describe_tool(
    find: Callable[[str], Awaitable[NamedTool]],
    relist: Callable[[], Awaitable[tuple[Sequence[NamedTool], Sequence[str]]]],
    deferred: Sequence[NamedTool],
    states: Sequence[str],
    budget: int,
) -> Tool:
    """`find` gives a tool by its name, or NOT_FOUND. `states` is a line for each server that is down; `relist`
    tries those again, and gives all tools and the states then."""

    async def describe(arguments: McpDescribeArguments, _workspace: Workspace) -> ToolResult:
        if arguments.name:
            return _described(await find(arguments.name))
        return _listed(*await relist(), arguments.search.strip())

    listed = [list_tools(deferred, budget)] if deferred else []
    prompt = "\n".join([prompt_beside(__file__), "", "Tools:", *listed, *states])
    return TypedTool("McpDescribe", McpDescribeArguments, prompt, describe, is_read_only=True)


def _described(tool: NamedTool) -> ToolResult:
    definition = tool.definition
    schema = json.dumps(definition.schema, ensure_ascii=False, indent=1)
    is_cut = len(schema) > LONGEST_ANSWER
    note = f"\n(The schema has {len(schema)} characters; {LONGEST_ANSWER} are shown.)" if is_cut else ""
    text = f"{definition.name}: {definition.description}\nSchema of its arguments:\n{schema[:LONGEST_ANSWER]}{note}"
    data: dict[str, Json] = {"name": tool.name, "server": tool.server, "truncated": is_cut}
    return tool_result(text, tool.name, data=data, is_partial=is_cut)


def _listed(tools: Sequence[NamedTool], states: Sequence[str], search: str) -> ToolResult:
    found = search_tools(tools, search) if search else tools
    shown = found[:MOST_FOUND] if search else found
    head = f"{len(found)} of {len(tools)} tools about `{search}`" if search else f"{len(tools)} tools"
    rest = f" ({len(shown)} are shown; search with more words)" if len(shown) < len(found) else ""
    lines = [f"{head}{rest}:", *([list_tools(shown, LONGEST_ANSWER)] if shown else []), *states]
    data: dict[str, Json] = {
        "total_entries": len(found),
        "truncated": len(shown) < len(found),
        "names": [tool.name for tool in shown],
    }
    return tool_result("\n".join(lines), head, data=data, is_partial=bool(rest))
