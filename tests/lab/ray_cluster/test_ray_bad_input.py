"""Clusters that cannot be used: one sentence, a hint and an exit code, before any work and soon."""

import json
import socket
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from cli.command_line import Outcome, holdfast, process
from holdfast.lab import ray_cluster
from holdfast.version import __version__
from lab.ray_cluster.conftest import cluster
from support.evidence_recordings import make_recording, write_recordings

METADATA = """
import json, ray, sys
from ray._private.worker import global_worker
from ray._common.usage import usage_constants as names, usage_lib
from ray._private.ray_constants import KV_NAMESPACE_CLUSTER
ray.init(address=sys.argv[1], logging_level="error")
known = usage_lib.get_cluster_metadata(global_worker.gcs_client)
known.update(json.loads(sys.argv[2]))
global_worker.gcs_client.internal_kv_put(
    names.CLUSTER_METADATA_KEY, json.dumps(known).encode(), True, KV_NAMESPACE_CLUSTER
)
"""
"""Another driver writes into the cluster what it was started with."""


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return write_recordings(tmp_path / "r.jsonl", make_recording("one", 4))


def refused(done: Outcome, sentence: str, code: int = 2) -> None:
    assert (done.code, done.out) == (code, b""), done.err
    assert f"error: {sentence}" in done.err, done.err
    assert "\nhint: " in done.err
    assert len(done.err.splitlines()) == 2, done.err


@pytest.mark.parametrize("address", ["here", "127.0.0.1", "127.0.0.1:no", "//127.0.0.1:10001"])
def test_what_is_no_address(recording: Path, address: str) -> None:
    refused(
        holdfast("replay", recording, "--engine", f"ray:{address}"),
        f"`{address}` is not the address of a Ray cluster",
    )


def test_nobody_listens(recording: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    for engine in ("replay", "fit"):
        done = holdfast(engine, recording, "--engine", f"ray:127.0.0.1:{port}")
        refused(done, f"the Ray cluster at `127.0.0.1:{port}` cannot be reached: Connection refused")


def test_who_listens_is_not_ray(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_cluster, "ANSWER_SECONDS", 4.0)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        done = holdfast("replay", recording, "--engine", f"ray:127.0.0.1:{port}")
    refused(done, f"no Ray cluster answers at `127.0.0.1:{port}` within 4 seconds")


def test_no_cluster_runs_here(recording: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    done = holdfast("replay", recording, "--engine", f"ray:127.0.0.1:{2**17}")
    refused(done, f"the Ray cluster at `127.0.0.1:{2**17}` cannot be reached")


def test_another_python(recording: Path) -> None:
    with cluster(1) as place:
        address = place.split(" ")[0]
        told = json.dumps({"python_version": "3.10.1"})
        subprocess.run([sys.executable, "-c", METADATA, address, told], check=True)
        done = process("replay", recording, "--engine", f"ray:{address}")
    has = f"has Ray {version('ray')} and Python 3.10.1, and here are Ray {version('ray')} and Python 3."
    refused(done, f"the Ray cluster at `{address}` {has}")


def test_another_holdfast_or_none(recording: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "holdfast"
    other.mkdir(parents=True)
    (other / "__init__.py").touch()
    with cluster(1, PYTHONPATH=str(other.parent)) as place:
        address = place.split(" ")[0]
        for has, content in (
            ("Holdfast 9.9.9", '__version__ = "9.9.9"'),
            ("no Holdfast", "raise ImportError"),
        ):
            (other / "version.py").write_text(content)
            done = process("replay", recording, "--engine", f"ray:{address}")
            refused(done, f"node 127.0.0.1 of the Ray cluster at `{address}` has {has} and Python 3.")
            assert f"and here are Holdfast {__version__} and Python" in done.err


def test_no_memory(recording: Path) -> None:
    """Ray ends a worker where too little of the node's memory is free: here that is always so."""
    with cluster(1, RAY_memory_usage_threshold="0.01", RAY_memory_monitor_refresh_ms="50") as place:
        done = process(
            "replay",
            recording,
            "--budget",
            "1k",
            "--policy",
            "newest",
            "--engine",
            f"ray:{place.split(' ')[0]}",
        )
    assert done.code == 2, done.err
    assert "note: one was not replayed: its worker ran out of memory" in done.err
    assert "error: no recording could be replayed" in done.err
