"""BashStop: end a background job, or what a command left running.

Rule: it returns when nothing of the job runs any more.
"""

import asyncio
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from holdfast.messages import Json
from holdfast.tools.envelope import ToolResult, tool_result
from holdfast.tools.shell.bash_output import job_state
from holdfast.tools.shell.command_output import last_lines, rows
from holdfast.tools.shell.shell import Shell
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace

LAST_LINES = 20


class BashStopArguments(Struct, frozen=True, forbid_unknown_fields=True):
    id: Annotated[str, Meta(description="Which job to end, such as `b3`.")]


def bash_stop_tool(shell: Shell) -> Tool:
    return TypedTool("BashStop", BashStopArguments, prompt_beside(__file__), partial(bash_stop, shell=shell))


async def bash_stop(arguments: BashStopArguments, workspace: Workspace, *, shell: Shell) -> ToolResult:  # noqa: ARG001 - the protocol's
    job = shell.job(arguments.id)
    was_running = await asyncio.to_thread(shell.stop, job)
    await asyncio.wrap_future(job.ended)
    job.is_end_read = True
    state = job_state(job)
    head = state if was_running else f"{state}; it had ended before"
    data: dict[str, Json] = {"output": job.id, "was_running": was_running}
    if ending := job.ending:
        data["exit_code"] = ending.code
    text = "\n".join([head, *rows(last_lines(job.output, LAST_LINES), numbered=True)])
    return tool_result(text, head, data=data, context={"id": job.id})
