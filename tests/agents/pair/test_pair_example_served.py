"""The worked example with a model behind a real server: the same words, over the wire of a provider."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast import Session
from holdfast.messages import Message
from holdfast.models.model import ModelRequest
from holdfast.recall import RECALL_TOOL
from holdfast.views.transcript import Step
from support.agent_runs import Answering, says
from support.pair_crash import ANSWERS, EXAMPLE
from support.provider_server import running


def request_of(body: Any) -> ModelRequest:
    """What came over the wire, as the script reads it."""
    session = Session(budget="2m")
    session.append(*body["messages"])
    said: list[Message] = []
    for item in session.window.transcript.items:
        said.append(item.message)
        said += item.answers() if isinstance(item, Step) else ()
    return ModelRequest(messages=tuple(said), tools=(RECALL_TOOL,) if body.get("tools") else ())


def answer(body: Any):
    tools = {tool["function"]["name"] for tool in body.get("tools", ())}
    parts = ANSWERS["execute" if "Bash" in tools else "init"](request_of(body))
    return says(*parts) if isinstance(parts, list) else says(parts)


@pytest.mark.slow
def test_the_example_runs_with_a_model_behind_a_server(tmp_path):
    with running(Answering(answer)) as server:
        done = subprocess.run(
            [
                sys.executable,
                EXAMPLE / "run.py",
                tmp_path / "work",
                "--model",
                f"compatible/test@{server.openai_url}",
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env=os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        )
        asked = len(server.requests)
    assert done.returncode == 0, done.stdout + done.stderr
    rates = [line for line in done.stdout.splitlines() if line.startswith("- iteration")]
    assert [line.split(": ")[1].split(" ")[0] for line in rates] == ["7/15", "12/15", "15/15"]
    for role in ("init", "execute"):
        assert f"{role}: summarized" in done.stdout
    assert asked > 30
