"""A whole replay: recordings in, a report out.

Rule: recordings are read, replayed and forgotten one by one; what is left of each are its scores.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic

from msgspec.structs import replace

from holdfast.replay.gathering import Gathered, Wish, all_short
from holdfast.replay.jobs.checks import OTHER_SEED, Verdict, check_job
from holdfast.replay.jobs.pool import Died, run_jobs
from holdfast.replay.jobs.sources import Load, Sources
from holdfast.replay.jobs.work import Job, Outcome, replay_job
from holdfast.replay.order import Order
from holdfast.replay.results import Report

CHECKED = 6
"""Recordings that are replayed again for the checks."""

SEED = "PYTHONHASHSEED"


def replay(
    order: Order,
    sources: Sources,
    load: Load,
    wish: Wish,
    *,
    processes: int = 1,
    done: Callable[[int], None] = lambda _: None,
    dump: Callable[[str], None] = lambda _: None,
) -> Report:
    """Replay all recordings of the sources. Ctrl-C ends it early, with what there is, and the report says so.

    `done` is told the size of each recording that is finished, `dump` the file with its packs.
    """
    began = monotonic()
    gathered = Gathered(order, wish)
    partial = ""
    try:
        sizes: dict[int, int] = {}
        jobs = _noting(sources.jobs(), sizes)
        for outcome in run_jobs(replay_job, order, jobs, processes):
            gathered.take(outcome)
            if isinstance(outcome, Outcome) and outcome.dumped:
                dump(outcome.dumped)
            done(sizes.pop(outcome.number))
        if gathered.short and not gathered.kept:
            raise all_short(order)
        verdicts = _checked(order, sources, gathered.kept, processes) if wish.checks else []
    except KeyboardInterrupt:
        partial = f"interrupted after {len(gathered.kept) + gathered.short} of {load.recordings} recordings"
        verdicts = []
    report = gathered.report(sources.files, verdicts)
    return replace(report, partial=partial, seconds=monotonic() - began)


def _noting(jobs: Iterable[Job], sizes: dict[int, int]) -> Iterator[Job]:
    for job in jobs:
        sizes[job.number] = job.unread.size
        yield job


def _checked(order: Order, sources: Sources, kept: Sequence[int], processes: int) -> list[Verdict]:
    """Some recordings, spread over those kept, once more in other processes with another hash seed."""
    chosen = {*kept[:: max(len(kept) // CHECKED, 1)]}
    sample = (job for job in sources.jobs() if job.number in chosen)
    with _hashing_differently():
        found = run_jobs(check_job, order, sample, max(processes, 2))
        return [verdict for verdicts in found if not isinstance(verdicts, Died) for verdict in verdicts]


@contextmanager
def _hashing_differently() -> Iterator[None]:
    before = os.environ.get(SEED)
    os.environ[SEED] = OTHER_SEED
    try:
        yield
    finally:
        if before is None:
            del os.environ[SEED]
        else:
            os.environ[SEED] = before
