"""Recall as a tool: what a pack left out, brought back by a handler from the caller.

Rule: what the handler answers is what the model reads, to the byte. The tool knows neither store nor log.
"""

from collections.abc import Callable, Mapping

from holdfast.messages import Json, ToolDefinition
from holdfast.tools.envelope import Envelope, EnvelopeError, ToolResult, build_result
from holdfast.tools.tool import DefinedTool, Tool
from holdfast.tools.workspace import Workspace

RecallHandler = Callable[[Mapping[str, Json]], tuple[str, bool]]
"""From the arguments of a call to the answer, and whether that is an error."""


def recall_tool(definition: ToolDefinition, answer: RecallHandler) -> Tool:
    async def run(arguments: dict[str, Json], _workspace: Workspace) -> ToolResult:
        # In the loop's own thread: a store's connection belongs to the thread that opened it.
        text, is_error = answer(arguments)
        asked: dict[str, Json] = {key: value for key, value in arguments.items() if value is not None}
        envelope = Envelope(
            status="error" if is_error else "success",
            text=text,
            error=EnvelopeError("NOT_FOUND", text) if is_error else None,
            context={"tool": definition.name, "asked": asked},
        )
        return build_result(envelope, text.split("\n", 1)[0])

    return DefinedTool(definition, run, is_read_only=True)
