"""Jobs on a cluster: in order, bounded, and recordings by reference."""

import os
import signal
import sys
from collections.abc import Iterator

import pytest

from holdfast.errors import HoldfastError, InputError
from holdfast.events import Recording
from holdfast.lab.jobs import ReplayJob, ReplayOptions
from holdfast.lab.ray_cluster import connected
from holdfast.lab.workers import run_jobs
from holdfast.recordings.recording_files import LazyRecording
from support.evidence_recordings import make_recording

ORDER = ReplayOptions((), (), ())


class CountedReading:
    """Reads nothing, and counts how often it is pickled to be sent away."""

    def __init__(self, sent: list[str], name: str) -> None:
        self.sent, self.name = sent, name

    def __call__(self) -> Recording:
        return Recording(self.name, "test", ())

    def __reduce__(self) -> tuple[object, ...]:
        self.sent.append(self.name)
        return CountedReading, ([], self.name)


@pytest.fixture(scope="module")
def ray_workers(three: tuple[str, str]) -> Iterator[object]:
    with connected(three[0].removeprefix("ray:"), 2, 1) as count:
        import ray  # noqa: PLC0415 - as the command does

        from holdfast.lab.ray_workers import RayWorkers  # noqa: PLC0415

        # Workers do not have this module.
        ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
        yield RayWorkers(count)


def read_and_name(_: ReplayOptions, job: ReplayJob) -> tuple[str, int, int, bool]:
    held = signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, set())
    return job.unread.read().id, job.part, os.getpid(), held


def refuse(_: ReplayOptions, job: ReplayJob) -> None:
    raise InputError(f"no {job.id}", hint="another")


def jobs(count: int, sent: list[str], parts: int) -> Iterator[ReplayJob]:
    for n in range(count):
        unread = LazyRecording(f"r{n}", CountedReading(sent, f"r{n}"), 100)
        yield from ReplayJob(n, f"r{n}", "", unread).split(parts)


def test_in_order_few_at_a_time_and_each_recording_once(ray_workers) -> None:
    assert ray_workers.count == 2
    sent: list[str] = []
    out = most = 0

    def counted() -> Iterator[ReplayJob]:
        nonlocal out, most
        for job in jobs(6, sent, 3):
            out += 1
            most = max(most, out)
            yield job

    found = []
    for outcome in run_jobs(read_and_name, ORDER, counted(), ray_workers):
        out -= 1
        found.append(outcome)
    assert [(name, part) for name, part, _, _ in found] == [
        (f"r{n}", part) for n in range(6) for part in range(3)
    ]
    assert most == 3
    assert sent == [f"r{n}" for n in range(6)]
    assert os.getpid() not in {pid for _, _, pid, _ in found}
    assert all(held for *_, held in found)


def test_an_error_of_the_work_is_the_callers(ray_workers) -> None:
    with pytest.raises(InputError) as refused:
        list(run_jobs(refuse, ORDER, jobs(1, [], 1), ray_workers))
    assert (refused.value.message, refused.value.hint) == ("no r0", "another")


def test_a_module_that_only_workers_lack_is_named(ray_workers) -> None:
    with pytest.raises(HoldfastError) as refused:
        list(run_jobs(make_recording, ORDER, jobs(1, [], 1), ray_workers))
    assert refused.value.message.startswith("a worker of the Ray cluster cannot begin: ")
    assert "No module named 'support'" in refused.value.message


def test_a_worker_of_another_version_refuses() -> None:
    from holdfast.lab.ray_workers import do_job  # noqa: PLC0415 - as the command does

    with pytest.raises(
        HoldfastError, match=r"a worker of the Ray cluster has Holdfast .*, not 9\.9"
    ) as refused:
        do_job(
            ("9.9", read_and_name, ORDER),
            LazyRecording("", str),
            ReplayJob(0, "", "", LazyRecording("", str)),
        )
    assert "the same versions" in refused.value.hint
