"""One recording under every policy and budget: what a worker does.

Rule: a recording comes in whole and only figures go out; packs go to a file, line by line, never into memory.
"""

from collections.abc import Iterator
from contextlib import nullcontext
from itertools import chain, count
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.errors import HoldfastError, InputError
from holdfast.lab.case import ReplayCase, make_case, project_of
from holdfast.lab.evidence.common_names import shipped_names
from holdfast.lab.evidence.study import Study, study_evidence
from holdfast.lab.options import ReplayOptions
from holdfast.lab.packs import DumpFile
from holdfast.lab.policy import NamedPolicy
from holdfast.lab.results import BASELINE, Score
from holdfast.lab.run import PolicyRun, ScoringSetup
from holdfast.lab.scored_message import MessageCounter, read_message
from holdfast.recordings.recording_files import LazyRecording, scan_recordings
from holdfast.tokenizers import load_tokenizer


class ReplayJob(Struct, frozen=True):
    """A recording to replay. `id` is unique in the run, whatever the file says."""

    number: int
    id: str
    file: str
    unread: LazyRecording


class JobOutcome(Struct, frozen=True):
    """Scores by measure. `error` says why a recording could not be replayed at all."""

    number: int
    id: str
    scores: tuple[tuple[Score, ...], ...] = ()
    dumped: str = ""
    """A file with the packs, for whoever takes the outcome to read and remove."""
    error: str = ""
    short: bool = False
    """It has fewer tokens than the order asks for, and is left out."""
    notes: tuple[str, ...] = ()
    """What reading the recording lost or forgave."""


def replay_job(order: ReplayOptions, job: ReplayJob) -> JobOutcome:
    try:
        case = read_case(order, job)
    except HoldfastError as error:
        return JobOutcome(job.number, job.id, error=error.message)
    scale = MessageCounter(load_tokenizer())
    if is_short(order, case, scale):
        return JobOutcome(job.number, job.id, short=True)
    studied, tools = study_case(order, case, scale), scoring_setup(order, scale)
    with DumpFile(order.dump, case.id) if order.dump else nullcontext() as file:
        # By run, then by measure, then by budget.
        scores = [
            PolicyRun(studied, plan, budget, budgets, tools, file if _is_wanted(order, plan) else None).go()
            for plan, budget, budgets in planned_runs(order)
        ]
    by_measure = tuple(tuple(score for row in rows for score in row) for rows in zip(*scores, strict=True))
    return JobOutcome(job.number, job.id, by_measure, file.name if file else "", notes=case.notes)


def read_case(order: ReplayOptions, job: ReplayJob) -> ReplayCase:
    recording = job.unread.read()
    project = project_of(recording, job.file.split(".")[0], order.project_from)
    return replace(make_case(recording, project), id=job.id)


def is_short(order: ReplayOptions, case: ReplayCase, scale: MessageCounter) -> bool:
    """Whether the messages take fewer tokens than the order asks for."""
    if not order.at_least:
        return False
    messages = (turn.message for turn in case.turns if turn.message is not None)
    return scale.total([read_message(message) for message in messages]) < order.at_least


def study_case(order: ReplayOptions, case: ReplayCase, scale: MessageCounter) -> Study:
    return study_evidence(case, scale, order.measures, shipped_names().above)


def planned_runs(order: ReplayOptions) -> Iterator[tuple[NamedPolicy, int, tuple[int, ...]]]:
    """Each plan with each budget; one that no budget binds runs once, and is scored for all of them."""
    for plan in order.all_plans():
        if plan.budgeted:
            for budget in order.budgets:
                yield plan, budget, (budget,)
        else:
            yield plan, max(order.budgets), order.budgets


def scoring_setup(order: ReplayOptions, scale: MessageCounter) -> ScoringSetup:
    return ScoringSetup(load_tokenizer(), scale, order.tables, min(order.budgets), order.pictures)


def _is_wanted(order: ReplayOptions, plan: NamedPolicy) -> bool:
    """Whether it was asked for: the baseline is replayed in any case, but dumped only then."""
    return plan.name != BASELINE or BASELINE in order.policies


# Which recordings to replay.
#
# Rule: the same choice gives the same recordings in the same order, however often it is read.


class Workload(Struct, frozen=True):
    """How much there is to do."""

    recordings: int
    size: int


class RecordingSources(Struct, frozen=True):
    """All recordings of some files, or `sample` of each, spread evenly from the first to the last."""

    files: tuple[Path, ...]
    format: str | None = None
    sample: int = 0

    def load(self) -> Workload:
        """Reads every file once, so that a bad one is refused before any work and time left can be told."""
        sizes = [job.unread.size for job in self.jobs()]
        if not sizes:
            raise InputError(f"there is no recording in {', '.join(path.name for path in self.files)}")
        return Workload(len(sizes), sum(sizes))

    def jobs(self) -> Iterator[ReplayJob]:
        seen: set[str] = set()
        number = 0
        for path in self.files:
            for unread in self._unread(path):
                # The same id again is another recording all the same: figures are paired by id.
                again = (f"{unread.id} ({turn})" for turn in count(2))
                id_ = next(id_ for id_ in chain((unread.id,), again) if id_ not in seen)
                seen.add(id_)
                yield ReplayJob(number, id_, path.name, unread)
                number += 1

    def _unread(self, path: Path) -> Iterator[LazyRecording]:
        if not self.sample:
            yield from scan_recordings(path, self.format)
            return
        found = sum(1 for _ in scan_recordings(path, self.format))
        chosen = _spread(found, self.sample)
        yield from (u for at, u in enumerate(scan_recordings(path, self.format)) if at in chosen)


def _spread(found: int, wanted: int) -> set[int]:
    if wanted >= found:
        return set(range(found))
    if wanted == 1:
        return {0}
    return {round(place * (found - 1) / (wanted - 1)) for place in range(wanted)}


# Jobs: recordings on their way through the processes of a replay.
#
# Rule: what goes to a process and what comes back are plain values, and no recording waits for another.
