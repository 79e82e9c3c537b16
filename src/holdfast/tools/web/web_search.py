"""WebSearch: what the search tool of the model's provider finds.

Rule: it is a call like any other, which the gate decides about and the log keeps; what was found is data.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from holdfast.messages import Json
from holdfast.tool_use.web_frame import framed
from holdfast.tools.envelope import ToolResult, tool_result
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace


class SearchReport(Struct, frozen=True):
    """A report, and the pages that were found, each with its address and title."""

    text: str
    pages: tuple[tuple[str, str], ...] = ()
    is_whole: bool = True


Search = Callable[[str], Awaitable[SearchReport]]
"""**Contract:** raises `ToolError` for what the model should learn."""


class WebSearchArguments(Struct, frozen=True, forbid_unknown_fields=True):
    query: Annotated[str, Meta(min_length=2, max_length=400, description="What to look for.")]


def web_search_tool(search: Search) -> Tool:
    work = partial(web_search, search=search)
    prompt = prompt_beside(__file__)
    return TypedTool("WebSearch", WebSearchArguments, prompt, work, is_read_only=True, ignores_unknown=True)


async def web_search(arguments: WebSearchArguments, _workspace: Workspace, *, search: Search) -> ToolResult:
    report = await search(arguments.query)
    pages = [f"- {title}: {url}" if title else f"- {url}" for url, title in report.pages]
    text = "\n".join(filter(None, [report.text.strip(), "\nPages:" if pages else "", *pages]))
    notes = [] if report.is_whole else ["(The search ended early.)"]
    data: dict[str, Json] = {"query": arguments.query, "pages": [url for url, _ in report.pages]}
    shown = f"{len(pages)} pages"
    return tool_result("\n".join([*notes, *framed(text)]), shown, data=data, is_partial=bool(notes))
