"""The loop with a real small model that has no tool calling: it finds out by the text protocol what it cannot know.

`HOLDFAST_LOCAL_MODEL` names a GGUF file and `HOLDFAST_LLAMA_SERVER` a `llama-server`; without them nothing is run.
Few tools and few words: a processor reads some dozen tokens a second, and a small model loses its way among many.
"""

import asyncio
import logging

import pytest
from msgspec.structs import replace

from holdfast.agents.agent import Agent
from holdfast.agents.limits import RunBudget, RunLimits
from holdfast.agents.loop import run
from holdfast.agents.model_requests import RequestSettings
from holdfast.agents.outcomes import Done
from holdfast.config import Config
from holdfast.events import AssistantReplied, ToolReturned
from holdfast.messages import ToolCall
from holdfast.models.selection import create_model
from holdfast.models.text_protocol import TextProtocolModel
from holdfast.packing.profile import BUILT_IN
from holdfast.session import Session
from holdfast.store import SqliteStore
from holdfast.tools.files.read import read_tool
from holdfast.tools.files.seen_files import SeenFiles
from holdfast.tools.search.ls import ls_tool
from holdfast.tools.workspace import Workspace
from support.llama_server import ABSENT, REASON, local_model

pytestmark = [pytest.mark.local_model, pytest.mark.skipif(bool(ABSENT), reason=REASON)]

log = logging.getLogger("local_model")
"""What came out, for whoever asks with `-rP --log-level=INFO`."""

MODEL = "llamacpp/small"
SYSTEM = "You answer questions about the files of a folder. Look into them with tools; never guess."
TASK = "Which port is in the file settings.toml? Read the file, then answer with the number."
TRIES = 3
"""Such a model does not always find its way; what it does must be right whenever it does."""


class Tempered:
    """A model that is asked at a temperature; at 0 it says what is likeliest, so that every run is the same."""

    def __init__(self, model, temperature):
        self.name = model.name
        self._model = model
        self._temperature = temperature

    def stream(self, request):
        return self._model.stream(replace(request, temperature=self._temperature))

    async def aclose(self):
        await self._model.aclose()


async def asked(folder, root, address, tried):
    """What a session of one task comes to, and what is in its log."""
    model = create_model(f"{MODEL}@{address}", Config(models={MODEL: {"tools": False}}), {})
    assert isinstance(model, TextProtocolModel)
    store = SqliteStore(folder / "store.db")
    profile = BUILT_IN["code"].scaled_to(4_000)
    session = Session(profile=profile, store=store, log=f"try{tried}", system=SYSTEM, tools=None, model=MODEL)
    agent = Agent(
        Tempered(model, 0.3 * tried),
        [ls_tool(), read_tool(SeenFiles())],
        session=session,
        workspace=Workspace([root]),
        request_settings=RequestSettings(max_tokens=300),
        compacts_in_background=False,
        budget=RunBudget(RunLimits(steps=6)),
    )
    try:
        agent.say(TASK)
        return await run(agent), [entry.event for entry in session.log.entries()]
    finally:
        await agent.aclose()
        store.close()


def test_a_short_task_is_done_by_text_from_the_question_to_the_answer(tmp_path):
    root = tmp_path / "folder"
    root.mkdir()
    (root / "settings.toml").write_text('host = "127.0.0.1"\nport = 47113\n')
    (root / "readme.md").write_text("A small server.\n")
    with local_model(tmp_path) as address:
        for tried in range(TRIES):
            end, events = asyncio.run(asked(tmp_path, root, address, tried))
            calls = [
                p
                for e in events
                if isinstance(e, AssistantReplied)
                for p in e.parts
                if isinstance(p, ToolCall)
            ]
            results = [event for event in events if isinstance(event, ToolReturned)]
            log.info("try %s came to %s after %s", tried, end, [(c.name, c.arguments) for c in calls])
            assert [c.id for c in calls] == [r.call_id for r in results], "each call has its result"
            if isinstance(end, Done) and "47113" in end.text:
                break
        else:
            pytest.fail(f"{TRIES} tries, and none found the port: {end}")
    reads = [r for c, r in zip(calls, results, strict=True) if c.name == "Read" and not r.error]
    assert any("47113" in str(read.parts) for read in reads), "it can be known from the file alone"
