"""A tool that edits, with the project's checks around it: what they newly find is added to its result.

Rule: a check changes nothing about the edit: not whether it is made, not its status. It runs at the access level
`read`, or, where nothing holds it, only by a person's rule. It is stopped when its time is over, and at once when
the call is interrupted.
"""

import asyncio
import time
from collections.abc import Callable

from msgspec.structs import replace

from holdfast.messages import Json
from holdfast.numbers import count_noun
from holdfast.tools.checks.checkers import (
    CheckFinding,
    CheckSettings,
    FileCheck,
    checks_of,
    new_findings,
    read_findings,
)
from holdfast.tools.envelope import ToolError, ToolResult, error_result, with_remark
from holdfast.tools.shell.shell import Shell
from holdfast.tools.tool import Tool
from holdfast.tools.workspace import Workspace

MOST_SHOWN = 10
MOST_OUTPUT = 1_000_000
"""Bytes of a check's output that are read."""
LONGEST_FAILURE = 200
"""Characters of the line that says why a check failed."""
MOST_LATE = 3
"""How often a check may be too slow before it is not run again. A cache may help it the next time."""


class ProjectChecks:
    """The checks of one session. `shell` is theirs alone and runs at `read`; `may_run` says whether a command may
    be run unasked."""

    def __init__(self, settings: CheckSettings, shell: Shell, may_run: Callable[[str], bool]) -> None:
        self._settings = settings
        self._shell = shell
        self._may_run = may_run
        self._last: dict[str, list[CheckFinding]] = {}
        """What each command found when it was last run."""
        self._late: dict[str, int] = {}
        self._failed: dict[str, str] = {}
        """Why checks by these names failed, until it was told; empty from then on."""

    async def look(self, path: str, workspace: Workspace, *, exists: bool) -> list[FileCheck]:
        """Before an edit: the checks of the file, those run of which nothing is known yet."""
        ready = []
        until = time.monotonic() + self._settings.seconds
        for check in await asyncio.to_thread(lambda: list(checks_of(path, self._settings, workspace))):
            if not all(map(self._may_run, check.spellings)) or self._late.get(check.command, 0) >= MOST_LATE:
                continue
            if check.needs_file and not exists:
                self._last[check.command] = []
            elif check.is_quick or check.command not in self._last:
                await self._run(check, workspace, until, is_there=exists)
            if check.command in self._last:
                ready.append(check)
        return ready

    async def compare(
        self, checks: list[FileCheck], workspace: Workspace, ranges: list[tuple[int, int]]
    ) -> list[tuple[FileCheck, list[CheckFinding]]]:
        """After an edit: what each check newly finds."""
        until = time.monotonic() + self._settings.seconds
        found = []
        for check in checks:
            before = self._last.pop(check.command)
            await self._run(check, workspace, until)
            if (after := self._last.get(check.command)) is not None and (
                new := new_findings(before, after, ranges)
            ):
                found.append((check, new))
        return found

    async def _run(
        self, check: FileCheck, workspace: Workspace, until: float, *, is_there: bool = True
    ) -> None:
        """Before the first file of its kind is there, a check may have nothing to look at, and fail."""
        self._last.pop(check.command, None)
        left = until - time.monotonic()
        if left <= 0:
            return
        self._shell.cwd = check.folder
        job, ending, _ = await self._shell.run(check.command, workspace, seconds=left)
        if not ending.why:
            printed = job.output.read(0, MOST_OUTPUT).decode("utf-8", "replace")
            findings = read_findings(printed)
            if ending.code and is_there and not findings and (why := _why_failed(printed)):
                self._failed.setdefault(check.name, why)
            else:
                self._last[check.command] = findings
        elif ending.why != "cancelled":
            self._late[check.command] = self._late.get(check.command, 0) + 1
        self._shell.forget(job)
        if ending.why == "cancelled":
            # The shell keeps what a cancelled command printed; here nothing of it is wanted, and the call ends.
            raise asyncio.CancelledError

    def failures(self) -> list[str]:
        """What is to be told about checks that failed, once for each."""
        told = [f"({name} could not check this: {why})" for name, why in self._failed.items() if why]
        self._failed = dict.fromkeys(self._failed, "")
        return told

    def close(self) -> None:
        self._shell.close()


def _why_failed(printed: str) -> str:
    """The line of an output without findings that says most; empty if there is none."""
    rows = [row.strip() for row in printed.splitlines() if row.strip()]
    errors = [row for row in rows if "error" in row.lower()]
    return (errors or rows[-1:] or [""])[0][:LONGEST_FAILURE]


class CheckedEdit:
    """An editing tool whose result also says what the project's checks newly find."""

    def __init__(self, tool: Tool, checks: ProjectChecks) -> None:
        self.name, self.definition, self.is_read_only = tool.name, tool.definition, tool.is_read_only
        self._tool = tool
        self._checks = checks

    async def run(self, arguments: dict[str, Json], workspace: Workspace) -> ToolResult:
        path = _path(arguments, workspace)
        if not path or arguments.get("dry_run"):
            return await self._tool.run(arguments, workspace)
        try:
            checks = await self._checks.look(path, workspace, exists=_exists(path, workspace))
        except asyncio.CancelledError:
            error = ToolError(
                "EXECUTION_ERROR", f"{self.name} was interrupted before it began; nothing was changed"
            )
            return error_result(error, {"tool": self.name, "interrupted": True})
        result = await self._tool.run(arguments, workspace)
        if not result.envelope.data.get("applied"):
            return result
        ranges = [(first, last) for first, last in result.envelope.data.get("ranges", [])]
        try:
            found = await self._checks.compare(checks, workspace, ranges)
        except asyncio.CancelledError:
            return result  # the edit is made, and what it did is known
        return _with_findings(result, found, self._checks.failures())


def _path(arguments: dict[str, Json], workspace: Workspace) -> str:
    """The path of the file from the first root; empty for one elsewhere, which is not checked."""
    try:
        place = workspace.locate(str(arguments.get("path", "")))
    except ToolError:
        return ""
    return place.inner if place.root == workspace.roots[0] else ""


def _exists(path: str, workspace: Workspace) -> bool:
    try:
        workspace.status(path)
    except ToolError:
        return False
    return True


def _with_findings(
    result: ToolResult, found: list[tuple[FileCheck, list[CheckFinding]]], failures: list[str]
) -> ToolResult:
    lines = []
    for check, new in found:
        place = "" if check.folder == "." else f" in `{check.folder}`"
        count = count_noun(len(new), "new finding")
        lines.append(f"({check.name}: {count} after this edit. `{check.plain}`{place} shows all.)")
        lines += [finding.spelled for finding in new[:MOST_SHOWN]]
        lines += [f"(and {len(new) - MOST_SHOWN} more)"] if len(new) > MOST_SHOWN else []
    if found:
        data = {**result.envelope.data, "checks": {check.name: len(new) for check, new in found}}
        result = replace(result, envelope=replace(result.envelope, data=data))
    lines += failures
    return with_remark(result, "\n".join(lines)) if lines else result
