"""What a shell leaves in the temporary folder: nothing, however it ends."""

import asyncio
import gc
import os
import subprocess
import sys
import tempfile

import pytest

from holdfast.tools.shell.bash import bash_tool
from holdfast.tools.shell.shell import FOLDER_PREFIX, LOCK_FILE, Shell, remove_abandoned_folders
from holdfast.tools.workspace import Workspace

RUN = """
import asyncio, os, sys
from holdfast.tools.shell.bash import bash_tool
from holdfast.tools.shell.shell import Shell
from holdfast.tools.workspace import Workspace

shell = Shell()
result = asyncio.run(bash_tool(shell).run({"command": "echo hi"}, Workspace([sys.argv[1]])))
assert result.envelope.data["exit_code"] == 0, result.shown
assert len(os.listdir(sys.argv[2])) == 1
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A temporary folder of this test alone."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", None)
    remove_abandoned_folders.cache_clear()
    return place


@pytest.fixture
def root(tmp_path):
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def run(shell, root, command="echo hi"):
    return asyncio.run(bash_tool(shell).run({"command": command}, Workspace([root]))).envelope


def left(place):
    return sorted(path.name for path in place.iterdir())


def test_a_shell_without_commands_makes_no_folder(temporary):
    shell = Shell()
    assert left(temporary) == []
    shell.close()
    assert left(temporary) == []


def test_closing_removes_the_folder_and_what_follows_has_one_again(temporary, root):
    with Shell() as shell:
        assert run(shell, root).data["exit_code"] == 0
        assert len(left(temporary)) == 1
        shell.close()
        assert left(temporary) == []
        assert run(shell, root).text == "Exit code: 0\nhi"
    assert left(temporary) == []


@pytest.mark.slow
def test_a_shell_that_nobody_closed_takes_its_folder_along(temporary, root):
    shell = Shell()
    run(shell, root)
    assert len(left(temporary)) == 1
    del shell
    gc.collect()
    assert left(temporary) == []


@pytest.mark.parametrize(
    "ending",
    ["", "sys.exit(3)", "raise KeyboardInterrupt"],
    ids=["at the end", "by exit", "interrupted"],
)
def test_an_interpreter_that_ends_takes_the_folder_along(temporary, root, ending):
    command = [sys.executable, "-c", RUN + ending, str(root), str(temporary)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "AssertionError" not in done.stderr
    assert left(temporary) == []


@pytest.mark.slow
def test_a_fork_that_ends_leaves_the_folder_to_its_owner(temporary, root):
    fork = "pid = os.fork()\nif not pid: sys.exit(0)\nos.waitpid(pid, 0)\nassert os.listdir(sys.argv[2])"
    command = [sys.executable, "-W", "ignore", "-c", RUN + fork, str(root), str(temporary)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert left(temporary) == []


@pytest.mark.slow
def test_what_a_killed_process_left_is_taken_away_by_the_next(temporary, root):
    command = [sys.executable, "-c", RUN + "os.kill(os.getpid(), 9)", str(root), str(temporary)]
    for _ in range(2):
        assert subprocess.run(command, capture_output=True, check=False).returncode == -9
        assert len(left(temporary)) == 1
    with Shell() as shell:
        run(shell, root)
        assert len(left(temporary)) == 1
        remove_abandoned_folders.cache_clear()
        with Shell() as other:
            # The folder of who still lives stays.
            run(other, root)
            assert len(left(temporary)) == 2
    assert left(temporary) == []


def test_only_folders_of_shells_are_taken_away(temporary, root, tmp_path):
    (temporary / "holdfast-other").mkdir()
    (temporary / f"{FOLDER_PREFIX}new").mkdir()
    (temporary / f"{FOLDER_PREFIX}old").mkdir()
    os.utime(temporary / f"{FOLDER_PREFIX}old", (0, 0))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / LOCK_FILE).write_text("")
    (temporary / f"{FOLDER_PREFIX}link").symlink_to(tmp_path / "mine")
    (temporary / f"{FOLDER_PREFIX}file").write_text("")
    with Shell() as shell:
        run(shell, root)
    assert left(temporary) == [
        "holdfast-other",
        f"{FOLDER_PREFIX}file",
        f"{FOLDER_PREFIX}link",
        f"{FOLDER_PREFIX}new",
    ]
    assert (tmp_path / "mine" / LOCK_FILE).exists()


def test_the_folder_is_for_its_owner_alone(temporary, root):
    with Shell() as shell:
        run(shell, root)
        (made,) = temporary.iterdir()
        modes = [path.stat().st_mode & 0o777 for path in (made, made / "tmp")]
    assert modes == [0o700, 0o700]
