"""HandOver: gives the work of one role of a pair to the other, after a check, and ends the turn.

Rule: it changes nothing: the log has the call and its result. So it is safe to repeat, and declared as a tool that
only reads.
"""

from collections.abc import Callable

from holdfast.pair.handover import Handover
from holdfast.tools.envelope import ToolError, ToolResult, tool_result
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace

HAND_OVER_TOOL = "HandOver"

CheckHandover = Callable[[Handover], tuple[str, ...]]
"""Finds everything that is wrong with a handover."""


def hand_over_tool(check: CheckHandover) -> Tool:
    async def work(handover: Handover, _workspace: Workspace) -> ToolResult:
        wrong = check(handover)
        if wrong:
            raise ToolError(
                "INVALID_PARAM",
                f"the handover was refused: {'; '.join(wrong)}",
                hint="Correct this, and call HandOver again",
            )
        shown = f"handed over: {' '.join(handover.summary.split())[:200]}"
        return tool_result("Handed over. Your turn ends here.", shown)

    return TypedTool(HAND_OVER_TOOL, Handover, prompt_beside(__file__), work, is_read_only=True)
