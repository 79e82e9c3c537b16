"""`holdfast replay` and `holdfast fit` on a cluster of three workers: the figures of `--jobs`, whatever happens."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import Outcome, command, holdfast, process
from lab.ray_cluster.conftest import MARK, marked, tasks
from support.evidence_recordings import make_recording, replies, write_policy, write_recordings
from support.fit_recordings import BUDGET, write_fit_recordings
from support.waiting import wait_until

MEASURED = ("p50_ms", "p95_ms", "worst_ms", "growth", "peak_mb")
PROFILE = """
[profile.lines]
extends = "code"
excerpt_ratio = 0.9
fold_to_ratio = 0.6
first_sight_ratio = 0.25
recent_ratio = 0.1
steps_floor = 1
"""
SLEEPY = """
if "slow" in messages[0]["content"] and not (Path(__file__).parent / "awake").exists():
    (Path(__file__).parent / f"began {messages[0]['content']}").touch()
    time.sleep(60)
return messages[-3:]
"""
DEADLY = """
if "deadly" in messages[0]["content"]:
    os._exit(3)
return messages[-3:]
"""


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    made = [make_recording(f"r{n}", 10 + 2 * n, source=f"project {n % 2}") for n in range(4)]
    return write_recordings(tmp_path / "r.jsonl", *made)


@pytest.fixture
def slow(tmp_path: Path) -> list[object]:
    """A replay whose first recording is quick, and the others are not, until there is a file `awake`."""
    path = write_recordings(
        tmp_path / "s.jsonl", *(make_recording(name, 4) for name in ("quick", "slow1", "slow2"))
    )
    policy = write_policy(tmp_path, "sleepy", SLEEPY, "import time\nfrom pathlib import Path\n")
    return ["replay", path, "--budget", "1k", "--policy", policy, "--json"]


def figures(done: Outcome) -> bytes:
    """All of a report but the time and the memory it took, as bytes."""
    assert done.code == 0, done.err
    report: dict[str, Any] = done.json
    del report["seconds"]
    report["rows"] = [{key: v for key, v in row.items() if key not in MEASURED} for row in report["rows"]]
    return json.dumps(report).encode()


def test_a_replay_gives_the_same_bytes_whatever_the_workers(recordings: Path, three: tuple[str, str]) -> None:
    told = ("replay", recordings, "--budget", "1k,2k", "--policy", "newest,mask,code", "--why", "--json")
    local = process(*told, "--jobs", 1)
    assert json.loads(local.out)["needs"] > 0
    assert figures(process(*told, "--jobs", 2)) == figures(local)
    for workers in (1, 2, 3):
        done = process(*told, "--engine", three[0], "--jobs", workers)
        assert figures(done) == figures(local)
        assert done.err == local.err


def test_a_fit_gives_the_same_bytes(three: tuple[str, str], tmp_path: Path) -> None:
    files = [
        write_fit_recordings(tmp_path / f"{name}.jsonl", f"{name}1", f"{name}2", source=name) for name in "ab"
    ]
    (tmp_path / "holdfast.toml").write_text(PROFILE)
    told = ("fit", *files, "--profile", "lines", "--budget", BUDGET, "--replay", "--json", "--out")
    local = process(*told, "a.json", "--jobs", 2)
    on_cluster = process(*told, "b.json", "--engine", three[0])
    assert (local.code, on_cluster.code) == (0, 0), on_cluster.err
    assert on_cluster.out == local.out
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_checks_hash_with_another_seed_there_too(
    recordings: Path, three: tuple[str, str], tmp_path: Path
) -> None:
    body = (
        "return [m for _, m in sorted(zip(map(hash, map(str, messages)), messages), key=lambda p: p[0])][:3]"
    )
    policy = write_policy(tmp_path, "shuffler", body)
    told = ("replay", recordings, "--sample", 1, "--policy", policy, "--budget", "1k", "--check", "--json")
    done = process(*told, "--engine", three[0])
    assert done.code == 0, done.err
    checks = {row["policy"]: row["checks"]["hash seeds"] for row in done.json["rows"]}
    assert checks == {"everything": "ok", policy: "other packs for r0"}


def test_the_work_of_a_killed_worker_is_done_again(
    slow: list[object], three: tuple[str, str], tmp_path: Path
) -> None:
    engine, mark = three
    running = subprocess.Popen(
        command(*slow, "--engine", engine), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    wait_until(lambda: len(list(tmp_path.glob("began *"))) == 2 and len(tasks(mark)) >= 2)
    (tmp_path / "awake").touch()
    for worker in tasks(mark):
        os.kill(worker, signal.SIGKILL)
    out, err = running.communicate(timeout=60)
    done = Outcome(running.returncode, out, err.decode())
    assert done.code == 0, done.err
    assert "died" not in done.err
    assert figures(done) == figures(process(*slow, "--jobs", 1))


def test_a_recording_that_kills_every_worker_is_the_only_one_lost(
    three: tuple[str, str], tmp_path: Path
) -> None:
    path = write_recordings(
        tmp_path / "d.jsonl", *(make_recording(name, 4) for name in ("one", "deadly", "two"))
    )
    policy = write_policy(tmp_path, "mortal", DEADLY, "import os\n")
    done = process("replay", path, "--budget", "1k", "--policy", policy, "--json", "--engine", three[0])
    assert done.code == 0, done.err
    assert done.json["notes"][0] == "deadly was not replayed: its process died"
    assert [row["recordings"] for row in done.json["rows"]] == [2, 2]


OTHERS = """
import ray, sys, time
from pathlib import Path
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="error")
@ray.remote(num_cpus=0)
def wait(folder):
    Path(folder, "others began").touch()
    while not Path(folder, "others may end").exists():
        time.sleep(0.05)
    return "done"
print(ray.get(wait.remote(sys.argv[2])))
"""


def test_ctrl_c_keeps_what_there_is_and_ends_our_tasks_only(
    slow: list[object], three: tuple[str, str], tmp_path: Path
) -> None:
    engine, mark = three
    others = subprocess.Popen(
        [sys.executable, "-c", OTHERS, engine.removeprefix("ray:"), tmp_path],
        stdout=subprocess.PIPE,
        text=True,
    )
    ours = subprocess.Popen(
        command(*slow, "--engine", engine),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    wait_until(lambda: len(list(tmp_path.glob("began *"))) == 2 and (tmp_path / "others began").exists())
    os.killpg(ours.pid, signal.SIGINT)
    out, err = ours.communicate(timeout=60)
    assert ours.returncode == 130, err
    report = json.loads(out)
    assert report["partial"] == "interrupted after 1 of 3 recordings"
    assert report["rows"][1]["requests"] == len(replies(make_recording("quick", 4)))
    said = err.decode().splitlines()
    assert said[0] == "warning: partial result: interrupted after 1 of 3 recordings"
    assert [line.split(":")[0] for line in said[1:]] == ["note"]
    wait_until(lambda: not tasks(mark))
    assert others.poll() is None
    (tmp_path / "others may end").touch()
    assert others.communicate(timeout=60)[0] == "done\n"


def test_a_cluster_of_its_own_is_gone_with_the_command(
    recordings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MARK, "own")
    told = ("replay", recordings, "--budget", "1k", "--policy", "newest", "--json", "--jobs", 2)
    before = set(Path("/tmp").glob("holdfast-ray-*"))
    assert figures(process(*told, "--engine", "ray")) == figures(process(*told))
    assert set(Path("/tmp").glob("holdfast-ray-*")) == before
    wait_until(lambda: marked("own") == [os.getpid()] or marked("own") == [])


def test_a_folder_urls_and_logs_of_a_store(recordings: Path, three: tuple[str, str], tmp_path: Path) -> None:
    from fsspec.implementations.memory import MemoryFileSystem  # noqa: PLC0415 - only where these tests run

    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(recordings.read_bytes())
    MemoryFileSystem().pipe_file("/bucket/a.jsonl", recordings.read_bytes())
    told = ("--budget", "1k", "--policy", "newest,code", "--json", "--project-from", "recording")
    local = json.loads(figures(holdfast("replay", folder, *told, "--jobs", 1)))
    for place in (folder, f"file://{folder}/*.jsonl", "memory://bucket"):
        assert json.loads(figures(holdfast("replay", place, *told, "--engine", three[0]))) == local
    store = tmp_path / "kept.db"
    assert holdfast("logs", "import", recordings, "--store", store).code == 0
    logs = [log["id"] for log in holdfast("logs", "--json", "--store", store).json]
    of_store = [
        process("replay", *logs, *told, "--store", store, *who)
        for who in (("--jobs", 1), ("--engine", three[0]))
    ]
    assert figures(of_store[0]) == figures(of_store[1])
    assert json.loads(of_store[1].out)["recordings"] == 4


def test_nothing_of_ray_is_loaded_without_it() -> None:
    code = (
        "import sys, holdfast, holdfast.cli.app, holdfast.cli.replay, holdfast.cli.fit;"
        "print([name for name in ('ray', 'fsspec') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
