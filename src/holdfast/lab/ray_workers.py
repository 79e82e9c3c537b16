"""Processes of a Ray cluster as workers.

Rule: a recording travels by reference. It is put into the cluster's memory once, however many jobs share it, and
let go with the last of them; the workers hold no more than one each. Only `--engine ray` imports this module.
"""

import pickle
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Generic, NoReturn, TypeVar

import ray
from msgspec.structs import replace
from ray import exceptions

from holdfast.errors import HoldfastError
from holdfast.lab.jobs import JobOutcome, ReplayJob, ReplayOptions
from holdfast.lab.ray_cluster import SAME_VERSIONS
from holdfast.lab.workers import HASH_SEED, Submit, Work
from holdfast.recordings.recording_files import LazyRecording
from holdfast.version import __version__

T = TypeVar("T")

MISSING = "No module named"
"""What Ray says of a worker that lacks a module."""
RETRIES = 3
"""How often a job is done again whose worker died."""


class RayWorkers:
    """Up to `count` processes of the cluster that this one is connected to."""

    def __init__(self, count: int, environment: Mapping[str, str] | None = None) -> None:
        self.count = count
        self._environment = dict(environment or {})

    @contextmanager
    def opened(self, work: Work[T], options: ReplayOptions) -> Iterator[Submit[T]]:
        tasks = _RayTasks(work, options, self._environment)
        try:
            yield tasks.submit
        except exceptions.RayError as error:
            raise _raised_by(error) from None
        finally:
            tasks.cancel()

    def with_hash_seed(self, seed: str) -> "RayWorkers":
        return RayWorkers(self.count, {HASH_SEED: seed})


class _RayTasks(Generic[T]):
    """The tasks of one piece of work, and those of them whose outcome nobody has yet."""

    def __init__(self, work: Work[T], options: ReplayOptions, environment: dict[str, str]) -> None:
        runtime = {"env_vars": environment} if environment else None
        self._start = ray.remote(num_cpus=1, max_retries=RETRIES, runtime_env=runtime)(do_job).remote
        self._what = ray.put((__version__, work, options))
        self._newest: tuple[int, Any] = (-1, None)
        """The recording that was put last: jobs that share one follow one another."""
        self._out: list[Any] = []

    def submit(self, job: ReplayJob) -> Callable[[], T | JobOutcome]:
        if self._newest[0] != job.number:
            self._newest = (job.number, ray.put(job.unread.detached()))
        task = self._start(self._what, self._newest[1], replace(job, unread=LazyRecording(job.id, _apart)))
        self._out.append(task)
        return partial(self._outcome, job, task)

    def _outcome(self, job: ReplayJob, task: Any) -> T | JobOutcome:
        try:
            outcome: T = pickle.loads(ray.get(task))  # noqa: S301 - written by a worker of ours
        except exceptions.OutOfMemoryError:
            return JobOutcome(job.number, job.id, error="its worker ran out of memory")
        except (exceptions.WorkerCrashedError, exceptions.NodeDiedError):
            return JobOutcome(job.number, job.id, error="its process died")
        self._out.remove(task)
        return outcome

    def cancel(self) -> None:
        """End what is still under way, and nothing else in the cluster.

        What is done is let alone: Ray 2.60 may end this process where a task ends as it is cancelled.
        """
        if self._out:
            for task in ray.wait(self._out, num_returns=len(self._out), timeout=0)[1]:
                ray.cancel(task, force=True)


def _apart() -> NoReturn:
    raise AssertionError("a recording travels apart from its job")


def do_job(what: tuple[str, Work[T], ReplayOptions], unread: LazyRecording, job: ReplayJob) -> bytes:
    """What runs on a worker. Its answer is pickled here, so that the receiver has a copy of its own."""
    # Ctrl-C is for the process that the person sees.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    version, work, options = what
    if version != __version__:
        # A node that has joined since the versions were compared.
        raise HoldfastError(
            f"a worker of the Ray cluster has Holdfast {__version__}, not {version}", hint=SAME_VERSIONS
        )
    return pickle.dumps(work(options, replace(job, unread=unread)))


def _raised_by(error: BaseException) -> BaseException:
    """What the work raised, or what is wrong with the cluster."""
    cause = error.cause if isinstance(error, exceptions.RayTaskError) else error
    said = next(iter(str(cause).strip().splitlines()), "") or type(cause).__name__
    if isinstance(cause, ImportError) or MISSING in said:
        return HoldfastError(f"a worker of the Ray cluster cannot begin: {said}", hint=SAME_VERSIONS)
    if isinstance(cause, exceptions.RayError):
        return HoldfastError(
            f"the Ray cluster failed: {said}",
            hint="`ray status` shows its nodes; nothing was lost, so the command can be run again",
        )
    return cause
