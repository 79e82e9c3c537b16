"""`holdfast replay` as processes: Ctrl-C, workers that die, pipes that close, and nothing left behind."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_line import command, process

from support.evidence_recordings import make_recording, replies, write_policy, write_recordings
from support.waiting import wait_until

DEADLINE = 60
SLOW = """
if "slow" in messages[0]["content"]:
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
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the command's temporary files go."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    return place


@pytest.fixture
def slow(tmp_path: Path) -> list[object]:
    """A replay whose first recording is quick, and the others are not."""
    made = [make_recording(name, 4) for name in ("quick", "slow1", "slow2")]
    path = write_recordings(tmp_path / "r.jsonl", *made)
    policy = write_policy(tmp_path, "sleepy", SLOW, "import time\nfrom pathlib import Path\n")
    return ["replay", path, "--budget", "1k", "--policy", policy, "--dump", "packs.jsonl"]


@contextmanager
def running(*args: object) -> Iterator[subprocess.Popen[bytes]]:
    """A command with a session of its own, which is empty again afterwards."""
    begun = subprocess.Popen(
        command(*args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        yield begun
        wait_until(lambda: not session(begun.pid))
    finally:
        if begun.poll() is None or session(begun.pid):
            os.killpg(begun.pid, signal.SIGKILL)


def session(leader: int) -> list[int]:
    """The processes of a session that are still at work."""
    found: list[int] = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue  # it has ended since
        if int(fields[3]) == leader and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def interrupted(begun: subprocess.Popen[bytes]) -> tuple[bytes, str]:
    """Ctrl-C as a terminal sends it: to every process."""
    os.killpg(begun.pid, signal.SIGINT)
    out, err = begun.communicate(timeout=DEADLINE / 2)
    assert begun.returncode == 130, err
    assert b"Traceback" not in err
    return out, err.decode()


def began(folder: Path) -> int:
    return len(list(folder.glob("began *")))


@pytest.mark.slow
def test_ctrl_c_leaves_a_partial_result_that_says_so(
    slow: list[object], tmp_path: Path, temporary: Path
) -> None:
    with running(*slow, "--jobs", 2, "--json", "--html", "out.html") as begun:
        wait_until(lambda: began(tmp_path) == 2 and (tmp_path / "packs.jsonl").read_bytes())
        out, err = interrupted(begun)
    report = json.loads(out)
    assert report["partial"] == "interrupted after 1 of 3 recordings"
    assert (report["recordings"], report["projects"]) == (1, {"evidence": 1})
    assert report["rows"][1]["requests"] == len(replies(make_recording("quick", 4)))
    assert "warning: partial result: interrupted after 1 of 3 recordings\n" in err
    assert "Partial result: interrupted after 1 of 3 recordings" in (tmp_path / "out.html").read_text()
    dumped = [json.loads(line) for line in (tmp_path / "packs.jsonl").read_text().splitlines()]
    assert [(line["recording"], line["index"]) for line in dumped] == [
        ("quick", index) for index in replies(make_recording("quick", 4))
    ]
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
def test_ctrl_c_with_one_process_leaves_one_too(slow: list[object], tmp_path: Path, temporary: Path) -> None:
    with running(*slow, "--jobs", 1) as begun:
        wait_until(lambda: began(tmp_path))
        out, err = interrupted(begun)
    assert err.startswith("warning: partial result: interrupted after 1 of 3 recordings\n")
    assert "evidence and cost at 1k" in out.decode()
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
def test_ctrl_c_while_workers_begin(slow: list[object], temporary: Path) -> None:
    with running(*slow, "--jobs", 2) as begun:
        wait_until(lambda: len(session(begun.pid)) >= 3)
        _, err = interrupted(begun)
    assert err.startswith("warning: partial result: interrupted after ")
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
def test_a_worker_that_dies_takes_its_own_recording_only(tmp_path: Path, temporary: Path) -> None:
    path = write_recordings(
        tmp_path / "r.jsonl", make_recording("one", 4), make_recording("deadly", 4), make_recording("two", 4)
    )
    policy = write_policy(tmp_path, "mortal", DEADLY, "import os\n")
    told = (
        "replay",
        path,
        "--budget",
        "1k",
        "--policy",
        policy,
        "--jobs",
        2,
        "--json",
        "--dump",
        "packs.jsonl",
    )
    done = process(*told)
    assert done.code == 0, done.err
    assert done.json["notes"][0] == "deadly was not replayed: its process died"
    assert "note: deadly was not replayed: its process died\n" in done.err
    assert [row["recordings"] for row in done.json["rows"]] == [2, 2]
    dumped = [json.loads(line)["recording"] for line in (tmp_path / "packs.jsonl").read_text().splitlines()]
    assert dumped == ["one"] * 5 + ["two"] * 5
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
def test_a_pipe_that_closes_ends_it(slow: list[object], temporary: Path) -> None:
    told = [*slow[:-1], "-", "--jobs", 2]
    with running(*told) as begun:
        assert begun.stdout is not None
        begun.stdout.close()
        _, err = begun.communicate(timeout=DEADLINE / 2)
    assert begun.returncode == 0
    assert b"error" not in err.lower()
    assert b"Traceback" not in err
    assert list(temporary.iterdir()) == []
