"""Recordings on their way through a replay: which ones, under what options, and what a worker does with each.

Rule: the same choice gives the same recordings in the same order, however often it is read. A recording comes
in whole and only figures go out; packs go to a file, line by line, never into memory. Options are plain values that
every process gets; policies travel by name and are found again where they run.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import chain, count, islice
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from holdfast.errors import HoldfastError, InputError
from holdfast.lab.case import ReplayCase, make_case, project_of
from holdfast.lab.evidence.common_names import shipped_names
from holdfast.lab.evidence.needs import DEFAULT_MEASURE, Measure, Study, study_evidence
from holdfast.lab.packs import DumpFile
from holdfast.lab.policies.registry import find_policies
from holdfast.lab.policy import NamedPolicy
from holdfast.lab.results import BASELINE, Score
from holdfast.lab.run import PolicyRun, ScoringSetup
from holdfast.lab.scored_message import MessageCounter
from holdfast.lab.stored_logs import StoredLog
from holdfast.packing.profile import Profile
from holdfast.prices import PriceTable
from holdfast.recordings.json_lines import RecordingFile
from holdfast.recordings.recording_files import LazyRecording, scan_recordings
from holdfast.tokenizers import load_tokenizer

T = TypeVar("T")


class ReplayOptions(Struct, frozen=True):
    policies: tuple[str, ...]
    budgets: tuple[int, ...]
    tables: tuple[PriceTable, ...]
    """The first one ranks."""
    profiles: dict[str, Profile] = {}
    """Those of the user's configuration."""
    folder: str = ""
    """Where modules of users' policies are looked for first."""
    project_from: str = "source"
    at_least: int = 0
    """Tokens of messages that a recording must have; shorter ones are left out."""
    measures: tuple[Measure, ...] = (DEFAULT_MEASURE,)
    pictures: bool = False
    why: bool = False
    """Whether to say of every need where it was lost."""
    dump: str = ""
    """A folder for packs, where they are wanted."""

    def all_policies(self) -> list[NamedPolicy]:
        """The policies asked for. The baseline is always replayed: it comes first if it was not among them."""
        asked = find_policies(self.policies, self.profiles, folder=Path(self.folder) if self.folder else None)
        if any(policy.name == BASELINE for policy in asked):
            return asked
        return [*find_policies([BASELINE]), *asked]

    @property
    def fitted_profile(self) -> Profile:
        """Of a fit, whose only policy it is."""
        return self.profiles[self.policies[0]]

    def varied(self) -> "ReplayOptions":
        """The same under every measure of the sensitivity test."""
        return replace(self, measures=(DEFAULT_MEASURE, *(measure for _, measure in VARIATIONS)))


VARIATIONS: Sequence[tuple[str, Measure]] = (
    ("common from 2 projects", replace(DEFAULT_MEASURE, common_projects=1)),
    ("common from 5 projects", replace(DEFAULT_MEASURE, common_projects=4)),
    ("shorter: lines 12, names 5", replace(DEFAULT_MEASURE, line_length=12, name_length=5)),
    ("longer: lines 24, names 8", replace(DEFAULT_MEASURE, line_length=24, name_length=8)),
    ("overlap 0.3", replace(DEFAULT_MEASURE, overlap=0.3)),
    ("overlap 0.7", replace(DEFAULT_MEASURE, overlap=0.7)),
)
"""How the definition of a need is varied to see whether the order of policies holds."""


class ReplayJob(Struct, frozen=True):
    """A recording to replay. `id` is unique in the run, whatever the file says."""

    number: int
    id: str
    file: str
    unread: LazyRecording
    part: int = 0
    """Which part of the policies and budgets, of `parts`."""
    parts: int = 1

    @property
    def size(self) -> int:
        """About how much work it is, in bytes of recordings; all parts together are as large as the recording."""
        return len(self.share(range(self.unread.size)))

    def split(self, parts: int) -> "list[ReplayJob]":
        return [replace(self, part=part, parts=parts) for part in range(parts)]

    def share(self, every: Sequence[T]) -> Sequence[T]:
        """What of these is for this part, in their order."""
        return every[len(every) * self.part // self.parts : len(every) * (self.part + 1) // self.parts]


class JobOutcome(Struct, frozen=True):
    """Scores by measure. `error` says why a recording could not be replayed at all."""

    number: int
    id: str
    scores: tuple[tuple[Score, ...], ...] = ()
    dumped: tuple[str, ...] = ()
    """Files with the packs, which the receiver of the outcome reads and removes."""
    error: str = ""
    short: bool = False
    """It has fewer tokens than `--at-least` asks for, and is left out."""
    notes: tuple[str, ...] = ()
    """What was lost or repaired when the recording was read."""


def joined_outcomes(outcomes: Iterable[JobOutcome], parts: int) -> Iterator[JobOutcome]:
    """One outcome for each recording, of whose jobs this many follow one another."""
    every = iter(outcomes)
    while of_one := tuple(islice(every, parts)):
        without = next((outcome for outcome in of_one if not outcome.scores), None)
        scores = (tuple(chain(*measured)) for measured in zip(*(one.scores for one in of_one), strict=False))
        dumped = tuple(file for one in of_one for file in one.dumped)
        yield without or replace(of_one[0], scores=tuple(scores), dumped=dumped)


def replay_job(options: ReplayOptions, job: ReplayJob) -> JobOutcome:
    prepared = prepare(options, job)
    if isinstance(prepared, JobOutcome):
        return prepared
    study, setup = prepared
    scores: list[list[list[Score]]] = []
    """By run, then by measure, then by budget."""
    with DumpFile(options.dump, study.case.id) if options.dump else nullcontext() as file:
        for policy, budget, budgets in job.share(planned_runs(options)):
            # The baseline is replayed in any case, but dumped only if it was asked for.
            wanted = policy.name != BASELINE or BASELINE in options.policies
            scores.append(PolicyRun(study, policy, budget, budgets, setup, file if wanted else None).run())
    by_measure = tuple(tuple(score for row in rows for score in row) for rows in zip(*scores, strict=True))
    dumped = (file.name,) if file else ()
    return JobOutcome(job.number, job.id, by_measure, dumped, notes=study.case.notes)


def prepare(options: ReplayOptions, job: ReplayJob) -> tuple[Study, ScoringSetup] | JobOutcome:
    """A recording studied, and what to measure runs with; or why it is left out."""
    try:
        case = read_case(options, job)
    except HoldfastError as error:
        return JobOutcome(job.number, job.id, error=error.message)
    setup = scoring_setup(options)
    if options.at_least:
        messages = [turn.message for turn in case.turns if turn.message is not None]
        if setup.counter.total(messages) < options.at_least:
            return JobOutcome(job.number, job.id, short=True)
    return study_case(options, case, setup.counter), setup


def read_case(options: ReplayOptions, job: ReplayJob) -> ReplayCase:
    recording = job.unread.read()
    project = project_of(recording, job.file.split(".")[0], options.project_from)
    return replace(make_case(recording, project), id=job.id)


def study_case(options: ReplayOptions, case: ReplayCase, counter: MessageCounter) -> Study:
    return study_evidence(case, counter, options.measures, shipped_names().above)


def planned_runs(options: ReplayOptions) -> list[tuple[NamedPolicy, int, tuple[int, ...]]]:
    """Each policy with each budget; one without a budget runs once, and is scored for all of them."""
    runs: list[tuple[NamedPolicy, int, tuple[int, ...]]] = []
    for policy in options.all_policies():
        if policy.budgeted:
            runs += [(policy, budget, (budget,)) for budget in options.budgets]
        else:
            runs.append((policy, max(options.budgets), options.budgets))
    return runs


def scoring_setup(options: ReplayOptions) -> ScoringSetup:
    tokenizer = load_tokenizer()
    return ScoringSetup(
        tokenizer,
        MessageCounter(tokenizer),
        options.tables,
        min(options.budgets),
        options.pictures,
        options.why,
    )


class RecordingSources(Struct, frozen=True):
    """All recordings of some files, or `sample` of each, spread evenly from the first to the last; and logs."""

    files: tuple[Path | StoredLog, ...]
    format: str | None = None
    sample: int = 0
    read: dict[Path, RecordingFile] = {}
    """Files by path once they have been read to their end, for `check_complete`."""

    def load(self) -> tuple[int, int]:
        """How many recordings there are, and their size. Reads every file once, so that a bad one is refused before
        any work and time left can be told."""
        sizes = [job.unread.size for job in self.jobs()]
        if not sizes:
            raise InputError(f"there is no recording in {', '.join(path.name for path in self.files)}")
        return len(sizes), sum(sizes)

    def jobs(self) -> Iterator[ReplayJob]:
        seen: set[str] = set()
        number = 0
        for path in self.files:
            for unread in [path.unread()] if isinstance(path, StoredLog) else self._unread(path):
                # The same id again is another recording all the same: figures are paired by id.
                again = (f"{unread.id} ({turn})" for turn in count(2))
                id_ = next(id_ for id_ in chain((unread.id,), again) if id_ not in seen)
                seen.add(id_)
                yield ReplayJob(number, id_, path.name, unread)
                number += 1

    def _unread(self, path: Path) -> Iterator[LazyRecording]:
        chosen: set[int] | None = None
        if self.sample:
            found = sum(1 for _ in scan_recordings(path, self.format))
            spread = range(min(self.sample, found))
            chosen = {round(place * (found - 1) / max(len(spread) - 1, 1)) for place in spread}
        file = RecordingFile(path)
        for at, unread in enumerate(scan_recordings(file, self.format)):
            if chosen is None or at in chosen:
                yield unread
        self.read[path] = file
