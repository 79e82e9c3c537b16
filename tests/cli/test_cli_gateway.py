"""`holdfast gateway` and `holdfast wrap`, as programs."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from cli.command_line import command
from holdfast.messages import Text
from holdfast.store import SqliteStore
from support.provider_server import Script, serving

pytestmark = pytest.mark.slow

AGENT = """
import json, os, sys, urllib.request
body = {"model": "m", "messages": [{"role": "user", "content": sys.argv[1]}], "stream": True}
url = os.environ["MY_URL"] + "/chat/completions"
print(urllib.request.urlopen(url, json.dumps(body).encode()).read().count(b"data:") > 1)
sys.exit(7)
"""


def test_the_gateway_says_where_it_is_and_ends_with_ctrl_c(tmp_path) -> None:
    store = tmp_path / "traffic.db"
    with serving(Script(parts=(Text("Hello."),))) as server:
        words = command("gateway", "--port", "0", "--store", store, "--openai", server.openai_url)
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as gateway:
            assert gateway.stderr is not None
            said = [gateway.stderr.readline() for _ in range(3)]
            (address,) = re.findall(r"listening on (\S+) \(", said[0])
            body = {"model": "m", "messages": [{"role": "user", "content": "Hi."}], "stream": True}
            assert "Hel" in httpx2.post(f"{address}/v1/chat/completions", json=body, timeout=60).text
            gateway.send_signal(signal.SIGINT)
            assert gateway.wait(60) == 0
            assert gateway.stderr.read() == ""
    assert f"openai to {server.openai_url}" in said[1]
    with SqliteStore(store) as kept:
        assert [info.head.title for info in kept.logs()] == ["Hi."]


def wrapped(store: Path, *words: object, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **more}
    return subprocess.run(
        command("wrap", "--store", store, *words),
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )


def test_any_program_is_wrapped_with_its_own_exit_code(tmp_path) -> None:
    agent = tmp_path / "agent.py"
    agent.write_text(AGENT)
    with serving(Script(parts=(Text("Hello."),))) as server:
        done = wrapped(
            tmp_path / "s.db", "--openai", server.openai_url, "--base-url-env", "MY_URL=/v1", "--",
            sys.executable, agent, "Hi there.",
        )  # fmt: skip
    assert (done.returncode, done.stdout) == (7, "True\n"), done.stderr
    with SqliteStore(tmp_path / "s.db") as kept:
        assert [info.head.title for info in kept.logs()] == ["Hi there."]


def test_a_known_agent_is_told_by_its_environment(tmp_path) -> None:
    """A program of the name stands for the agent: it says what it was started with."""
    fake = tmp_path / "claude"
    fake.write_text(f"#!{sys.executable}\nimport os, sys, json\n"
                    "print(json.dumps([sys.argv[1:], os.environ['ANTHROPIC_BASE_URL']]))\n")  # fmt: skip
    fake.chmod(0o755)
    done = wrapped(tmp_path / "s.db", "claude", "--", "-p", "hello", PATH=f"{tmp_path}:{os.environ['PATH']}")
    arguments, url = json.loads(done.stdout)
    assert (done.returncode, arguments) == (0, ["-p", "hello"])
    assert url.startswith("http://127.0.0.1:")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["wrap", "klaude"], "`klaude` is no agent that is known"),
        (["wrap", "--base-url-env", "X", "--", "no-such-program"], "there is no program `no-such-program`"),
        (["gateway", "--openai", "nowhere"], "cannot be the upstream of `openai`"),
    ],
)
def test_bad_input_gets_a_sentence(words, said, tmp_path) -> None:
    done = subprocess.run(
        command(*words, "--store", tmp_path / "s.db") if words[0] == "gateway" else command(*words),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert said in done.stderr
    assert "hint:" in done.stderr
    assert "Traceback" not in done.stderr
