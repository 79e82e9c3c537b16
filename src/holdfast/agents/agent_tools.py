"""The tools that an agent gets: its own, functions among them, and Recall."""

from collections.abc import Callable, Iterable
from typing import Any

from holdfast.errors import InputError
from holdfast.recall import RECALL_TOOL, answer_recall
from holdfast.session import Session
from holdfast.tools.function_tool import FunctionTool
from holdfast.tools.recall import recall_tool
from holdfast.tools.tool import Tool

AgentTool = Tool | Callable[..., Any]
"""A tool, or a function to make one of."""


def agent_tools(given: Iterable[AgentTool]) -> list[Tool]:
    """The tools as such. Raises InputError for what is no tool, and for a name that is taken."""
    if not isinstance(given, Iterable):
        raise InputError(
            f"the agent's `tools` are of type `{type(given).__name__}`, not a list",
            hint="pass `[look]` for a tool `look`",
        )
    tools = [_as_tool(one, at) for at, one in enumerate(given)]
    names = [tool.name for tool in tools]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise InputError(f"two tools are named `{twice}`", hint="name one of them otherwise: `@tool(name=…)`")
    if any(isinstance(tool, FunctionTool) and tool.name == RECALL_TOOL.name for tool in tools):
        raise InputError(
            f"the tool name `{RECALL_TOOL.name}` is taken: every agent has a tool of that name",
            hint="name yours otherwise: `@tool(name=…)`",
        )
    return tools


def session_recall_tool(session: Session) -> Tool:
    """Recall, for texts of this session's log."""
    return recall_tool(
        RECALL_TOOL, lambda arguments: answer_recall(session.store, arguments, log=session.log.id)
    )


def _as_tool(given: AgentTool, at: int) -> Tool:
    if isinstance(given, Tool):
        return given
    if callable(given) and not isinstance(given, type):
        return FunctionTool(given)
    raise InputError(
        f"tool {at} is of type `{type(given).__name__}`, not a tool",
        hint="pass a function with `@tool` before it",
    )
