"""Jobs on several processes, their outcomes in order.

Rule: no more jobs are out than there are processes, plus one to spare, so that memory is bounded by the largest
recordings; a worker that dies takes nobody else's outcome with it.
"""

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from typing import TypeVar

from msgspec import Struct

from holdfast.lab.jobs import ReplayJob, ReplayOptions

T = TypeVar("T")
Work = Callable[[ReplayOptions, ReplayJob], T]

PATIENCE = 2.0
"""Seconds that a worker has to end when told to."""


class WorkerDied(Struct, frozen=True):
    """The process that worked on a job ended without a word."""

    number: int
    id: str
    error: str = "its process died"
    short: bool = False


def available_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_jobs(
    work: Work[T],
    options: ReplayOptions,
    jobs: Iterable[ReplayJob],
    processes: int,
    done: Callable[[int], None] = lambda _: None,
) -> Iterator[T | WorkerDied]:
    """Outcomes in the order of the jobs; after each, `done` is told the size of its recording.

    With one process the work is done in this one.
    """
    if processes == 1:
        for only in jobs:
            yield work(options, only)
            done(only.unread.size)
        return
    others = multiprocessing.active_children()
    pool = _pool(processes)
    out: deque[tuple[ReplayJob, Future[T]]] = deque()
    waiting = iter(jobs)
    try:
        while True:
            while len(out) <= processes and (job := next(waiting, None)) is not None:
                out.append((job, _submitted(pool, work, options, job)))
            if not out:
                return
            job, future = out.popleft()
            try:
                outcome = future.result()
            except BrokenProcessPool:
                # Which of the jobs killed its worker is not known: each that is not done is tried again, alone.
                pool.shutdown()
                left = [(job, future), *out]
                out.clear()
                for job, future in left:
                    broken = isinstance(future.exception(), BrokenProcessPool)
                    yield _alone(work, options, job) if broken else future.result()
                    done(job.unread.size)
                pool = _pool(processes)
                continue
            yield outcome
            done(job.unread.size)
    finally:
        _stop(pool, others)


def _alone(work: Work[T], options: ReplayOptions, job: ReplayJob) -> T | WorkerDied:
    others = multiprocessing.active_children()
    pool = _pool(1)
    try:
        return _submitted(pool, work, options, job).result()
    except BrokenProcessPool:
        return WorkerDied(job.number, job.id)
    finally:
        _stop(pool, others)


def _pool(processes: int) -> ProcessPoolExecutor:
    # Fresh interpreters: a fork would copy whatever threads and locks this process has.
    return ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"))


def _submitted(pool: ProcessPoolExecutor, work: Work[T], options: ReplayOptions, job: ReplayJob) -> Future[T]:
    """The future of a job. Where the pool broke since, the future says so, as those of jobs under way do.

    Ctrl-C reaches every process of a terminal and only the first shall act on it: workers start here, with the
    signal held back, and never see it.
    """
    try:
        with interrupts_held():
            return pool.submit(work, options, job)
    except BrokenProcessPool as error:
        broken: Future[T] = Future()
        broken.set_exception(error)
        return broken


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back, also from threads and processes that are started meanwhile: those never see it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _stop(pool: ProcessPoolExecutor, others: Sequence[BaseProcess]) -> None:
    """End the workers, busy or not: after Ctrl-C nobody wants to wait for a recording to finish."""
    own = [process for process in multiprocessing.active_children() if process not in others]
    for process in own:
        process.terminate()
    for process in own:
        process.join(PATIENCE)
        process.kill()
    # Waits for the pool's own thread, which ends with its workers: at exit it would find a closed pipe.
    pool.shutdown(cancel_futures=True)
