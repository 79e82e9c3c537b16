"""What a tool call does, and what its result says of itself, whatever agent made it.

Rule: recognition reads names, arguments and text only; it never fails, and an unknown tool is kind `other`.
"""

from holdfast.tool_use.recognition import (
    CHANGING,
    KINDS_BY_NAME,
    ToolKind,
    ToolUse,
    kind_of,
    recognize_tool,
    values_in,
)
from holdfast.tool_use.shell_lookups import FROM_END

__all__ = [
    "CHANGING",
    "FROM_END",
    "KINDS_BY_NAME",
    "ToolKind",
    "ToolUse",
    "kind_of",
    "recognize_tool",
    "values_in",
]
