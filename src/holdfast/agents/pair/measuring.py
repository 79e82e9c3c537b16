"""The harness measures: it runs the approved evaluation on a clean copy of the folder, and looks for signs that
results were made to pass.

Rule: what an agent wrote is not counted. What runs is what was approved, in a sandbox, with limits of time, output
and disk; the same folder gives the same results, so it can be done again after a crash.
"""

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.pair.loaded_files import loaded_files
from holdfast.agents.pair.project_state import (
    answer_files,
    changed_chosen,
    chosen_samples,
    component_files,
    count_tests,
    listed_samples,
    sample_records,
)
from holdfast.messages import Json
from holdfast.pair.clean_copy import CannotCopy, copy_folder, folder_size
from holdfast.pair.component_signs import copied_answers, reaching_components, unseen_components
from holdfast.pair.evaluation import IterationResults, UnreadableResults, read_evaluation, with_causes
from holdfast.pair.folder import PairFolder
from holdfast.pair.frozen import ApprovedFiles, CannotFreeze, FrozenEvaluation, changed_files
from holdfast.pair.suspicions import (
    TestCount,
    changed_evaluation,
    changed_in_run,
    changed_samples,
    fewer_samples,
    fewer_tests,
    left_out_samples,
    own_samples,
    same_outputs,
    sample_contents,
    stand_ins,
    written_by_hand,
)
from holdfast.tools.envelope import ToolError
from holdfast.tools.shell.processes import find_family
from holdfast.tools.shell.running_command import CommandEnding
from holdfast.tools.shell.sandbox import Sandbox, Unconfined
from holdfast.tools.shell.shell import Shell, ShellLimits
from holdfast.tools.workspace import Workspace

MOST_OUTPUT = 50_000_000
"""Bytes that an evaluation may print."""
MOST_DISK = 4_000_000_000
"""Bytes that the copy may grow to, with temporary files."""
MOST_PROCESSES = 1_000
LOOK_EVERY = 0.5
"""Seconds between two looks at the size of the copy and the number of processes."""
SHOWN = 2_000
"""Characters of its output that are kept."""


class TurnWork(Struct, frozen=True):
    """What the role that builds did in its turn, by its log."""

    commands: int = 0
    results_written: tuple[str, ...] = ()


class Measurement(Struct, frozen=True):
    """`trouble` says why there are no results."""

    results: IterationResults | None = None
    trouble: str = ""
    output: str = ""
    tests: TestCount = TestCount()


class Harness(Struct, frozen=True):
    """`folder` is for approved files and copies: agents do not write there."""

    layout: PairFolder
    folder: Path
    sandbox: Sandbox = Unconfined()
    hidden: tuple[str, ...] = ()

    @property
    def approved(self) -> ApprovedFiles:
        return ApprovedFiles(self.folder / "approved")

    @property
    def can_run(self) -> bool:
        """Whether there is a sandbox, or a person wants none."""
        return self.sandbox.state != "missing"

    async def measure(
        self,
        frozen: FrozenEvaluation,
        iteration: int,
        claimed: IterationResults | None,
        before: Sequence[IterationResults],
        tests_before: TestCount | None,
        work: TurnWork,
        design: str = "",
    ) -> Measurement:
        """Run the evaluation, and read its results. `claimed` are those that the agent has on the disk."""
        copy = await asyncio.to_thread(self._new_copy)
        try:
            approved = await asyncio.to_thread(self.approved.contents, self.layout, frozen)
            clean = await asyncio.to_thread(
                copy_folder,
                self.layout,
                copy / "work",
                iteration,
                approved,
                folders=frozen.folders,
                without=self.folder.resolve(),
            )
            ending, output, why = await self._run(frozen, clean, iteration)
            read = await asyncio.to_thread(self._read, clean, iteration, ending, output, why, frozen)
            if read.results is None:
                return read
            results = replace(with_causes(read.results, claimed), design=design)
            judged, tests = await asyncio.to_thread(
                self._judged, results, frozen, clean, claimed, before, tests_before, work
            )
            return replace(read, results=judged, tests=tests)
        except (CannotFreeze, CannotCopy) as error:
            return Measurement(trouble=str(error))
        finally:
            await asyncio.to_thread(shutil.rmtree, copy, ignore_errors=True)

    def _judged(
        self,
        results: IterationResults,
        frozen: FrozenEvaluation,
        clean: PairFolder,
        claimed: IterationResults | None,
        before: Sequence[IterationResults],
        tests_before: TestCount | None,
        work: TurnWork,
    ) -> tuple[IterationResults, TestCount]:
        """The results with what is suspicious about them, and the tests in the folder."""
        layout, iteration = self.layout, results.iteration
        samples = sample_records(clean, iteration, frozen)
        results = replace(results, contents=sample_contents(samples))
        chosen = chosen_samples(layout, iteration, frozen)
        components = component_files(layout, frozen)
        tests = count_tests(layout)
        in_run = [name for name in changed_files(clean, frozen) if name in frozen.files]
        suspicions = (
            *fewer_samples(before, results),
            *changed_samples(before, results),
            *left_out_samples(listed_samples(clean, frozen), results),
            *own_samples(chosen if chosen.issuperset(results.samples) else ()),
            *written_by_hand(claimed.samples if claimed else (), work.results_written, work.commands),
            *changed_evaluation(changed_files(layout, frozen)),
            *changed_in_run([*in_run, *changed_chosen(layout, clean, iteration, chosen)]),
            *stand_ins(loaded_files(layout, frozen)),
            *same_outputs(samples),
            *fewer_tests(tests_before, tests),
            *copied_answers(samples, components, answer_files(clean, frozen)),
            *reaching_components(components.sources),
            *unseen_components(components),
        )
        return replace(results, suspicions=suspicions), tests

    def _new_copy(self) -> Path:
        """A new folder for a copy. Those of killed runs are removed: one pair measures once at a time."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for left in self.folder.glob("run-*"):
            shutil.rmtree(left, ignore_errors=True)
        return Path(tempfile.mkdtemp(prefix="run-", dir=self.folder))

    async def _run(
        self, frozen: FrozenEvaluation, clean: PairFolder, iteration: int
    ) -> tuple[CommandEnding, str, str]:
        """How it ended, what it printed last, and why it was stopped if it took too much."""
        command = frozen.plan.command.replace("{iteration}", str(iteration))
        limits = ShellLimits(output_bytes=MOST_OUTPUT)
        with Shell(sandbox=self.sandbox, access="write", hidden=self.hidden, limits=limits) as shell:
            shell.frozen = tuple(f"{clean.root}/{name}" for name in frozen.files)
            watching = asyncio.create_task(_stop_if_too_much(shell, clean.root, shell.folder))
            try:
                job, ending, _ = await shell.run(
                    command, Workspace([clean.root]), seconds=float(frozen.plan.seconds)
                )
                if ending.why == "cancelled":
                    # What it wrote so far are not its results.
                    raise asyncio.CancelledError
                printed = job.output.read(max(0, job.output.size - SHOWN)).decode("utf-8", "replace")
                return ending, printed, await watching if ending.why == "stopped" else ""
            except ToolError as error:
                raise CannotCopy(f"the evaluation cannot be started: {error.message}") from None
            finally:
                watching.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await watching

    def _read(
        self,
        clean: PairFolder,
        iteration: int,
        ending: CommandEnding,
        output: str,
        why: str,
        frozen: FrozenEvaluation,
    ) -> Measurement:
        said = f"; it printed: {' '.join(output.split())[-300:]}" if output.strip() else ""
        reasons = {
            "timeout": f"did not end within {frozen.plan.seconds} seconds",
            "full": f"printed more than {MOST_OUTPUT:,} bytes",
        }
        if why := why or reasons.get(ending.why, ""):
            return Measurement(trouble=f"the evaluation `{frozen.plan.command}` {why}{said}", output=output)
        try:
            results = read_evaluation(clean, iteration).results
        except UnreadableResults as error:
            return Measurement(trouble=f"the evaluation was run by the harness: {error}", output=output)
        if not results.total:
            wrote = (
                f"the evaluation `{frozen.plan.command}` ended with code {ending.code} and wrote no results"
            )
            return Measurement(trouble=f"{wrote}{said}", output=output)
        return Measurement(results, output=output)


async def _stop_if_too_much(shell: Shell, *folders: Path) -> str:
    """Why it was stopped. Ends with the run, or when it takes too much of the machine."""
    while True:
        await asyncio.sleep(LOOK_EVERY)
        why = ""
        if await asyncio.to_thread(folder_size, *folders) > MOST_DISK:
            why = f"wrote more than {MOST_DISK:,} bytes"
        elif await asyncio.to_thread(_processes, shell) > MOST_PROCESSES:
            why = f"had more than {MOST_PROCESSES:,} processes at a time"
        if why:
            for job in shell.jobs.values():
                job.stop("stopped")
            return why


def _processes(shell: Shell) -> int:
    return sum(len(find_family(job.mark)) for job in shell.jobs.values())


def measurement_file(measured: Measurement) -> dict[str, Json]:
    """What is kept beside the outputs of an iteration, for people and for the role that designs."""
    assert measured.results is not None, "only what was measured is written"
    return {"output": measured.output, **msgspec.to_builtins(measured.results)}
