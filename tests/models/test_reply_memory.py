"""However much a provider sends, `holdfast run` ends with one sentence and stays small."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.agent_runs import environment, repository
from support.provider_server import Endless, Failure, serving

MOST = 200_000_000
SUPPORT = Path(__file__).parents[1] / "support"
pytestmark = pytest.mark.slow


def event(delta):
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode() + b"\n\n"


def called(number):
    function = {"name": "Read", "arguments": '{"path":"main.py"}'}
    return {"index": number, "id": f"c{number}", "function": function}


def streamed(body, **headers):
    return Failure(status=200, body=body, headers=headers, content_type="text/event-stream")


def gzipped(body):
    return streamed(gzip.compress(body, 1), **{"content-encoding": "gzip"})


CASES = {
    "endless text": (lambda: Endless(piece=event({"content": "a"}) * 500), "2000000 characters"),
    "endless line": (lambda: Endless(piece=b"data: " + b"a" * 50_000), "larger than 4194304 bytes"),
    "endless pings": (lambda: Endless(piece=b": ping " * 5_000 + b"\n\n"), "more than 67108864 bytes"),
    "bomb of zeros": (lambda: gzipped(b"\0" * 1_000_000_000), "larger than 4194304 bytes"),
    "bomb of texts": (lambda: gzipped(event({"content": "a"}) * 2_000_000), "2000000 characters"),
    "200,000 calls": (
        lambda: streamed(b"".join(event({"tool_calls": [called(n)]}) for n in range(200_000))),
        "more than 512 calls",
    ),
    "200,000 calls in few events": (
        lambda: streamed(
            b"".join(
                event({"tool_calls": [called(n) for n in range(first, first + 40_000)]})
                for first in range(0, 200_000, 40_000)
            )
        ),
        "more than 512 calls",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_flood_is_one_sentence_in_little_memory(tmp_path, name):
    answer, sentence = CASES[name]
    root, peak = repository(tmp_path), tmp_path / "peak"
    with serving(answer()) as server:
        model = f"compatible/test@{server.openai_url}"
        holdfast = ["-m", "holdfast", "run", "--model", model, "--sandbox", "off", "-p", "Go."]
        done = subprocess.run(
            [sys.executable, SUPPORT / "peak_memory.py", peak, sys.executable, *holdfast],
            cwd=root,
            env=environment(root),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert len([seen for seen in server.requests if seen.method == "POST"]) == 1
    rules, error, hint, spent = done.stderr.splitlines()
    assert "has no `code_law.md`" in rules
    assert done.returncode == 16
    assert error.startswith("error: ")
    assert sentence in error
    assert hint.startswith("hint: ")
    assert spent.startswith("0 steps")
    assert int(peak.read_text()) < MOST
