"""Jobs on several processes: in order, bounded, and nobody lost but whoever died."""

import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.lab.jobs import JobOutcome, ReplayJob, ReplayOptions, joined_outcomes
from holdfast.lab.replay import parts_of_each
from holdfast.lab.results import Score
from holdfast.lab.workers import LocalWorkers, available_processors, run_jobs
from holdfast.recordings.recording_files import LazyRecording
from support.waiting import wait_until

ORDER = ReplayOptions((), (), ())
DEADLINE = 60


def jobs(count: int, folder: Path | str = "") -> list[ReplayJob]:
    return [ReplayJob(n, f"job {n}", str(folder), LazyRecording("", str)) for n in range(count)]


def late_first(_: ReplayOptions, job: ReplayJob) -> tuple[str, int, set[int]]:
    """The job's name, who did it, and the signals that are held back there."""
    time.sleep(0 if job.number % 3 else 0.2)
    return job.id, os.getpid(), signal.pthread_sigmask(signal.SIG_BLOCK, set())


def fail(_: ReplayOptions, job: ReplayJob) -> None:
    raise ValueError(f"no {job.id}")


def die_when_told(_: ReplayOptions, job: ReplayJob) -> str:
    if job.number == 1:
        wait_until((Path(job.file) / "die").exists)
        os._exit(3)
    return job.id


def take_long(_: ReplayOptions, job: ReplayJob) -> str:
    if job.number:
        (Path(job.file) / f"began {job.number}").touch()
        time.sleep(DEADLINE)
    return job.id


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_outcomes_come_in_order_and_few_jobs_are_out_at_a_time(processes):
    out = most = 0

    def counted():
        nonlocal out, most
        for job in jobs(7):
            out += 1
            most = max(most, out)
            yield job

    found = []
    for outcome in run_jobs(late_first, ORDER, counted(), LocalWorkers(processes)):
        out -= 1
        found.append(outcome)
    assert [name for name, _, _ in found] == [f"job {n}" for n in range(7)]
    assert out == 0
    assert most == (processes + 1 if processes > 1 else 1)
    workers = {pid for _, pid, _ in found}
    assert workers == {os.getpid()} if processes == 1 else os.getpid() not in workers
    # Ctrl-C is for the first process, from the moment on that the others begin to be.
    assert all((signal.SIGINT in held) == (processes > 1) for _, _, held in found)
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, set())


def test_no_jobs_no_outcomes():
    assert list(run_jobs(late_first, ORDER, [], LocalWorkers(2))) == []


@pytest.mark.slow
def test_an_error_of_the_work_is_the_callers_and_processes_of_others_are_left_alone():
    other = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(DEADLINE,))
    other.start()
    try:
        with pytest.raises(ValueError, match="no job 0"):
            list(run_jobs(fail, ORDER, jobs(3), LocalWorkers(2)))
        assert multiprocessing.active_children() == [other]
    finally:
        other.kill()
        other.join()


@pytest.mark.slow
def test_a_worker_that_dies_while_nobody_looks_loses_its_own_job_only(tmp_path):
    """The next job is then given to a pool that is broken already."""
    running = run_jobs(die_when_told, ORDER, jobs(4, tmp_path), LocalWorkers(2))
    assert next(running) == "job 0"
    (tmp_path / "die").touch()
    wait_until(lambda: not multiprocessing.active_children())
    assert list(running) == [JobOutcome(1, "job 1", error="its process died"), "job 2", "job 3"]


@pytest.mark.slow
def test_who_has_seen_enough_ends_the_workers(tmp_path):
    running = run_jobs(take_long, ORDER, jobs(4, tmp_path), LocalWorkers(2))
    assert next(running) == "job 0"
    wait_until(lambda: len(list(tmp_path.iterdir())) == 2)
    running.close()
    # The pool's own thread may be the one that hears of a worker's end: it is known a moment later.
    wait_until(lambda: multiprocessing.active_children() == [])


def test_processors_are_those_this_process_may_use():
    if not hasattr(os, "sched_getaffinity"):
        pytest.skip("this system does not say which processors a process may use")
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert available_processors() == 1
    finally:
        os.sched_setaffinity(0, before)
    assert available_processors() == len(before)


@pytest.mark.parametrize(
    ("recordings", "runs", "workers", "parts"),
    [
        (1, 22, 1, 1),
        (1, 22, 2, 8),
        (1, 3, 2, 3),
        (2, 22, 3, 6),
        (5, 22, 3, 3),
        (12, 22, 3, 1),
        (99, 22, 3, 1),
    ],
)
def test_a_recording_is_split_only_where_there_are_few(recordings, runs, workers, parts):
    assert parts_of_each(recordings, runs, workers) == parts


@given(runs=st.lists(st.integers(), min_size=1), size=st.integers(0, 10**9), data=st.data())
def test_the_parts_of_a_job_are_the_whole_in_order(runs, size, data):
    parts = data.draw(st.integers(1, len(runs)))
    split = ReplayJob(0, "one", "", LazyRecording("", str, size)).split(parts)
    assert [run for job in split for run in job.share(runs)] == runs
    assert all(job.share(runs) for job in split)
    assert sum(job.size for job in split) == size


def test_a_recording_of_which_a_part_died_has_no_scores():
    score = Score("one", "p", "newest", 1_000, requests=3)
    done = JobOutcome(0, "one", ((score,), (score,)), ("a",), notes=("torn",))
    other = replace(done, number=1, id="two", dumped=("b",))
    died = JobOutcome(1, "two", error="its process died")
    assert list(joined_outcomes([done, replace(done, dumped=("c",)), other, died], 2)) == [
        JobOutcome(0, "one", ((score, score), (score, score)), ("a", "c"), notes=("torn",)),
        died,
    ]
