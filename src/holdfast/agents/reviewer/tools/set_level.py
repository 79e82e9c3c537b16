"""set_level: a model asks how closely a unit is reviewed.

Rule: its level is combined with that of the rules and never replaces it. `data` is enough to repeat the decision.
"""

from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from holdfast.agents.reviewer.tools.review_files import ReviewFiles, require_unit
from holdfast.messages import Json
from holdfast.review.unit import Level
from holdfast.tools.envelope import ToolResult, tool_result
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace

NAME = "set_level"

_BY = {"rule": "the rules decided", "model": "you decided", "larger": "the larger of both"}


class LevelArguments(Struct, frozen=True, forbid_unknown_fields=True):
    unit: Annotated[str, Meta(description="Id of a unit, such as `u-0123456789ab`.")]
    level: Annotated[Level, Meta(description="How much of it should be read.")]
    reason: Annotated[str, Meta(min_length=1, max_length=500, description="Why, in a few words.")]


def set_level_tool(files: ReviewFiles) -> Tool:
    return TypedTool(NAME, LevelArguments, prompt_beside(__file__), partial(set_level, files=files))


async def set_level(arguments: LevelArguments, _workspace: Workspace, *, files: ReviewFiles) -> ToolResult:
    unit = require_unit(files.review, arguments.unit)
    decided = files.review.ask_level(unit, arguments.level)
    asked = "" if decided.level == arguments.level else f", not `{arguments.level}`"
    text = f"`{unit.id}` is looked at as `{decided.level}`{asked}: {_BY[decided.by]}, {decided.reason}."
    data: dict[str, Json] = {
        "unit": unit.id,
        "asked": arguments.level,
        "reason": arguments.reason,
        "decision": {"level": decided.level, "by": decided.by, "reason": decided.reason},
    }
    return tool_result(text, f"{unit.id}: {decided.level}", data=data)
