"""Replays on a Ray cluster of this machine, with 1, 2 and 3 workers, beside `--jobs` 1 and 2: time as a ratio.

    python benchmarks/peers/environments.py ray
    benchmarks/peers/.envs/ray/bin/python benchmarks/ray_replay.py [RECORDINGS...] [--sample N]

Every figure is of this run: the time from the first job to the last outcome, divided by that of one process.
Starting the cluster is apart, in seconds. Without recordings, an example of this repository is taken three times.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter

from holdfast.lab.jobs import RecordingSources, ReplayOptions
from holdfast.lab.policies.registry import DEFAULT_NAMES
from holdfast.lab.ray_cluster import connected
from holdfast.lab.replay import ReportOptions, replay
from holdfast.lab.workers import LocalWorkers, Workers, available_processors
from holdfast.packing.profile import BUILT_IN as PROFILES
from holdfast.prices import BUILT_IN as PRICES

EXAMPLE = Path(__file__).parents[1] / "examples" / "recordings" / "inventory.jsonl"
LOCAL, ON_RAY = (1, 2), (1, 2, 3)


def timed(sources: RecordingSources, workers: Workers) -> tuple[float, list[object]]:
    """Seconds, and the figures: they must not depend on the workers."""
    options = ReplayOptions(
        tuple(DEFAULT_NAMES), (16_000, 32_000), tuple(PRICES.values()), profiles=dict(PROFILES)
    )
    count, _ = sources.load()
    began = perf_counter()
    report = replay(options, sources, count, ReportOptions(draws=1), workers=workers)
    seconds = perf_counter() - began
    return seconds, [(row.policy, row.budget, row.hard, row.dollars) for row in report.rows]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="ray_replay.py")
    parser.add_argument("recordings", nargs="*", type=Path, default=[EXAMPLE] * 3)
    parser.add_argument("--sample", type=int, default=0)
    given = parser.parse_args(arguments)
    sources = RecordingSources(tuple(given.recordings), sample=given.sample)
    count, size = sources.load()
    print(f"{count} recordings, {size / 1e6:.1f} MB, {available_processors()} processors\n", flush=True)
    print(
        "| workers | seconds | ratio to one process | start, seconds |\n| --- | --- | --- | --- |", flush=True
    )
    base, first = 0.0, None
    for engine, number in [*(("processes", n) for n in LOCAL), *(("ray", n) for n in ON_RAY)]:
        began = perf_counter()
        with ExitStack() as stack:
            workers: Workers = LocalWorkers(number)
            if engine == "ray":
                stack.enter_context(connected("", number, number))
                from holdfast.lab.ray_workers import RayWorkers  # noqa: PLC0415 - it imports Ray

                workers = RayWorkers(number)
            start = perf_counter() - began
            seconds, figures = timed(sources, workers)
        base, first = base or seconds, first or figures
        if figures != first:
            print(f"{engine} {number} has other figures", file=sys.stderr)
            return 1
        print(f"| {engine} {number} | {seconds:.1f} | {seconds / base:.2f} | {start:.1f} |", flush=True)
    return 0


if __name__ == "__main__":
    os.environ.pop("RAY_ADDRESS", None)
    sys.exit(main(sys.argv[1:]))
