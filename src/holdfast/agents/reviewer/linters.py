"""Other people's linters in a review: run in the sandbox, and what they say about changed lines becomes findings.

Rule: nothing is run that was not asked for, and nothing outside a sandbox: a configuration may run code, and the
repository may be a stranger's. A linter that fails costs its own findings and a sentence, never ours.
"""

import asyncio
import time
from collections.abc import Callable, Sequence

from msgspec import Struct

from holdfast.errors import InputError, suggest
from holdfast.numbers import counted
from holdfast.review.diff import FileChange
from holdfast.review.escaping import show_invisible
from holdfast.review.finding import Finding
from holdfast.review.linter_findings import LinterRun, add_linter_finding
from holdfast.review.review import Review
from holdfast.review.versions import disk_texts
from holdfast.tools.access import SandboxChoice
from holdfast.tools.checks.linter_output import LintFinding
from holdfast.tools.checks.linters import LINTERS, Linter, LinterCall, linter_calls, printed_path
from holdfast.tools.envelope import ToolError
from holdfast.tools.shell.sandbox import find_sandbox
from holdfast.tools.shell.shell import Shell, ShellLimits
from holdfast.tools.workspace import Workspace

ALL = "all"
MOST_OUTPUT = 20_000_000
MOST_LINES = 5
"""Lines of the longest finding that counts if only a later line of it changed. Longer ones are about a function
or a file."""
GRACE = 0.2


class LinterLimits(Struct, frozen=True):
    """Seconds for one linter, and for all together."""

    each: float = 120.0
    all: float = 300.0


def parse_linters(names: str) -> tuple[Linter, ...]:
    """`all`, or names with commas between them. InputError for a name that is none."""
    by_name = {linter.name: linter for linter in LINTERS}
    asked = [name.strip() for name in names.split(",") if name.strip()]
    for name in asked:
        if name not in by_name and name != ALL:
            tip = suggest(name, [*by_name, ALL]) or f"there are {', '.join(by_name)} and `{ALL}`"
            raise InputError(f"there is no linter `{name}`", hint=tip)
    return LINTERS if ALL in asked else tuple(by_name[name] for name in dict.fromkeys(asked))


async def lint_review(review: Review, names: str, tell: Callable[[str], None]) -> None:
    """Run the linters that a person named, if any."""
    await run_linters(review, parse_linters(names), is_named=ALL not in names.split(","), tell=tell)


async def run_linters(
    review: Review,
    linters: Sequence[Linter],
    *,
    is_named: bool = False,
    sandbox: SandboxChoice = "auto",
    limits: LinterLimits | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Add to a review what linters find in its changed lines. With `is_named` it is said of each that is not
    configured."""
    if not linters or not review.units:
        return
    changed, notes = await asyncio.to_thread(_changed_lines, review)
    review.notes = (*review.notes, *notes)
    workspace = Workspace([review.root])
    calls = {
        linter.name: await asyncio.to_thread(
            lambda one: list(linter_calls(one, list(changed), workspace)), linter
        )
        for linter in linters
    }
    if any(call.command for found in calls.values() for call in found):
        held = await asyncio.to_thread(find_sandbox, sandbox)
        if held.state != "holds":
            why = held.describe("read").partition(":")[0]
            review.notes = (*review.notes, f"no linter was run, since none may run outside a sandbox: {why}")
            return
        shell = Shell(sandbox=held, access="read", limits=ShellLimits(output_bytes=MOST_OUTPUT, grace=GRACE))
        with shell:
            run = _Run(review, workspace, shell, changed, limits or LinterLimits())
            for linter in linters:
                if calls[linter.name] or is_named:
                    tell(f"running {linter.name}")
                    review.linters = (*review.linters, await run.lint(linter, calls[linter.name]))
    else:
        review.linters = tuple(
            LinterRun(linter.name, 0, _absent(linter, calls[linter.name]))
            for linter in linters
            if calls[linter.name] or is_named
        )
    review.notes = (*review.notes, *(run.trouble for run in review.linters if run.trouble))


def _absent(linter: Linter, calls: Sequence[LinterCall]) -> str:
    if not calls:
        return f"{linter.name} was not run: it is not configured for any changed file"
    places = ", ".join(f"`{show_invisible(call.folder)}`" for call in calls[:3] if not call.command)
    return (
        f"{linter.name} was not run in {places}: it is configured there, but not installed" if places else ""
    )


def _changed_lines(review: Review) -> tuple[dict[str, set[int]], list[str]]:
    """The added lines by file, of files that are on disk as they are reviewed; and what to say about the others."""
    found: dict[str, set[int]] = {}
    elsewhere = 0
    for file in review.diff.files:
        lines = {line.new for line in file.lines("+")}
        if not lines or _is_passed_over(file, review):
            continue
        text = review.versions.new(file.path)
        if text is None or disk_texts(review.root, [file.path])[file.path] != text:
            elsewhere += 1
        else:
            found[file.path] = lines
    if not elsewhere:
        return found, []
    files = counted(elsewhere, "file")
    return found, [
        f"linters did not see {files}, which on disk {'is' if elsewhere == 1 else 'are'} not as reviewed"
    ]


def _is_passed_over(file: FileChange, review: Review) -> bool:
    units = review.sides.units_of(file.path)
    is_text = not (file.is_binary or file.is_submodule or file.new_mode == "120000")
    return not is_text or not units or all(unit.has("generated") for unit in units)


class _Run:
    """The linters of one review, one after the other, in one shell."""

    def __init__(
        self,
        review: Review,
        workspace: Workspace,
        shell: Shell,
        changed: dict[str, set[int]],
        limits: LinterLimits,
    ) -> None:
        self._review = review
        self._workspace = workspace
        self._shell = shell
        self._changed = changed
        self._limits = limits
        self._until = time.monotonic() + limits.all

    async def lint(self, linter: Linter, calls: Sequence[LinterCall]) -> LinterRun:
        trouble = _absent(linter, calls)
        until = min(self._until, time.monotonic() + self._limits.each)
        said: list[tuple[LintFinding, str]] = []
        for call in calls:
            if call.command:
                printed, trouble = await self._call(call, until, trouble)
                said += [(one, call.folder) for one in printed]
        findings = await asyncio.to_thread(
            lambda: [*filter(None, (self._finding(linter, *one) for one in said))]
        )
        for finding in findings:
            self._review.findings = add_linter_finding(self._review.findings, finding, self._review.sides)
        return LinterRun(linter.name, len(findings), trouble)

    async def _call(self, call: LinterCall, until: float, trouble: str) -> tuple[list[LintFinding], str]:
        """What one run printed, and what went wrong so far."""
        name = call.linter.name
        seconds = until - time.monotonic()
        if seconds <= 0:
            return [], trouble or f"{name} was not run to its end: the time for linters was over"
        self._shell.cwd = call.folder
        try:
            job, ending, _ = await self._shell.run(call.command, self._workspace, seconds=seconds)
        except ToolError as error:
            return [], trouble or f"{name} could not be run: {error.message}"
        if ending.why == "cancelled":
            raise asyncio.CancelledError  # the shell takes the request to stop for an ending
        printed = job.output.read(0, MOST_OUTPUT).decode("utf-8", "replace")
        self._shell.forget(job)
        read = await asyncio.to_thread(call.linter.read, printed)
        failure = ""
        if ending.why == "timeout":
            failure = f"did not end within {self._limits.each:g} seconds and was stopped"
        elif ending.why:
            failure = f"printed more than {MOST_OUTPUT // 1_000_000} MB and was stopped"
        elif ending.code not in call.linter.codes or (ending.code and not read):
            failure = f"ended with code {ending.code}{_last_words(printed)}"
        elif read is None and printed.strip():
            failure = f"printed what cannot be read{_last_words(printed)}"
        return read or [], trouble or (failure and f"{name} {failure}")

    def _finding(self, linter: Linter, said: LintFinding, folder: str) -> Finding | None:
        """The finding, if it is about a line that changed."""
        path = printed_path(said.path, folder, self._workspace.roots[0], set(self._changed))
        last = said.last_line if said.last_line - said.line < MOST_LINES else said.line
        lines = self._review.sides.lines(path, "new") if path else None
        if (
            not lines
            or not said.text
            or not any(n in self._changed[path] for n in range(said.line, last + 1))
        ):
            return None
        shown = [lines[number] for number in range(said.line, last + 1) if number in lines]
        return Finding(
            id="",  # set when it is verified
            unit="",
            path=path,
            line=said.line,
            last_line=last,
            severity=said.severity,
            category=said.category,
            claim=_sentence(said.text),
            evidence=tuple(shown),
            rule=f"{linter.name}:{said.code}",
        )


def _sentence(text: str) -> str:
    """Bandit quotes the passwords that it finds."""
    start, _, quoted = text.partition("hardcoded password: ")
    text = f"{start}hardcoded password" if quoted else text
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _last_words(printed: str) -> str:
    """The end of an output: programs say there why they failed."""
    rows = [row.strip() for row in printed[-4000:].splitlines() if row.strip()]
    return f": {show_invisible(rows[-1])[:200]}" if rows else ""
