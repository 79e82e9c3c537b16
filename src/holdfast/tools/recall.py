"""Recall as a tool: what a pack left out, brought back by a handler from the caller.

Rule: what the handler answers is what the model reads, to the byte. The tool knows neither store nor log.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from holdfast.messages import Json, ToolDefinition
from holdfast.tools.envelope import Envelope, EnvelopeError, ToolResult, build_result
from holdfast.tools.tool import Tool
from holdfast.tools.workspace import Workspace

RecallHandler = Callable[[Mapping[str, Json]], tuple[str, bool]]
"""From the arguments of a call to the answer, and whether that is an error."""


@dataclass(frozen=True)
class _RecallTool:
    definition: ToolDefinition
    answer: RecallHandler
    is_read_only: bool = True

    @property
    def name(self) -> str:
        return self.definition.name

    async def run(self, arguments: dict[str, Json], workspace: Workspace) -> ToolResult:  # noqa: ARG002
        # In the loop's own thread: a store's connection belongs to the thread that opened it.
        text, is_error = self.answer(arguments)
        asked: dict[str, Json] = {key: value for key, value in arguments.items() if value is not None}
        envelope = Envelope(
            status="error" if is_error else "success",
            text=text,
            error=EnvelopeError("NOT_FOUND", text) if is_error else None,
            context={"tool": self.name, "asked": asked},
        )
        return build_result(envelope, text.split("\n", 1)[0])


def recall_tool(definition: ToolDefinition, answer: RecallHandler) -> Tool:
    return _RecallTool(definition, answer)
