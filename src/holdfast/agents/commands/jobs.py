"""`/jobs`: the commands that run in the background, what they print, and their end.

Rule: it works while the agent does, and changes nothing but the job that a person stops.
"""

import asyncio

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import SlashCommand
from holdfast.agents.commands.markdown import code, fenced, joined, table
from holdfast.agents.outcomes import CommandAnswer
from holdfast.errors import InputError
from holdfast.numbers import counted
from holdfast.tools.shell.bash import exit_words
from holdfast.tools.shell.bash_output import job_state
from holdfast.tools.shell.command_output import last_lines, rows
from holdfast.tools.shell.running_command import ShellJob
from holdfast.tools.shell.shell import Shell

LAST_LINES = 40
LONGEST_COMMAND = 60
_HEAD = ("id", "state", "time", "lines", "command")


async def _run(coding: CodingSession, argument: str) -> CommandAnswer:
    shell = coding.tool_state.shell
    first, *rest = argument.split() or [""]
    if first == "stop" and len(rest) == 1:
        job = _find(shell, rest[0])
        was_running = await asyncio.to_thread(shell.stop, job, "user")
        return CommandAnswer(f"{_state(job)}{'' if was_running else '; it had ended before'}.")
    if first == "stop" or rest:
        raise JOBS.misused("which job is meant?" if first == "stop" else f"`{argument}` is not a job")
    return CommandAnswer(await asyncio.to_thread(_shown, _find(shell, first)) if first else _listed(shell))


def _find(shell: Shell, name: str) -> ShellJob:
    if job := shell.jobs.get(name):
        return job
    known = ", ".join(f"`{one}`" for one in shell.jobs)
    raise InputError(f"there is no job `{name}`", hint=f"there are: {known}" if known else "there are none")


def _listed(shell: Shell) -> str:
    listed = [
        (job.id, _words(shell, job), _age(job.seconds), str(job.output.lines), code(_clipped(job.command)))
        for job in shell.jobs.values()
    ]
    running = len(shell.background)
    head = (
        f"{counted(running, 'job runs', 'jobs run')} in the background." if listed else "There are no jobs."
    )
    more = "`/jobs ID` shows the last lines, `/jobs stop ID` ends one." if listed else ""
    return joined(head, table(_HEAD, listed, right=(3,)), more)


def _shown(job: ShellJob) -> str:
    lines = last_lines(job.output, LAST_LINES)
    left = f"The last {len(lines)} of {job.output.lines} lines:" if len(lines) < job.output.lines else ""
    printed = fenced("\n".join(rows(lines))) if lines else "It has printed nothing."
    return joined(f"{_state(job)}, {_age(job.seconds)}.", left, printed)


def _state(job: ShellJob) -> str:
    return job_state(job)


def _words(shell: Shell, job: ShellJob) -> str:
    if job.ending is None and job.is_running:
        return "runs" if job in shell.background else "runs; the agent waits"
    if job.ending is None:
        return "did not start"
    return exit_words(job.ending) + (", something of it runs" if job.is_running else "")


def _clipped(command: str) -> str:
    one = " ".join(command.split())
    return one if len(one) <= LONGEST_COMMAND else f"{one[: LONGEST_COMMAND - 1]}…"


def _age(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, hours = int(seconds // 60), int(seconds // 3600)
    return f"{minutes} min" if minutes < 60 else f"{hours} h {minutes % 60:02d} min"


JOBS = SlashCommand(
    "jobs",
    "/jobs [ID | stop ID]",
    "commands in the background: list them, see what one prints, stop one",
    _run,
    "It works while the agent does, also for the command that it waits for.",
    waits=False,
)
