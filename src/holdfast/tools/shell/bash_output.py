"""BashOutput: the list of jobs, and the output of one, page by page.

Rule: lines have numbers and bytes have offsets, and every page says where it ends and how to continue. No position
is kept between two calls: the same question about a finished output has the same answer.
"""

import asyncio
import re
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from holdfast.messages import Json, system_reminder
from holdfast.tools.envelope import ToolError, ToolResult, tool_result
from holdfast.tools.shell.bash import exit_words
from holdfast.tools.shell.command_output import (
    LONGEST_LINE,
    CommandOutput,
    clean_output,
    find_lines,
    rows,
    some_lines,
)
from holdfast.tools.shell.running_command import ShellJob
from holdfast.tools.shell.shell import Shell
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace

PAGE_LINES, PAGE_BYTES = 500, 64_000
LAST_LINES = 100
MOST_MATCHES = 100
LONGEST_NAME = 80

_RANGE = re.compile(r"\s*(\d{1,15})\s*(?:-\s*(\d{0,15})\s*)?|\s*-\s*(\d{1,15})\s*")


class BashOutputArguments(Struct, frozen=True, forbid_unknown_fields=True):
    id: Annotated[str, Meta(description="Which output, such as `b3`; left out, all of them are listed.")] = ""
    lines: Annotated[str, Meta(description="`120-180`, `120-` from there on, or `-50` for the last 50.")] = ""
    bytes: Annotated[str, Meta(description="`0-20000`: a part of a line that is too long, by offsets.")] = ""
    grep: Annotated[str, Meta(description="Regular expression (Rust syntax): only lines that match.")] = ""
    wait: Annotated[float, Meta(ge=0, le=300, description="Seconds to wait for its end first.")] = 0.0


_Page = tuple[list[str], dict[str, Json], str]
"""Rows, data, and a note on what is shown."""


def bash_output_tool(shell: Shell) -> Tool:
    work = partial(bash_output, shell=shell)
    return TypedTool("BashOutput", BashOutputArguments, prompt_beside(__file__), work, is_read_only=True)


async def bash_output(arguments: BashOutputArguments, workspace: Workspace, *, shell: Shell) -> ToolResult:  # noqa: ARG001 - the protocol's
    if not arguments.id:
        return _listed(shell)
    job = shell.job(arguments.id)
    if arguments.wait and not job.ended.done():
        await asyncio.wait([asyncio.wrap_future(job.ended)], timeout=arguments.wait)
    if job.ended.done():
        await asyncio.wrap_future(job.ended)
        job.is_end_read = True
    output = job.output
    given = [name for name in ("lines", "bytes", "grep") if getattr(arguments, name)]
    if len(given) > 1:
        raise ToolError("INVALID_PARAM", f"`{given[0]}` and `{given[1]}` of BashOutput exclude each other")
    if arguments.grep:
        shown, shown_data, note = await _matches(output, arguments.grep)
    elif arguments.bytes:
        shown, shown_data, note = await asyncio.to_thread(_part, output, arguments.bytes)
    else:
        lines = arguments.lines or f"-{LAST_LINES}"
        shown, shown_data, note = await asyncio.to_thread(_lines, output, lines)
    state = job_state(job)
    text = "\n".join([state, *shown, f"({note})"])
    ending = job.ending
    data: dict[str, Json] = {
        "output": job.id,
        "command": job.command,
        "is_running": ending is None,
        "bytes": output.size,
        "lines": output.lines,
        **({"exit_code": ending.code} if ending else {}),
        **shown_data,
    }
    return tool_result(text, state, data=data, context={"id": job.id})


def job_state(job: ShellJob) -> str:
    """One line about a job, beginning with its exit code once it has one."""
    command = " ".join(job.command.split())
    named = command if len(command) <= LONGEST_NAME else command[: LONGEST_NAME - 1] + "…"
    what = f'"{job.id}", `{named}`: {job.size_words}'
    if job.ending is None:
        return f"Running: {what}"
    return f"{exit_words(job.ending)} of {what}{'; something of it still runs' if job.is_running else ''}"


def take_ended_jobs(shell: Shell) -> list[str]:
    """What the model should be told about background jobs: those whose end it has not read."""
    ended = [job for job in shell.jobs.values() if job.ending and not job.is_end_read]
    for job in ended:
        job.is_end_read = True
    return [system_reminder(f"A background job has ended. {job_state(job)}.") for job in ended]


def _listed(shell: Shell) -> ToolResult:
    states = [job_state(job) for job in shell.jobs.values()]
    running = sum(job.ending is None for job in shell.jobs.values())
    head = f"{len(states)} outputs are kept, {running} of them of commands that run."
    data: dict[str, Json] = {"jobs": [job.id for job in shell.jobs.values()], "running": running}
    return tool_result("\n".join([head, *states]), head, data=data)


def _lines(output: CommandOutput, spelled: str) -> _Page:
    total = output.lines
    first, last = _span(spelled, "lines", total)
    taken = some_lines(output, first, min(PAGE_LINES, last - first + 1), PAGE_BYTES)
    if not taken:
        return [], {"first": 0, "last": 0}, f"there are {total} lines" if total else "no output yet"
    end = taken[-1].number
    notes = [f"lines {first}-{end} of {total}"]
    if end < min(last, total):
        notes.append(f'continue with `lines` "{end + 1}-"')
    if cut := next((line for line in taken if line.size > len(line.start)), None):
        notes.append(f'line {cut.number} is cut: read it with `bytes` "{cut.offset}-{cut.offset + cut.size}"')
    return rows(taken, numbered=True), {"first": first, "last": end}, "; ".join(notes)


def _span(spelled: str, name: str, total: int) -> tuple[int, int]:
    """First and last of a range as people write it; a dash first counts from the end."""
    found = _RANGE.fullmatch(spelled)
    if not found:
        raise ToolError(
            "INVALID_PARAM",
            f"`{name}` of BashOutput is not a range: `{spelled[:40]}`",
            hint="Write `120-180` or `120-`",
        )
    if found[3]:
        return max(1, total - int(found[3]) + 1), total
    first = int(found[1])
    last = int(found[2]) if found[2] else (total if "-" in spelled else first)
    return first if name == "bytes" else max(first, 1), last


def _part(output: CommandOutput, spelled: str) -> _Page:
    start, end = _span(spelled, "bytes", output.size)
    start = _at_character(output, start)
    end = _at_character(output, min(end, start + PAGE_BYTES))
    note = f"bytes {start}-{end} of {output.size}"
    if end < output.size:
        note += f'; continue with `bytes` "{end}-"'
    text = clean_output(output.read(start, end))
    return text.split("\n"), {"first_byte": start, "last_byte": end}, note


def _at_character(output: CommandOutput, offset: int) -> int:
    """An offset, moved back to the beginning of a character."""
    offset = min(offset, output.size)
    around = output.read(max(offset - 3, 0), offset + 1)
    for back in range(min(4, len(around))):
        if offset == output.size or around[-1 - back] & 0xC0 != 0x80:
            return offset - back
    return offset


async def _matches(output: CommandOutput, pattern: str) -> _Page:
    found = await find_lines(output.path, pattern, MOST_MATCHES)
    lines = [next(output.read_lines(number, LONGEST_LINE * 4)) for number in found.lines]
    shown = f", the first {len(lines)} are shown; use a longer pattern" if found.total > len(lines) else ""
    note = f"{found.total} of {output.lines} lines match{shown}"
    if found.cut:
        note += f"; {found.cut}, so there may be more"
    return rows(lines, numbered=True), {"total_matches": found.total}, note
