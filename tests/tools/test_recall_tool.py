"""Recall as a tool, over a real store."""

import asyncio
from functools import partial

import pytest

from holdfast.events import ToolReturned
from holdfast.ids import text_id
from holdfast.log import Log
from holdfast.messages import Text, ToolCall
from holdfast.recall import RECALL_TOOL, answer_recall
from holdfast.store import SqliteStore
from holdfast.tools.recall import recall_tool
from holdfast.tools.toolbox import Toolbox
from holdfast.tools.workspace import Workspace

TEXT = "\n".join(f"line {n}" for n in range(1, 1001))


@pytest.fixture
def store(tmp_path):
    with SqliteStore(tmp_path / "store.db") as opened:
        Log.create(opened, redact=str).append(ToolReturned("c", "Bash", (Text(TEXT),)))
        yield opened


@pytest.fixture
def toolbox(store, tmp_path):
    return Toolbox([recall_tool(RECALL_TOOL, partial(answer_recall, store))], Workspace([tmp_path]))


def ask(toolbox, **arguments):
    (result,) = asyncio.run(toolbox.run_calls([ToolCall("r", "Recall", arguments)]))
    return result


def test_the_model_reads_what_the_handler_answers(toolbox, store):
    arguments = {"id": text_id(TEXT), "lines": "999-1000"}
    result = ask(toolbox, **arguments)
    assert result.parts == (Text(answer_recall(store, arguments)[0]),)
    assert "line 1000" in result.envelope.text
    assert result.shown == f"[recall {text_id(TEXT)} lines 999-1000 of 1000]"
    assert result.envelope.context["asked"] == arguments


def test_an_unknown_id_is_an_error_that_never_opens_a_circuit(toolbox):
    for _ in range(5):
        result = ask(toolbox, id="a000000")
        assert result.is_error
        assert "a000000" in result.envelope.text
    assert not ask(toolbox, id=text_id(TEXT)).is_error


def test_the_definition_is_the_one_that_packs_hand_out(toolbox):
    assert toolbox.definitions == (RECALL_TOOL,)
