"""Hooks as real processes, also such that hang, fork, flood and lie: each ends, and each has an answer."""

import asyncio
import json
import os
import time
from pathlib import Path

import pytest

from holdfast.agents.hook_process import MOST_OUTPUT, run_hook
from holdfast.agents.hooks import Hook, HookAnswer
from support.agent_runs import waited


def answered(folder, command, timeout=20.0, told=None):
    return asyncio.run(run_hook(Hook("before_tool", command, folder, timeout=timeout), told or {}))


def is_running(pid_file: Path) -> bool:
    try:
        state = Path(f"/proc/{int(pid_file.read_text())}/stat").read_text()
    except OSError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"


def test_it_is_told_in_json_and_answers_in_json(tmp_path):
    command = 'cat > told.json; pwd > where; echo \'{"decision": "ask", "reason": "sure?"}\''
    told = {"tool": "Edit", "input": {"text": "ü\n" * 100_000}}
    assert answered(tmp_path, command, told=told) == HookAnswer("ask", "sure?")
    assert json.loads((tmp_path / "told.json").read_text()) == told
    assert (tmp_path / "where").read_text().strip() == str(tmp_path)


def test_it_need_not_read_what_it_is_told(tmp_path):
    assert answered(tmp_path, "exit 0", told={"text": "x" * 5_000_000}) == HookAnswer()


def test_the_reason_of_exit_code_2_is_what_stderr_says(tmp_path):
    assert answered(tmp_path, "echo not today >&2; exit 2") == HookAnswer("block", "not today")


def test_one_that_hangs_is_killed_with_everything_it_started(tmp_path):
    command = "setsid sh -c 'echo $$ > far; exec sleep 600' & sleep 600 & echo $! > near; wait"
    began = time.monotonic()
    assert answered(tmp_path, command, 0.5).failure == "it did not end within 0.5 s"
    assert time.monotonic() - began < 10
    waited(lambda: not is_running(tmp_path / "near") and not is_running(tmp_path / "far"))
    assert (tmp_path / "near").exists()


def test_one_that_ignores_signals_is_killed(tmp_path):
    assert answered(tmp_path, "trap '' TERM INT HUP; while :; do :; done", 0.3).failure.startswith(
        "it did not end"
    )


def test_one_that_leaves_a_process_behind_is_not_waited_for(tmp_path):
    began = time.monotonic()
    command = 'sleep 600 & echo $! > left; echo \'{"decision": "deny"}\''
    try:
        assert answered(tmp_path, command) == HookAnswer("block")
        assert time.monotonic() - began < 10
    finally:
        os.kill(int((tmp_path / "left").read_text()), 9)


@pytest.mark.parametrize("to", ["1", "2"])
def test_one_that_prints_without_end_is_stopped(tmp_path, to):
    failure = answered(tmp_path, f"echo $$ > pid; exec cat /dev/zero >&{to}").failure
    assert failure == f"it printed more than {MOST_OUTPUT:,} bytes"
    waited(lambda: not is_running(tmp_path / "pid"))


def test_output_that_is_no_text_is_a_failure(tmp_path):
    assert "no answer that can be read" in answered(tmp_path, "head -c 500 /dev/urandom").failure


@pytest.mark.parametrize("command", ["no-such-program", "kill -9 $$", "exit 1"])
def test_a_crash_is_a_failure(tmp_path, command):
    answer = answered(tmp_path, command)
    assert answer.failure.startswith("it ended with exit code")
    assert answer.decision == ""


def test_a_folder_that_is_gone_is_a_failure(tmp_path):
    assert answered(tmp_path / "gone", "true").failure.startswith("it could not be started")


def test_a_cancelled_one_is_killed(tmp_path):
    async def cancel():
        work = asyncio.create_task(run_hook(Hook("stop", "echo $$ > pid; exec sleep 600", tmp_path), {}))
        pid = tmp_path / "pid"
        await asyncio.to_thread(waited, lambda: pid.exists() and pid.read_text())
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(cancel())
    waited(lambda: not is_running(tmp_path / "pid"))


def test_no_file_descriptor_is_left_open(tmp_path):
    def count():
        return len([*Path("/proc/self/fd").iterdir()])

    async def many():
        hook = Hook("stop", "true", tmp_path)
        await run_hook(hook, {})
        before = count()
        for _ in range(20):
            await run_hook(hook, {})
        return before, count()

    before, after = asyncio.run(many())
    assert after <= before
