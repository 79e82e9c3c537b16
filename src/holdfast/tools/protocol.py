"""What a tool is: a name, a definition for the model, and a function from arguments to a result.

Rule: `run` answers every mistake of the model with an error envelope. What it raises is a defect of the tool or a
cancellation.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from holdfast.messages import Json, ToolDefinition
from holdfast.tools.envelope import ToolError, ToolResult, failed
from holdfast.tools.schema import decode_arguments, json_schema
from holdfast.tools.workspace import Workspace

A = TypeVar("A", bound=Struct)


class Tool(Protocol):
    """**Contract:** read-only tools may run beside each other; others run alone, in the order of the calls."""

    @property
    def name(self) -> str: ...

    @property
    def definition(self) -> ToolDefinition: ...

    @property
    def is_read_only(self) -> bool: ...

    async def run(self, arguments: dict[str, Json], workspace: Workspace) -> ToolResult: ...


@dataclass(frozen=True)
class TypedTool(Generic[A]):
    """A tool made of a typed function: the schema comes from `takes`, the prompt from a Markdown file.

    **Contract:** `work` raises `ToolError` for what the model should learn, and is cancelled like any coroutine.
    """

    name: str
    takes: type[A]
    prompt: str
    work: Callable[[A, Workspace], Awaitable[ToolResult]]
    is_read_only: bool = False

    @cached_property
    def definition(self) -> ToolDefinition:
        return ToolDefinition(self.name, self.prompt, json_schema(self.takes))

    async def run(self, arguments: dict[str, Json], workspace: Workspace) -> ToolResult:
        try:
            return await self.work(decode_arguments(self.takes, arguments, self.name), workspace)
        except ToolError as error:
            return failed(error, {"tool": self.name})


def prompt_beside(module: str) -> str:
    """The prompt of a tool: the Markdown file that stands beside its module and has the same name."""
    return Path(module).with_suffix(".md").read_text("utf-8").strip()
