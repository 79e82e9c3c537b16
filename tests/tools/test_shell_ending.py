"""Commands that would not end: time limits, cancellation, children that hide, background jobs."""

import asyncio
import os
import time

import pytest

from holdfast.tools.shell.bash import bash_tool
from holdfast.tools.shell.bash_output import bash_output_tool
from holdfast.tools.shell.bash_stop import bash_stop_tool
from holdfast.tools.shell.processes import RUN_MARK, find_family, running_processes
from holdfast.tools.shell.shell import Shell
from holdfast.tools.workspace import Workspace

pytestmark = pytest.mark.skipif(not running_processes(), reason="needs /proc")


@pytest.fixture
def workspace(tmp_path):
    return Workspace([tmp_path])


@pytest.fixture
def shell():
    with Shell() as shell:
        yield shell


def run(shell, workspace, command, **arguments):
    return asyncio.run(bash_tool(shell).run({"command": command, **arguments}, workspace)).envelope


def output(shell, workspace, **arguments):
    return asyncio.run(bash_output_tool(shell).run(arguments, workspace)).envelope


def stop(shell, workspace, name):
    return asyncio.run(bash_stop_tool(shell).run({"id": name}, workspace)).envelope


def written_pids(folder, names):
    """The numbers that processes wrote into files of these names, as soon as all of them did."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        texts = [(folder / name).read_text().strip() if (folder / name).exists() else "" for name in names]
        if all(texts):
            return [int(text) for text in texts]
        time.sleep(0.02)
    raise AssertionError(f"not written: {names}")


def alive(pids):
    return [pid for pid in pids if pid in running_processes()]


HIDING = """
sleep 301 & echo $! > plain
(trap '' TERM HUP; echo $BASHPID > deaf; while :; do sleep 302; done) &
setsid bash -c 'echo $$ > session; sleep 303; :' &
(setsid bash -c 'bash -c "echo \\$\\$ > twice; sleep 304; :" & sleep 0.2' &)
env -i setsid bash -c 'echo $$ > bare; /bin/sleep 305; :' &
set -m; sleep 306 & echo $! > group; set +m
for file in plain deaf session twice bare group; do until [ -s $file ]; do sleep 0.02; done; done
echo ready > ready
"""
NAMES = ["plain", "deaf", "session", "twice", "bare", "group"]


@pytest.mark.slow
def test_a_time_limit_ends_everything_that_was_started(shell, workspace, tmp_path):
    envelope = run(shell, workspace, HIDING + "sleep 300; touch next", timeout=10)
    pids = written_pids(tmp_path, NAMES)
    assert (tmp_path / "ready").exists(), "the machine was too slow for this test"
    assert alive(pids) == []
    assert not (tmp_path / "next").exists()
    assert envelope.status == "partial"
    assert envelope.data["stopped"] == "timeout"
    assert envelope.text.startswith("Exit code: 1")
    assert "stopped after its time limit of 10 s, with all it started" in envelope.text


def test_output_before_a_time_limit_is_kept(shell, workspace):
    envelope = run(shell, workspace, "echo before; sleep 60; echo after", timeout=0.5)
    assert envelope.text.endswith("\nbefore")


def test_a_command_that_will_not_end_is_killed(shell, workspace):
    envelope = run(shell, workspace, "trap '' TERM; while :; do sleep 60; done", timeout=0.3)
    assert envelope.data["signal"] == "SIGKILL"
    assert envelope.data["exit_code"] == 137


def test_a_command_may_clean_up_when_it_is_asked_to_end(shell, workspace):
    envelope = run(shell, workspace, "trap 'echo cleaned; exit 7' TERM; sleep 60 & wait", timeout=0.3)
    assert envelope.text.endswith("\ncleaned")
    assert envelope.data["exit_code"] == 7


@pytest.mark.slow
def test_cancelling_the_call_ends_the_command(shell, workspace, tmp_path):
    async def cancelled():
        task = asyncio.create_task(
            bash_tool(shell).run({"command": HIDING + "sleep 300; touch next"}, workspace)
        )
        await asyncio.to_thread(written_pids, tmp_path, [*NAMES])
        task.cancel()
        return (await task).envelope

    envelope = asyncio.run(cancelled())
    assert (envelope.status, envelope.data["stopped"]) == ("partial", "cancelled")
    assert "(interrupted before it ended, with all it started)" in envelope.text
    assert alive(written_pids(tmp_path, NAMES)) == []
    assert run(shell, workspace, "echo on").text == "Exit code: 0\non"
    assert not (tmp_path / "next").exists()


def test_a_child_that_holds_the_output_does_not_hang_the_call(shell, workspace, tmp_path):
    child = "echo $BASHPID > pid; while ! [ -e go ]; do sleep 0.05; done; echo late; exec sleep 300"
    envelope = run(shell, workspace, f"({child}) & echo early", timeout=60)
    assert envelope.data["exit_code"] == 0
    assert envelope.text.startswith("Exit code: 0\n(Still running: ")
    assert envelope.text.endswith("\nearly")
    name = envelope.data["job"]
    (tmp_path / "go").touch()
    until = time.monotonic() + 20
    while "2: late" not in output(shell, workspace, id=name).text and time.monotonic() < until:
        time.sleep(0.05)
    assert "2: late" in output(shell, workspace, id=name).text
    pids = written_pids(tmp_path, ["pid"])
    assert alive(pids) == pids
    assert stop(shell, workspace, name).data["was_running"]
    assert alive(pids) == []


def test_a_child_with_its_own_output_is_said_to_run_and_ends_with_the_shell(workspace, tmp_path):
    with Shell() as shell:
        envelope = run(shell, workspace, "nohup sleep 300 >log 2>&1 & echo $! > pid")
        assert envelope.data["still_running"] == ["sleep"]
        pids = written_pids(tmp_path, ["pid"])
        assert alive(pids) == pids
    assert alive(pids) == []


def test_a_background_job_is_listed_read_and_stopped(shell, workspace, tmp_path):
    started = run(shell, workspace, "echo one; echo $$ > pid; sleep 300", run_in_background=True)
    assert started.text.startswith('Running in the background as "b1".')
    assert started.data["job"] == "b1"
    assert run(shell, workspace, "echo meanwhile").text == "Exit code: 0\nmeanwhile"
    pids = written_pids(tmp_path, ["pid"])
    listed = output(shell, workspace)
    assert listed.text.split("\n")[0] == "1 outputs are kept, 1 of them of commands that run."
    assert listed.text.split("\n")[1].startswith(
        'Running: "b1", `echo one; echo $$ > pid; sleep 300`: 1 line,'
    )
    shown = output(shell, workspace, id="b1")
    assert shown.text.split("\n")[1:] == ["1: one", "(lines 1-1 of 1)"]
    assert shown.data["is_running"]
    stopped = stop(shell, workspace, "b1")
    assert stopped.text.split("\n")[0].startswith("Exit code: 143 (stopped on request)")
    assert alive(pids) == []
    assert stop(shell, workspace, "b1").text.split("\n")[0].endswith("it had ended before")
    assert output(shell, workspace, id="b1").data["exit_code"] == 143


def test_a_job_that_ends_by_itself_can_be_waited_for(shell, workspace):
    run(shell, workspace, "sleep 0.3; echo done; exit 4", run_in_background=True)
    ended = output(shell, workspace, id="b1", wait=30)
    assert ended.text.startswith('Exit code: 4 of "b1"')
    assert "1: done" in ended.text
    assert output(shell, workspace, id="b1").text == ended.text


def test_an_unknown_job_is_named_with_those_there_are(shell, workspace):
    run(shell, workspace, "sleep 60", run_in_background=True)
    for envelope in (output(shell, workspace, id="b9"), stop(shell, workspace, "b9")):
        assert envelope.error is not None
        assert envelope.error.code == "NOT_FOUND"
        assert "there is no output `b9`" in envelope.text
        assert "`b1`" in envelope.text


@pytest.mark.slow
def test_closing_ends_jobs_and_what_hides(workspace, tmp_path):
    with Shell() as shell:
        run(shell, workspace, HIDING, run_in_background=True)
        run(shell, workspace, "sleep 300", run_in_background=True)
        pids = written_pids(tmp_path, NAMES)
    # The shell of the first job may have ended: then one that cleared its environment is out of reach.
    assert [pid for pid in alive(pids) if pid != pids[NAMES.index("bare")]] == []
    for pid in alive(pids):
        os.kill(pid, 9)


def test_processes_of_others_are_left_alone(shell, workspace, tmp_path):
    with Shell() as other:
        run(other, workspace, "echo $$ > pid; sleep 300", run_in_background=True)
        pids = written_pids(tmp_path, ["pid"])
        run(shell, workspace, "sleep 60 & sleep 60", timeout=0.3)
        shell.close()
        assert alive(pids) == pids


@pytest.mark.slow
def test_a_mark_is_not_the_beginning_of_another(workspace):
    with Shell() as shell:
        run(shell, workspace, "true")
        for _ in range(10):
            run(shell, workspace, "sleep 300", run_in_background=True)
        marks = {name: job.mark for name, job in shell.jobs.items()}
        until = time.monotonic() + 20
        # Asked until it is there, and not once more: while it becomes another program, it has no mark for a moment.
        while not (found := find_family(marks["b11"])) and time.monotonic() < until:
            time.sleep(0.02)
        assert found
        assert find_family(marks["b11"].replace("b11", "b1")) == []
        assert RUN_MARK.startswith("_")
