"""A real model behind a real server: what a small one writes is streamed, parsed, checked, mended or refused.

`HOLDFAST_LOCAL_MODEL` names a GGUF file and `HOLDFAST_LLAMA_SERVER` a `llama-server`; without them nothing is run.
What such a model says is not known beforehand: the tests hold what Holdfast promises whatever it says.
"""

import asyncio
import http.client
import json
import logging
import os
import re
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import Outcome, holdfast, json_file
from holdfast.cli.inputs import chain_path, load_profile
from holdfast.compaction.check import CheckContext, find_faults
from holdfast.compaction.compact import preview
from holdfast.compaction.preparation import prepare
from holdfast.config import Config
from holdfast.log import Log
from holdfast.messages import AssistantMessage, SystemMessage, Text, ToolDefinition, ToolMessage, UserMessage
from holdfast.models.model import (
    Model,
    ModelReply,
    ModelRequest,
    ReplyCompleted,
    RetryScheduled,
    StreamEvent,
    TextDelta,
)
from holdfast.models.selection import create_model
from holdfast.models.text_protocol import TextProtocolModel
from holdfast.packing.log_walk import InMemoryRecorder, walk_log
from holdfast.store import SqliteStore
from holdfast.tokenizers import counter_for_model
from support.local_model_tasks import PARSER, RELEASE, LocalTask

NAMED = {
    name: Path(os.environ.get(name) or "-") for name in ("HOLDFAST_LOCAL_MODEL", "HOLDFAST_LLAMA_SERVER")
}
ABSENT = [name for name, place in NAMED.items() if not place.is_file()]

pytestmark = [
    pytest.mark.local_model,
    pytest.mark.skipif(bool(ABSENT), reason=f"{' and '.join(ABSENT)} must name a file"),
]

log = logging.getLogger("local_model")
"""What came out, for whoever asks with `-rP --log-level=INFO`."""

MODEL = "llamacpp/small"
PATIENCE = "1200"
"""Seconds. A processor reads some dozen tokens in one, and half of it may be somebody else's."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the model can be asked. One thread: two that wait for each other stand still where others work too."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    words = ["--host", "127.0.0.1", "--port", port, "-c", 8192, "-t", 1, "-np", 1, "--offline"]
    model, server = NAMED.values()
    told = tmp_path_factory.mktemp("server") / "log.txt"
    with (
        told.open("w") as into,
        subprocess.Popen([server, "-m", model, *map(str, words)], stdout=into, stderr=into) as running,
    ):
        try:
            _wait_for(port, running, told)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            running.kill()


def _wait_for(port: int, running: subprocess.Popen[bytes], told: Path) -> None:
    for _ in range(600):
        if running.poll() is not None:
            pytest.fail(f"the server ended with {running.returncode}: {told.read_text()[-1000:]}")
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as line:
            try:
                line.request("GET", "/health")
                if line.getresponse().status == http.HTTPStatus.OK:
                    return
            except OSError:
                pass  # It does not listen yet.
        time.sleep(0.2)
    pytest.fail(f"the server is not ready: {told.read_text()[-1000:]}")


@pytest.mark.parametrize("protocol", ["chat", "messages", "responses"])
def test_a_reply_comes_in_pieces_with_its_usage(address: str, protocol: str) -> None:
    config = Config(models={MODEL: {"protocol": protocol}})
    asked = UserMessage((Text("Count from one to five, in words."),))
    request = ModelRequest(messages=(SystemMessage("Be brief."), asked), max_tokens=60, temperature=0.0)
    events = asyncio.run(_streamed(create_model(f"{MODEL}@{address}", config, {}), request))
    pieces = [came.text for came in events if isinstance(came, TextDelta)]
    reply = _reply(events)
    assert len(pieces) > 1
    assert "".join(pieces) == reply.text
    assert (reply.stop, reply.calls) == ("end", ())
    assert "three" in reply.text.lower()
    assert reply.usage is not None
    assert 10 < reply.usage.prompt < 100
    assert len(pieces) <= reply.usage.completion <= 60


async def _streamed(model: Model, request: ModelRequest) -> list[StreamEvent]:
    try:
        return [came async for came in model.stream(request)]
    finally:
        await model.aclose()


def _reply(events: list[StreamEvent]) -> ModelReply:
    last = events[-1]
    assert isinstance(last, ReplyCompleted)
    return last.reply


CRATES = ToolDefinition(
    "count_crates",
    "Says how many crates stand in a store.",
    {"type": "object", "properties": {"store": {"type": "string"}}, "required": ["store"]},
)
TRIES = 3
TURNS = 4


class Overheard:
    """A model, and what it was asked and really said."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.said: list[str] = []
        self._model = model

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        async for came in self._model.stream(request):
            if isinstance(came, ReplyCompleted):
                self.said.append(came.reply.text)
            yield came

    async def aclose(self) -> None:
        await self._model.aclose()


def test_a_tool_is_used_by_text_and_only_its_result_is_believed(address: str) -> None:
    """Small models like to write the observation themselves. The number can be known from the tool alone."""
    heard = Overheard(create_model(f"{MODEL}@{address}", None, {}))
    model = TextProtocolModel(heard, max_corrections=TRIES - 1)
    question = UserMessage((Text("How many crates stand in store B7?"),))
    told = SystemMessage("Be brief. What you do not know you look up with the tool.")
    messages: tuple[Any, ...] = (told, question)
    calls = 0
    for _ in range(TURNS):
        before = len(heard.said)
        request = ModelRequest(messages=messages, tools=(CRATES,), max_tokens=160, temperature=0.0)
        events = asyncio.run(_streamed(model, request))
        reply = _reply(events)
        corrections = sum(isinstance(came, RetryScheduled) for came in events)
        assert len(heard.said) - before == corrections + 1 <= TRIES
        if not reply.calls:
            break
        calls += 1
        (used,) = reply.calls
        assert (used.name, used.arguments) == ("count_crates", {"store": "B7"})
        assert "Observation" not in heard.said[-1]
        result = ToolMessage(used.id, used.name, (Text("4711 crates"),))
        messages = (*messages, AssistantMessage(reply.parts), result)
    assert calls >= 1, heard.said
    assert reply.stop == "end", heard.said
    assert "4711" in reply.text


def test_what_it_writes_is_checked_and_mended(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two recordings, since a small model may fail at one of them; at both it must not."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("HOLDFAST_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOLDFAST_STORE", str(tmp_path / "store.db"))
    monkeypatch.setenv("HOLDFAST_SUMMARY_TIMEOUT", PATIENCE)
    monkeypatch.setenv("HOLDFAST_SUMMARY_MAX_TOKENS", "600")
    writers = [_summarized(task, address, tmp_path) for task in (PARSER, RELEASE)]
    assert MODEL in writers, writers


def _summarized(task: LocalTask, address: str, folder: Path) -> str:
    """Who wrote the summary, once it holds all that a summary must."""
    recording = json_file(folder / f"{task.profile}.json", task.messages())
    options = ["--profile", task.profile, "--budget", "3k", "--json"]
    began = time.monotonic()
    done = holdfast("compact", recording, *options, "--model", f"{MODEL}@{address}")
    assert done.code == 0, done.err
    _tell(task.profile, done, time.monotonic() - began)
    for directive in task.directives:
        assert directive in done.json["text"]
    assert not task.injected or task.injected not in done.json["text"]
    _assert_reported(done)
    _assert_grounded(done, json.dumps(task.messages()))
    assert _findings(done, task.profile, folder) == ()
    return str(done.json["by"])


def _tell(profile: str, done: Outcome, seconds: float) -> None:
    summary = done.json
    kept = sum(line["by"] == "model" for line in summary["lines"])
    added, removed = len(summary["added"]), len(summary["removed"])
    sizes = f"{kept} lines kept, {added} added, {removed} removed, {seconds:.0f} s"
    log.info("%s by %s: %s\n%s", profile, summary["by"], sizes, done.text)


def _assert_reported(done: Outcome) -> None:
    """What the model failed at, and what was added and removed, is said."""
    summary = done.json
    text = [line["text"] for line in summary["lines"]]
    if summary["by"] != MODEL:
        assert (summary["by"], len(summary["failures"])) == ("rule", 2)
        assert any("so it was written by rule" in note for note in summary["notes"])
        return
    assert any(line["by"] == "model" for line in summary["lines"])
    added = [line["text"] for line in summary["lines"] if line["by"] == "rule"]
    assert sorted(added) == sorted(line for line in summary["added"] if line in text)
    assert all(one["why"] and one["line"] not in text for one in summary["removed"])


def _assert_grounded(done: Outcome, work: str) -> None:
    """Names and numbers of lines that the model wrote, found in another way than the check finds them."""
    for line in done.json["lines"]:
        if line["by"] == "model":
            named = re.findall(r"[\w.-]+/[\w./-]*\w|\b\w+\.(?:py|md|txt|toml)\b|\d{2,}|\w*_\w+", line["text"])
            assert [name for name in named if name not in work] == []


def _findings(done: Outcome, profile: str, folder: Path) -> tuple[object, ...]:
    """What the check has to say of the summary as it is shown, all of it read as the model's."""
    with SqliteStore(folder / "store.db") as store:
        entries = chain_path(Log.open(store, done.json["log"]).entries(), "")
    window, _ = walk_log(load_profile(profile, "3k"), counter_for_model(""), entries)
    plan = preview(InMemoryRecorder(window))
    assert plan is not None
    ready = prepare(plan, window.view(), model=False)
    content, problems = ready.form.parse(done.json["text"])
    assert not problems
    assert window.counter.text(done.json["text"]) < plan.replaced
    context = CheckContext.of(ready.form, ready.facts, ready.evidence, archive=plan.slot == "archive")
    return (*find_faults(content, context),)
