"""Bash: run a command and say how it ended.

Rule: the first line is the exit code. Every command that ran is a success of the tool, whatever its code; only what
the tool itself could not do is an error. A breaker never opens because tests fail.
"""

import asyncio
import re
import signal
from codecs import getincrementaldecoder
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, Literal

from msgspec import Meta, Struct

from holdfast.messages import Json
from holdfast.tools.access import MEANINGS, Access
from holdfast.tools.call import JobEnded, LiveOutput, report_news
from holdfast.tools.envelope import Envelope, ToolResult, build_result, tool_result
from holdfast.tools.shell.command_output import CommandOutput, ShownOutput, clean_output, excerpt, whole
from holdfast.tools.shell.running_command import CommandEnding, ShellJob
from holdfast.tools.shell.shell import Shell
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace

MOST_SECONDS = 600
LONGEST_NAMED = 500
"""Characters of a command in the data; the call in the log has all of it."""


class BashArguments(Struct, frozen=True, forbid_unknown_fields=True):
    command: Annotated[str, Meta(description="What bash runs: one line or a whole script.")]
    timeout: Annotated[
        float,
        Meta(gt=0, le=MOST_SECONDS, description="Seconds after which it is stopped (not in the background)."),
    ] = 120.0
    run_in_background: Annotated[
        bool, Meta(description="Return at once; read its output with BashOutput, end it with BashStop.")
    ] = False
    access: Annotated[
        Literal["", "read", "write", "network", "full"],
        Meta(
            description="What it may touch: `read`, `write` (the workspace), `network`, or `full` (no sandbox). "
            "Leave it out unless a command was refused something; a person may be asked."
        ),
    ] = ""
    reason: Annotated[str, Meta(max_length=300, description="Why it needs that access, for the person.")] = ""


def bash_tool(shell: Shell) -> Tool:
    prompt = f"{prompt_beside(__file__)}\n\n{shell.sandbox.describe(shell.access)}"
    work = partial(bash, shell=shell)
    return TypedTool("Bash", BashArguments, prompt, work, ignores_unknown=True)


async def bash(arguments: BashArguments, workspace: Workspace, *, shell: Shell) -> ToolResult:
    if arguments.run_in_background:
        return _started(arguments, workspace, shell)
    access = shell.access
    tell = report_news.get()
    job, ending, moved = await shell.run(
        arguments.command,
        workspace,
        seconds=arguments.timeout,
        printed=lambda output: tell(live_output(output)),
    )
    job.is_end_read = True
    output, trouble = job.output, job.output.trouble
    is_large = output.size > shell.limits.text_bytes
    ended = exit_words(ending, arguments.timeout)
    head = [ended, moved, f"(Not all of the output was kept: {trouble}.)" if trouble else ""]
    data: dict[str, Json] = {
        "command": job.command[:LONGEST_NAMED],
        "exit_code": ending.code,
        "cwd": shell.cwd,
        "output": job.id,
        "bytes": output.size,
        "lines": output.lines,
        "truncated": is_large or bool(trouble),
    }
    if ending.signal:
        data["signal"] = _signal_name(ending.signal)
    if ending.why:
        data["stopped"] = ending.why
    if ending.left or ending.is_held:
        names = ", ".join(f"`{name}`" for name in ending.left) or "something that holds its output"
        how = f'BashOutput shows what it prints, BashStop ends it: `id` "{job.id}"'
        head.insert(2, f"(Still running: {names}. {how}.)")
        data |= {"still_running": list(ending.left), "job": job.id}
    printed = await _excerpt(job, ending) if is_large else whole(output)
    if (
        ending.code
        and shell.sandbox.state == "holds"
        and (refused := explain_refusal(printed.text, access, shell.hidden, is_fixed=shell.is_access_fixed))
    ):
        head.append(refused)
        data["access"] = access
    above = "".join(f"{line}\n" for line in head if line)
    data["stderr"] = _ranges_below(above, printed)
    envelope = Envelope(
        status="partial" if ending.why or is_large else "success",
        text=f"{above}{printed.text or '(no output)'}",
        data=data,
        stats={"seconds": round(ending.seconds, 3)},
        context={"command": arguments.command, "cwd": job.folder},
    )
    if not (is_large or ending.left or ending.is_held):
        shell.forget(job)
    return build_result(envelope, f"{ended}, {job.size_words}")


async def _excerpt(job: ShellJob, ending: CommandEnding) -> ShownOutput:
    # There is little time to answer an interruption: then nothing is searched for.
    with suppress(asyncio.CancelledError):
        if ending.why != "cancelled":
            return await excerpt(job.output, job.id)
    return await excerpt(job.output, job.id, is_searched=False)


_UNWRITABLE = re.compile(
    r"Read-only file system|Permission denied|Operation not permitted|EROFS|EACCES|EPERM"
)
_UNREACHABLE = re.compile(
    r"Could not resolve|[Nn]ame resolution|Name or service not known|Network is unreachable|getaddrinfo|EAI_AGAIN"
    r"|ENETUNREACH|[Nn]o route to host|Couldn't connect|[Ff]ailed to establish a new connection"
)


def explain_refusal(
    printed: str, access: Access, hidden: Sequence[str] = (), *, is_fixed: bool = False
) -> str:
    """What a failed command may have been refused, and the level that would allow it; empty if nothing looks so."""
    if access != "full" and (path := next((path for path in hidden if path in printed), "")):
        return f"(`{path}` is hidden from commands, since it may hold secrets.)"
    if access in ("read", "write") and _UNREACHABLE.search(printed):
        needed: Access = "network"
    elif access != "full" and _UNWRITABLE.search(printed):
        needed = "write" if access == "read" else "full"
    else:
        return ""
    said = f"(The sandbox may have refused this: the command ran with access `{access}`."
    if is_fixed:
        return f"{said} This is plan mode, in which commands only read, whatever `access` they ask for.)"
    return f'{said} A command that {MEANINGS[needed]} needs `access`: "{needed}", with a `reason`.)'


def _started(arguments: BashArguments, workspace: Workspace, shell: Shell) -> ToolResult:
    job = shell.start(arguments.command, workspace)
    _report_end(job)
    text = f'Running in the background as "{job.id}". BashOutput shows what it prints, BashStop ends it.'
    data: dict[str, Json] = {
        "command": job.command[:LONGEST_NAMED],
        "output": job.id,
        "job": job.id,
        "cwd": shell.cwd,
    }
    return tool_result(text, f"in the background: {job.id}", data=data)


LIVE_BYTES = 64_000
"""Bytes of the output of a running command that observers get, the last ones."""
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]{0,64}+[ -/]{0,8}+|\][^\x07\x1b\n]{0,4096}+\x1b?)?\Z")
"""The beginning of an escape sequence whose end has not arrived yet."""


def live_output(output: CommandOutput) -> LiveOutput:
    """The end of an output that still grows, each line in its last state."""
    size = output.size
    data = output.read(max(0, size - LIVE_BYTES), size)
    if size > LIVE_BYTES and b"\n" in data:
        data = data.partition(b"\n")[2]
    # Without half a character at the end: the rest of it is on its way.
    text = getincrementaldecoder("utf-8")("replace").decode(data)
    return LiveOutput(clean_output(_UNFINISHED.sub("", text).encode()), output.lines, size)


def _report_end(job: ShellJob) -> None:
    """Report the end of a background job to the observers of the call that started it."""
    loop, tell = asyncio.get_running_loop(), report_news.get()

    def ended(_: object) -> None:
        if ending := job.ending:
            sentence = f"{exit_words(ending)}, {job.size_words}"
            # In the job's thread: the loop may be closed by now.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(tell, JobEnded(job.id, job.command, ending.code, sentence))

    job.ended.add_done_callback(ended)


def exit_words(ending: CommandEnding, seconds: float = 0.0) -> str:
    """How a command ended: its exit code, and in brackets what the code does not say."""
    words = {
        "": "",
        "timeout": f"stopped {f'after its time limit of {seconds:g} s' if seconds else 'at its time limit'}, with "
        "all it started",
        "stopped": "stopped on request",
        "user": "stopped by the user",
        "cancelled": "interrupted before it ended, with all it started",
        "full": "stopped because it printed too much",
    }[ending.why]
    if not words and ending.signal:
        words = f"killed by {_signal_name(ending.signal)}"
    elif not words and 128 < ending.code < 128 + 65:
        name = _signal_name(ending.code - 128)
        words = f"as after {name}" if name else ""
    return f"Exit code: {ending.code}" + (f" ({words})" if words else "")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return ""


def _ranges_below(above: str, printed: ShownOutput) -> list[Json]:
    """Which lines of the result are stderr, as first and last numbers, counted from 1."""
    head = above.count("\n")
    return [[first + head, last + head] for first, last in printed.stderr]
