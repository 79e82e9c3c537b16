"""Tests with a real Ray cluster of three workers, in an environment that has Ray (tests/lab/test_ray_cluster.py).

A cluster listens on loopback only, keeps everything in a temporary folder and reports to nobody. Its processes
carry a mark in their environment, so that none outlives the tests, however they end.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.waiting import wait_until

if find_spec("ray") is None:
    collect_ignore_glob = ["test_*.py"]

MARK = "HOLDFAST_TEST_CLUSTER"
ALONE = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "disabled",
}
"""For every process that uses Ray: loopback instead of the network's address, and no token in the home."""
START = ("start", "--head", "--node-ip-address=127.0.0.1", "--port=0", "--include-dashboard=false")
SMALL = ("--disable-usage-stats", "--object-store-memory=100000000", "--block")


def marked(mark: str) -> list[int]:
    """Processes with this mark in their environment that are still at work."""
    found: list[int] = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            ended = (place / "stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
            if f"{MARK}={mark}".encode() in (place / "environ").read_bytes().split(b"\0") and not ended:
                found.append(int(place.name))
    return found


def tasks(mark: str) -> list[int]:
    """Workers of a cluster that do a job right now: Ray puts its name into theirs."""
    return [pid for pid in marked(mark) if b"ray::do_job" in _command_line(pid)]


def _command_line(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


@contextmanager
def cluster(workers: int, **environment: str) -> Iterator[str]:
    """The address of a cluster with so many workers; its mark is its folder, which is the address's too."""
    folder = tempfile.mkdtemp(prefix="hf-ray-", dir="/tmp")
    environment = {**os.environ, **ALONE, "HOME": folder, MARK: folder, **environment}
    command = [sys.executable, "-m", "ray.scripts.scripts", *START, f"--num-cpus={workers}", *SMALL]
    with (Path(folder) / "output").open("wb") as output:
        started = subprocess.Popen(
            [*command, f"--temp-dir={folder}"],
            env=environment,
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
        )
    try:
        wait_until((Path(folder) / "ray_current_cluster").exists)
        wait_until(lambda: b"Ray runtime started" in (Path(folder) / "output").read_bytes())
        yield (Path(folder) / "ray_current_cluster").read_text().strip() + " " + folder
    finally:
        while found := marked(folder):
            for pid in found:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        started.wait()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def three() -> Iterator[tuple[str, str]]:
    """The engine and the mark of a cluster with three workers."""
    with cluster(3) as place:
        address, mark = place.split(" ")
        yield f"ray:{address}", mark


@pytest.fixture(scope="session", autouse=True)
def _on_loopback() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ALONE.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
