"""Examples to learn from: at every fold of a recording, what it folded, and what later actions used of that.

Rule: features know the log up to the fold, and only the label knows what came later. The label is the value
itself: how many later actions used the line or the name, each counted by its share of the action's needs, later
ones less.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import blake2b

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple
from numpy.typing import NDArray

from holdfast.errors import ContextOverflow, InputError
from holdfast.lab.evidence.needs import Study, later_use
from holdfast.lab.jobs import JobOutcome, RecordingSources, ReplayJob, ReplayOptions, prepare
from holdfast.lab.policies.profile_policy import WindowFeed
from holdfast.lab.policy import LaterUse, Task
from holdfast.lab.replay import all_too_short, short_notes, shortened
from holdfast.lab.report.figures import budget as shown_budget
from holdfast.lab.workers import THIS_PROCESS, Workers, run_jobs
from holdfast.packing.folding.draft import FoldDraft
from holdfast.packing.lines.features import (
    LINE_FEATURES,
    NAME_FEATURES,
    fixed_line_features,
    fixed_name_features,
    line_facts,
    rough_tokens,
)
from holdfast.packing.lines.line_index import SHORTEST_SCORED_NAME, IndexedLine, LogLineIndex
from holdfast.packing.lines.scoring import SHORTEST_QUOTE, candidate_lines
from holdfast.packing.lines.weights import HAND_WEIGHTS
from holdfast.packing.log_walk import fold_if_due
from holdfast.packing.profile import Profile
from holdfast.packing.window import Window

UNUSED_SAMPLE = 5
"""One in this many of what nothing used is kept as an example, and counts for as many."""

Example = tuple[tuple[float, ...], float, float, int]
"""Features, later use, how many examples it counts for, and tokens."""


class ExampleRows(Struct, frozen=True, eq=False):
    """Examples as columns, since a recording has millions of numbers. `folds` says which fold a row is of."""

    values: NDArray[np.float32]
    uses: NDArray[np.float32]
    counts: NDArray[np.float32]
    sizes: NDArray[np.float32]
    folds: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.uses)

    @property
    def used(self) -> int:
        return int(np.count_nonzero(self.uses))


class RecordingExamples(Struct, frozen=True, eq=False):
    recording: str
    project: str
    lines: ExampleRows
    names: ExampleRows
    folds: int


def examples_of(study: Study, profile: Profile, tasks: Sequence[Task]) -> RecordingExamples:
    """The examples of one recording at every budget."""
    lines, names = [_arrays((), 0, len(LINE_FEATURES))], [_arrays((), 0, len(NAME_FEATURES))]
    folds = 0
    for task in tasks:
        # Weights that never change: what is learned must not depend on what was learned before.
        feed = WindowFeed(profile, task, HAND_WEIGHTS)
        messages = [turn.message for turn in study.case.turns if turn.message is not None]
        for number, request in enumerate(study.requests):
            feed.read(messages[: request.before], request.at)
            folded = False
            with suppress(ContextOverflow):
                # Where nothing can be sent at this budget, the recording goes on all the same.
                folded = bool(fold_if_due(feed.window))
            if folded:
                found_lines, found_names = rows_of(feed.window, *later_use(study, number))
                lines.append(_arrays(found_lines, folds, len(LINE_FEATURES)))
                names.append(_arrays(found_names, folds, len(NAME_FEATURES)))
                folds += 1
    return RecordingExamples(study.case.id, study.case.project, _joined(lines), _joined(names), folds)


def rows_of(
    window: Window, later_lines: LaterUse, later_names: LaterUse
) -> tuple[list[Example], list[Example]]:
    """Lines and names that a fold dropped, as a choice among them would see them."""
    view = window.view()
    line_index, draft = view.line_index, FoldDraft(view)
    shown = draft.shown_lines()
    lines = candidate_lines(line_index, draft.folded(), shown)
    names = sorted({name for line in lines for name in line.names} - shown.names)
    return (
        [row for line in lines if (row := _line(line_index, line, later_lines)) is not None],
        [row for text in names if (row := _name(line_index, text, later_names)) is not None],
    )


def _line(line_index: LogLineIndex, line: IndexedLine, later: LaterUse) -> Example | None:
    if len(line.key) < SHORTEST_QUOTE:
        return None
    use = max(later.get(line.key, 0.0), later.get(line.text.strip(), 0.0))
    if not use and not is_sampled(line.key, line_index.step):
        return None
    return line_features(line_index, line), use, 1.0 if use else float(UNUSED_SAMPLE), line.size


def _name(line_index: LogLineIndex, text: str, later: LaterUse) -> Example | None:
    use = later.get(text, 0.0)
    if len(text) < SHORTEST_SCORED_NAME or (not use and not is_sampled(text, line_index.step)):
        return None
    return name_features(line_index, text), use, 1.0 if use else float(UNUSED_SAMPLE), rough_tokens(text)


def is_sampled(key: str, step: int) -> bool:
    """The same every time; another choice at another step, so that every line has its turn."""
    digest = blake2b(f"{step} {key}".encode("utf-8", "replace"), digest_size=4).digest()
    return int.from_bytes(digest, "big") % UNUSED_SAMPLE == 0


def line_features(line_index: LogLineIndex, line: IndexedLine) -> tuple[float, ...]:
    source, text = line.source, line.text
    row = line.number - source.first_row
    fixed = fixed_line_features(line_facts(text), text, source.origin, source.kind, row, source.rows)
    return (*fixed, *line_index.line_features(line))


def name_features(line_index: LogLineIndex, text: str) -> tuple[float, ...]:
    name = line_index.names[text]
    return (*fixed_name_features(text, name.is_own), *line_index.name_features(text, name))


def _arrays(rows: Sequence[Example], fold: int, features: int) -> ExampleRows:
    values, uses, counts, sizes = zip(*rows, strict=True) if rows else ((), (), (), ())
    return ExampleRows(
        np.array(values, np.float32).reshape(len(rows), features),
        np.array(uses, np.float32),
        np.array(counts, np.float32),
        np.array(sizes, np.float32),
        np.full(len(rows), fold, np.int32),
    )


def _joined(parts: Sequence[ExampleRows]) -> ExampleRows:
    return ExampleRows(*map(np.concatenate, zip(*map(astuple, parts), strict=True)))


class GatheredExamples(Struct, frozen=True):
    """`examples` are of recordings with at least one fold."""

    examples: list[RecordingExamples]
    recordings: int
    """Those shorter than `--at-least` do not count."""
    notes: list[str]


def gather_examples(
    options: ReplayOptions,
    sources: RecordingSources,
    *,
    workers: Workers = THIS_PROCESS,
    done: Callable[[int], None] = lambda _: None,
) -> GatheredExamples:
    """The examples of all recordings, in the same order however many workers there are.

    `done` is told the size of each recording that is finished.
    """
    examples: list[RecordingExamples] = []
    notes: list[str] = []
    read = short = unfolded = 0
    for outcome in run_jobs(examples_job, options, sources.jobs(), workers, done):
        read += 1
        if isinstance(outcome, RecordingExamples):
            if outcome.folds:
                examples.append(outcome)
            else:
                unfolded += 1
        elif outcome.short:
            short += 1
        else:
            notes.append(f"{outcome.id} was left out: {outcome.error}")
    if short and short == read:
        raise all_too_short(options)
    at = " or ".join(map(shown_budget, options.budgets))
    if not examples:
        raise InputError(
            f"no recording is long enough to fold at {at}",
            hint="give longer recordings, or a smaller `--budget`",
        )
    told = [*shortened(notes), *short_notes(options, short, read)]
    if unfolded:
        told.append(f"too short to fold at {at}, and so left out: {unfolded} of {read - short} recordings")
    return GatheredExamples(examples, read - short, told)


def examples_job(options: ReplayOptions, job: ReplayJob) -> RecordingExamples | JobOutcome:
    """What a worker does with a recording; an outcome says why there are no examples."""
    prepared = prepare(options, job)
    if isinstance(prepared, JobOutcome):
        return prepared
    study, setup = prepared
    tasks = [Task(budget, setup.counter.total) for budget in options.budgets]
    return examples_of(study, options.fitted_profile, tasks)
