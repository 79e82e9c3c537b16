"""A write that is killed at any moment leaves the old file or the new one, and little else."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.tools.envelope import ToolError
from holdfast.tools.workspace import LEFT_BEHIND, Workspace
from support import killable_writer
from support.killable_writer import content
from support.programs import running

KILLS = 250
TEMPORARY = re.compile(r"\.holdfast-[0-9a-f]{16}\.tmp")


@pytest.mark.slow
def test_a_killed_write_or_multi_edit_leaves_the_old_file_or_the_new_one(tmp_path):
    rng = random.Random(6)
    folder = tmp_path / "sub"
    folder.mkdir()
    target = folder / "file.txt"
    target.write_text(content(1))
    target.chmod(0o640)
    environment = {**os.environ, "PYTHONPATH": str(Path(killable_writer.__file__).parents[1])}
    command = [sys.executable, killable_writer.__file__, str(tmp_path)]
    versions = []
    with running(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
    ) as process:
        for _ in range(KILLS):
            process.stdin.write("go\n")
            process.stdin.flush()
            writer = int(process.stdout.readline())
            time.sleep(rng.uniform(0.0, 0.035))
            os.kill(writer, signal.SIGKILL)
            assert process.stdout.readline() == "ended\n"
            now = target.read_text()
            version = int(now.split()[1])
            assert now == content(version)
            versions.append(version)
        process.stdin.close()
    assert versions == sorted(versions)
    assert len(set(versions)) > KILLS // 10, "the writers were killed before they wrote"
    assert target.stat().st_mode & 0o777 == 0o640
    left = [path for path in folder.iterdir() if path != target]
    assert all(TEMPORARY.fullmatch(path.name) for path in left)
    assert left, "no writer was killed while it wrote"


def test_what_a_killed_write_left_behind_is_cleared_when_it_is_old(tmp_path):
    old, young = tmp_path / f".holdfast-{'0' * 16}.tmp", tmp_path / f".holdfast-{'1' * 16}.tmp"
    others = [
        tmp_path / f".holdfast-{'2' * 15}.tmp",
        tmp_path / f"x.holdfast-{'0' * 16}.tmp",
        tmp_path / "a.tmp",
    ]
    for path in (old, young, *others):
        path.write_text("left")
    long_ago = time.time() - LEFT_BEHIND - 5
    for path in (old, *others):
        os.utime(path, (long_ago, long_ago))
    folder = tmp_path / f".holdfast-{'3' * 16}.tmp"
    folder.mkdir()
    os.utime(folder, (long_ago, long_ago))
    Workspace([tmp_path]).replace_file("file.txt", b"x")
    assert sorted(tmp_path.iterdir()) == sorted([young, *others, folder, tmp_path / "file.txt"])


def test_a_folder_is_looked_through_now_and_then_only(tmp_path):
    workspace = Workspace([tmp_path])
    workspace.replace_file("file.txt", b"x")
    old = tmp_path / f".holdfast-{'0' * 16}.tmp"
    old.write_text("left")
    os.utime(old, (1, 1))
    workspace.replace_file("file.txt", b"y")
    assert old.exists()


def test_a_file_is_replaced_only_if_it_is_the_expected_one(tmp_path):
    workspace, path = Workspace([tmp_path]), tmp_path / "file.txt"
    first = workspace.replace_file("file.txt", b"one", "absent")
    second = workspace.replace_file("file.txt", b"two", first)
    for expected in (first, "absent"):
        with pytest.raises(ToolError) as caught:
            workspace.replace_file("file.txt", b"three", expected)
        assert caught.value.code == "CONFLICT"
    path.write_text("2.0")
    with pytest.raises(ToolError):
        workspace.replace_file("file.txt", b"three", second)
    path.unlink()
    with pytest.raises(ToolError):
        workspace.replace_file("file.txt", b"three", second)
    assert list(tmp_path.iterdir()) == []
