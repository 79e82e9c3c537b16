"""`holdfast run --max-time` as a process: it ends whatever the provider or a tool does, and leaves nothing behind.

What hangs here would hang for minutes; that a run ends long before is the proof.
"""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from holdfast.messages import ToolCall
from support.agent_runs import Answering, Ran, bodies, call, environment, repository, run, says, start, waited
from support.provider_server import Endless, Failure, Script, Stall, running, serving

pytestmark = pytest.mark.slow

SUPPORT = Path(__file__).parents[1] / "support"
TOKEN = b'data: {"choices":[{"index":0,"delta":{"content":"word "}}]}\n\n'
STUBBORN = "trap '' TERM INT HUP; touch begun; while :; do sleep 1; done"
PATIENCE = (3, 15, 60)
"""Limits in seconds: a longer one is tried only where the machine is too slow to begin in time."""


def processes(root):
    """What still runs in a folder."""
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        # It may have ended meanwhile, or belong to somebody else.
        with suppress(OSError):
            found += [link.parent.name] if link.readlink() == root else []
    return found


def timed(root, server, has_begun, *options):
    """A run whose time was over after something had begun."""
    for seconds in PATIENCE:
        running_ = start(root, server, "-p", "Go.", "--mode", "auto", "--max-time", str(seconds), *options)
        out, err = running_.communicate(timeout=seconds + 60)
        done = Ran(running_.returncode, out, err)
        assert done.code == 12, done.err
        assert f"error: the limit of {seconds} seconds is reached" in done.err
        assert "hint: raise the limit to continue" in done.err
        if has_begun(done):
            waited(lambda: not processes(root))
            return done
    raise AssertionError("it never began")


def check_continues(root):
    """The log can be resumed, and every call in it has its result."""
    with serving(says("I see.")) as server:
        done = run(root, server, "--continue", "-p", "Well?")
    assert (done.code, done.out) == (0, "I see.\n"), done.err
    messages = bodies(server)[0]["messages"]
    asked = [one["id"] for message in messages for one in message.get("tool_calls") or ()]
    answered = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    assert answered == asked
    return messages


@pytest.mark.parametrize(
    "answer",
    [
        Stall(),
        Endless(piece=b":", every=0.2),
        Endless(piece=TOKEN, every=0.2),
        Endless(piece=TOKEN),
        Failure(kind="rate", headers={"retry-after": "120"}),
    ],
    ids=["no answer", "bytes", "tokens", "flood", "retries"],
)
def test_a_provider_that_takes_its_time(tmp_path, answer):
    root = repository(tmp_path)
    with serving(answer) as server:
        timed(root, server, lambda _: bodies(server))
    check_continues(root)


@pytest.mark.parametrize(
    "command",
    [STUBBORN, f"({STUBBORN}) & wait", f"({STUBBORN}) & disown; sleep 600"],
    ids=["ignores signals", "waits for a child", "disowns a child"],
)
def test_a_command_that_does_not_end(tmp_path, command):
    root = repository(tmp_path)
    with serving(says(call("Bash", "b", command=command, timeout=600))) as server:
        timed(root, server, lambda _: (root / "begun").exists())
    result = next(one for one in check_continues(root) if one["role"] == "tool")
    assert "(interrupted before it ended, with all it started)" in result["content"]


def test_a_background_process_is_ended_with_the_run(tmp_path):
    root = repository(tmp_path)
    background = call("Bash", "b", command=STUBBORN, run_in_background=True)
    with serving(says(background), Stall()) as server:
        timed(root, server, lambda _: (root / "begun").exists() and len(bodies(server)) > 1)
    check_continues(root)


HANGS = """
import os, sys
from holdfast.agents import agent
from holdfast.cli import run as run_command
from holdfast.cli.app import run

async def hang(self, calls):
    import asyncio
    reader, _ = os.pipe()
    open("begun", "w").close()
    await asyncio.to_thread(os.read, reader, 1)

agent.Agent.run_tools = hang
run_command.ENDING_SECONDS = 2.0
sys.exit(run(sys.argv[1:]))
"""


def test_a_call_that_hangs_in_the_system(tmp_path):
    root = repository(tmp_path)
    with serving(says(call("Read", "r", path="main.py"))) as server:
        command = [sys.executable, "-c", HANGS, "run", "-p", "Go.", "--sandbox", "off", "--max-time", "3"]
        command += ["--model", f"compatible/test@{server.openai_url}"]
        quiet = {"capture_output": True, "text": True, "timeout": 60}
        done = subprocess.run(command, cwd=root, env=environment(root), check=False, **quiet)
    assert (root / "begun").exists()
    assert done.returncode == 12
    assert "the limit of 3 seconds is reached, and something in this run does not end\nhint: " in done.stderr
    check_continues(root)


def has_task(body):
    return any(tool["function"]["name"] == "Task" for tool in body["tools"])


@pytest.mark.parametrize(
    "answer",
    [Stall(), says(call("Bash", "b", command=STUBBORN, timeout=600))],
    ids=["its provider", "its command"],
)
def test_a_sub_agent_that_hangs(tmp_path, answer):
    root = repository(tmp_path)
    task = says(call("Task", "t", description="look around", prompt="Look.", writes=True))
    begun = []

    def answer_to(body):
        if has_task(body):
            return task
        begun.append(body)
        return answer

    is_command = isinstance(answer, Script)
    with running(Answering(answer_to)) as server:
        timed(root, server, lambda _: (root / "begun").exists() if is_command else begun)
    check_continues(root)


def mcp_server(command, *arguments, **settings):
    lines = [f'command = "{command}"', f"args = {list(map(str, arguments))}"]
    lines += [f"{name} = {value}" for name, value in settings.items()]
    return "\n[mcp.servers.sample]\n" + "\n".join(lines) + "\n"


def test_a_call_of_an_mcp_server_that_hangs(tmp_path):
    pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    sample = mcp_server(sys.executable, SUPPORT / "mcp_server.py", "stdio", call_seconds=600)
    root = repository(tmp_path, more=sample)
    slow = ToolCall("m", "McpCall", {"name": "mcp__sample__slow", "arguments": {"seconds": 600}})
    direct = call("mcp__sample__slow", "m", seconds=600)

    def answer_to(body):
        # The server may be slower than the agent is willing to wait for its list of tools.
        names = {tool["function"]["name"] for tool in body["tools"]}
        return says(direct if direct.name in names else slow)

    with running(Answering(answer_to)) as server:
        options = ("--trust", "--allow", "mcp__sample__slow")
        timed(root, server, lambda done: "interrupted before it ended" in done.err, *options)
    check_continues(root)
