"""Killed without warning at every kind of step, and started again: what was sent is sent again to the byte, and
nothing that may have happened is done twice. Real processes, a real repository, a provider on loopback."""

import signal
import subprocess
import sys

import msgspec
import pytest

from support.agent_runs import (
    before_tail,
    bodies,
    call,
    environment,
    killed,
    last_content,
    repository,
    run,
    says,
    start,
)
from support.provider_server import Pause, Stall, serving

READ = call("Read", "r1", path="main.py")
FOUND = call("Grep", "g1", pattern="print")
WRITE = call("Write", "w1", path="made.txt", content="made\n")
TWICE = "echo ran >> ran.txt; touch begun; sleep 30; touch over"
OPTIONS = ("--mode", "auto")


@pytest.fixture
def root(tmp_path):
    return repository(tmp_path)


def prefix_holds(before, now):
    """All that was sent before the tail is sent again, as the same bytes and in the same places; what is new stands
    behind it."""
    for key in before.keys() | now.keys():
        old, new = before.get(key), now.get(key)
        if key in ("messages", "input"):
            old = before_tail(old)
            new = new[: len(old)]
        if msgspec.json.encode(new) != msgspec.json.encode(old):
            return False
    return True


def results_of(body):
    return [message["content"] for message in body["messages"] if message["role"] == "tool"]


@pytest.mark.slow
def test_while_the_model_writes(root):
    halfway = says("I shall think about", " it.", piece=4, pauses=(Pause(before=4),))
    with serving(says("I look.", READ, FOUND), halfway, says("It prints `old`.")) as server:
        killed(start(root, server, "-p", "What does it print?"), lambda: len(bodies(server)) == 2)
        done = run(root, server, "--continue", "--json")
    assert done.json["text"] == "It prints `old`.", done.err
    old, new = server.requests[1].body, server.requests[2].body
    assert new == old, "the whole request is the same to the byte"


@pytest.mark.slow
def test_while_nothing_has_come_of_a_request(root):
    with serving(says(READ), Stall(), says("Fine.")) as server:
        killed(start(root, server, "-p", "Look."), lambda: len(bodies(server)) == 2)
        done = run(root, server, "--continue", "-p", "And now?", "--json")
    assert done.code == 0
    _, before, now = bodies(server)
    assert prefix_holds(before, now)
    assert last_content(now) == "And now?"


@pytest.mark.slow
def test_while_a_command_runs(root):
    runs = call("Bash", "b1", command=TWICE)
    with serving(says(FOUND), says("Now I run it.", READ, runs), says("I look first.")) as server:
        running = start(root, server, "-p", "Run it.", *OPTIONS)
        killed(running, (root / "begun").exists)
        done = run(root, server, "--continue", "--json", *OPTIONS)
    assert done.code == 0
    before, now = bodies(server)[1:]
    assert prefix_holds(before, now)
    assert "print('old')" in results_of(now)[-2], "what was known of the same reply is kept"
    assert "uncertain, and it was not run again" in results_of(now)[-1]
    assert (root / "ran.txt").read_text() == "ran\n"
    assert not (root / "over").exists(), "the command ended with the agent"


DIES = """
import os, signal, sys
from holdfast.agents import agent, tool_results
from holdfast.cli.app import run

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

recorded, run_tools = tool_results.ResultRecorder.record, agent.Agent.run_tools

def record(self, finished):
    return die() if finished.call.name == {tool!r} else recorded(self, finished)

async def several(self, calls):
    return die() if len(calls) > 1 else await run_tools(self, calls)

{place} = {what}
sys.exit(run(sys.argv[1:]))
"""


def dies_at(root, server, place, what, tool=""):
    """`holdfast run`, killed at one place of its code."""
    code = DIES.format(place=place, what=what, tool=tool)
    command = [sys.executable, "-c", code, "run", "--model", f"compatible/test@{server.openai_url}"]
    command += ["--sandbox", "off", "-p", "Go.", *OPTIONS]
    quiet = {"stdin": subprocess.DEVNULL, "capture_output": True, "timeout": 60}
    done = subprocess.run(command, cwd=root, env=environment(root), check=False, **quiet)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.slow
def test_when_a_file_was_written_and_its_result_was_not(root):
    with serving(says(READ), says(WRITE), says("I look first.")) as server:
        dies_at(root, server, "tool_results.ResultRecorder.record", "record", tool="Write")
        assert (root / "made.txt").read_text() == "made\n"
        (root / "made.txt").write_text("somebody changed it\n")
        done = run(root, server, "--continue", "--json", *OPTIONS)
    assert done.code == 0
    before, now = bodies(server)[1:]
    assert prefix_holds(before, now)
    assert "uncertain" in results_of(now)[-1]
    assert (root / "made.txt").read_text() == "somebody changed it\n"


@pytest.mark.slow
def test_when_the_calls_of_a_reply_were_not_begun(root):
    with serving(says(READ), says(FOUND, WRITE), says("I look first.")) as server:
        dies_at(root, server, "agent.Agent.run_tools", "several")
        done = run(root, server, "--continue", "--json", *OPTIONS)
    assert done.code == 0
    before, now = bodies(server)[1:]
    assert prefix_holds(before, now)
    assert ["uncertain" in text for text in results_of(now)] == [False, True, True]
    assert not (root / "made.txt").exists()


@pytest.mark.slow
def test_a_request_to_anthropic_is_the_same_with_its_marks(root):
    with serving(says(READ), Stall(), says("Fine.")) as server:
        name = ("--model", f"anthropic/test@{server.url}")
        killed(start(root, server, "-p", "Look.", *name), lambda: len(bodies(server)) == 2)
        run(root, server, "--continue", *name)
    assert b"cache_control" in server.requests[1].body
    assert server.requests[2].body == server.requests[1].body
