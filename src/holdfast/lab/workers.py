"""Who does the jobs of a replay or a fit: this process, others of this machine, or those of a cluster.

Rule: outcomes come in the order of the jobs. No more jobs are out than there are workers, plus one to spare, so
that memory is bounded by the largest recordings. A worker that dies takes nobody else's job with it, and its own is
done again. Workers of every kind go through the same loop, `run_jobs`.
"""

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from typing import Generic, Protocol, TypeVar

from holdfast.lab.jobs import JobOutcome, ReplayJob, ReplayOptions

T = TypeVar("T")

STOP_SECONDS = 2.0
"""Seconds that a worker has to end when told to."""
HASH_SEED = "PYTHONHASHSEED"

Work = Callable[[ReplayOptions, ReplayJob], T]
"""What is done with a job. It can be pickled, and so can what it returns."""
Submit = Callable[[ReplayJob], Callable[[], T | JobOutcome]]
"""Gives a job to a worker; what it returns waits for the outcome."""


class Workers(Protocol):
    """`count` is how many jobs they do at a time."""

    @property
    def count(self) -> int: ...

    def opened(self, work: Work[T], options: ReplayOptions) -> AbstractContextManager[Submit[T]]:
        """Ready for this work until the context ends, which ends jobs that are still under way."""
        ...

    def with_hash_seed(self, seed: str) -> "Workers":
        """Others like these, in processes of their own that hash with this seed."""
        ...


def available_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_jobs(
    work: Work[T],
    options: ReplayOptions,
    jobs: Iterable[ReplayJob],
    workers: Workers,
    done: Callable[[int], None] = lambda _: None,
) -> Iterator[T | JobOutcome]:
    """Outcomes in the order of the jobs; after each, `done` is told its size."""
    spare = workers.count if workers.count > 1 else 0
    out: deque[tuple[ReplayJob, Callable[[], T | JobOutcome]]] = deque()
    waiting = iter(jobs)
    with workers.opened(work, options) as submit:
        while True:
            while len(out) <= spare and (job := next(waiting, None)) is not None:
                out.append((job, submit(job)))
            if not out:
                return
            job, outcome = out.popleft()
            yield outcome()
            done(job.size)


class LocalWorkers:
    """Processes of this machine. Where one is enough, the work is done in this one."""

    def __init__(self, count: int, environment: Mapping[str, str] | None = None) -> None:
        self.count = count
        self._environment = environment or {}

    @contextmanager
    def opened(self, work: Work[T], options: ReplayOptions) -> Iterator[Submit[T]]:
        if self.count == 1:
            yield lambda job: partial(work, options, job)
            return
        with _environment(self._environment), closing(_ProcessPool(self.count, work, options)) as pool:
            yield pool.submit

    def with_hash_seed(self, seed: str) -> "LocalWorkers":
        return LocalWorkers(max(self.count, 2), {HASH_SEED: seed})


THIS_PROCESS = LocalWorkers(1)


class _ProcessPool(Generic[T]):
    def __init__(self, processes: int, work: Work[T], options: ReplayOptions) -> None:
        self._others = multiprocessing.active_children()
        self._processes, self._work, self._options = processes, work, options
        self._pool = self._new_pool()

    def _new_pool(self) -> ProcessPoolExecutor:
        # Fresh interpreters: a fork would copy whatever threads and locks this process has.
        return ProcessPoolExecutor(self._processes, multiprocessing.get_context("spawn"))

    def submit(self, job: ReplayJob) -> Callable[[], T | JobOutcome]:
        return partial(self._outcome, job, self._future(job))

    def _future(self, job: ReplayJob) -> Future[T]:
        # Ctrl-C reaches every process of a terminal and only the first shall act on it: workers start here, with
        # the signal held back, and never see it.
        with interrupts_held():
            try:
                return self._pool.submit(self._work, self._options, job)
            except BrokenProcessPool:
                self._pool.shutdown()
                self._pool = self._new_pool()
                return self._pool.submit(self._work, self._options, job)

    def _outcome(self, job: ReplayJob, future: Future[T]) -> T | JobOutcome:
        try:
            return future.result()
        except BrokenProcessPool:
            # Which of the jobs killed its worker is not known: each that is not done is tried again, alone.
            with closing(_ProcessPool(1, self._work, self._options)) as alone:
                return alone.last_outcome(job)

    def last_outcome(self, job: ReplayJob) -> T | JobOutcome:
        try:
            return self._future(job).result()
        except BrokenProcessPool:
            return JobOutcome(job.number, job.id, error="its process died")

    def close(self) -> None:
        """End the workers, busy or not: after Ctrl-C nobody wants to wait for a recording to finish."""
        own = [process for process in multiprocessing.active_children() if process not in self._others]
        for process in own:
            process.terminate()
        for process in own:
            process.join(STOP_SECONDS)
            process.kill()
        # Waits for the pool's own thread, which ends with its workers: at exit it would find a closed pipe.
        self._pool.shutdown(cancel_futures=True)


@contextmanager
def _environment(names: Mapping[str, str]) -> Iterator[None]:
    """Processes that start meanwhile have these variables."""
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back, also from threads and processes that are started meanwhile: those never see it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
