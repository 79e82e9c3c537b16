"""The tests with a real Ray cluster, in an environment that has Ray; and what is said where it is missing."""

import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
from peers.environments import CLUSTER, interpreter, is_standing

from cli.command_line import holdfast
from support.evidence_recordings import make_recording, write_recordings

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_tests_with_a_cluster_pass(tmp_path: Path) -> None:
    if not is_standing(CLUSTER):
        pytest.skip("Ray is not set up: python benchmarks/peers/environments.py ray")
    tests = Path(__file__).parent / "ray_cluster"
    command = [
        interpreter(CLUSTER),
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-m",
        "slow or not slow",
        tests,
    ]
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed")
@pytest.mark.parametrize("engine", ["ray", "ray:127.0.0.1:6379"])
def test_without_ray_it_is_named(tmp_path: Path, engine: str) -> None:
    path = write_recordings(tmp_path / "r.jsonl", make_recording("one", 4))
    done = holdfast("replay", path, "--engine", engine)
    assert (done.code, done.out) == (1, b"")
    assert "error: `--engine ray` needs Ray, which is not installed\nhint: run `pip install" in done.err


@pytest.mark.parametrize("engine", ["dask", "", "processes:2", "ray:", "RAY"])
def test_an_engine_that_there_is_not(tmp_path: Path, engine: str) -> None:
    path = write_recordings(tmp_path / "r.jsonl", make_recording("one", 4))
    done = holdfast("replay", path, "--engine", engine)
    assert (done.code, done.out) == (2, b"")
    assert f"error: `--engine {engine}` is not an engine\nhint: write `processes`, `ray` or" in done.err


def test_packs_are_written_by_processes_of_this_machine(tmp_path: Path) -> None:
    path = write_recordings(tmp_path / "r.jsonl", make_recording("one", 4))
    done = holdfast("replay", path, "--engine", "ray", "--dump", "packs.jsonl")
    assert (done.code, done.out) == (2, b"")
    assert "error: `--dump` is for processes of this machine\nhint: leave out `--engine`" in done.err
