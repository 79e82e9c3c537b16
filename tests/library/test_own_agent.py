"""An agent of one's own, with the names of the package alone: the example as it stands, and what it promises."""

import asyncio
import os
import re
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import get_args

import pytest

import holdfast
from holdfast import (
    Agent,
    CallFinished,
    Done,
    FoldMade,
    HoldfastError,
    RunLimits,
    ScriptedModel,
    Session,
    Stop,
    TextDelta,
    ToolCall,
    run,
    run_sync,
    tool,
)
from holdfast.agents import build
from holdfast.agents.coding import coding_session
from holdfast.agents.outcomes import RunStopReason
from holdfast.agents.pair import role_session
from holdfast.agents.reviewer import review_session
from holdfast.events import ApprovalGiven
from holdfast.messages import Text, Usage
from holdfast.models.model import ModelReply
from holdfast.store import SqliteStore
from support.provider_server import Failure, Script, serving

ANALYST = Path(__file__).parents[2] / "examples" / "data_analyst.py"


def call(name: str, id_: str = "c1", **arguments: object) -> ToolCall:
    return ToolCall(id_, name, arguments)


@tool(is_read_only=True)
def look(at: str) -> str:
    """Look at something."""
    return f"{at} is blue"


def test_the_data_analyst_has_forty_lines_and_top_level_names_only() -> None:
    lines = ANALYST.read_text("utf-8").splitlines()
    assert len(lines) <= 40
    assert [line for line in lines if "holdfast." in line] == []


def test_the_data_analyst_answers_from_the_database(tmp_path) -> None:
    with sqlite3.connect(tmp_path / "sales.db") as database:
        database.execute("CREATE TABLE orders (product TEXT, sold INTEGER)")
        database.execute("INSERT INTO orders VALUES ('tea', 3), ('coffee', 41)")
    database.close()
    best = "SELECT product, sold FROM orders ORDER BY sold DESC"
    replies = (
        Script(parts=(call("query", "c1", sql="DROP TABLE orders"), call("query", "c2", sql="SELECT none"))),
        Script(parts=(call("query", "c3", sql=best, limit=1),)),
        Script(parts=(Text("Coffee sold best: 41."),)),
    )
    with serving(*replies) as server:
        environment = {"PATH": os.environ["PATH"], "HOLDFAST_MODEL": f"compatible/test@{server.openai_url}"}
        done = subprocess.run(
            [sys.executable, ANALYST, "sales.db", "Which product sold best?"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stdout) == (0, "Coffee sold best: 41.\n"), done.stderr
    assert f"> {best}" in done.stderr
    told = {
        m["tool_call_id"]: m["content"] for m in server.requests[-1].json["messages"] if m["role"] == "tool"
    }
    assert "attempt to write a readonly database" in told["c1"]
    assert "no such column: none" in told["c2"]
    assert told["c3"] == "product\tsold\ncoffee\t41"
    assert {t["function"]["name"] for t in server.requests[-1].json["tools"]} == {"query", "Recall"}
    assert len(SqliteStore(tmp_path / "analyst.db").logs()) == 1


def test_a_model_is_enough() -> None:
    assert run_sync(Agent(ScriptedModel("Good day.")), "Hello.") == Done("Good day.")


def test_a_plain_function_is_made_a_tool() -> None:
    def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    model = ScriptedModel([call("double", number=21)], lambda request: request.messages[-1].text)
    assert str(run_sync(Agent(model, [double]), "Double it.")) == "42"


def test_what_happens_can_be_watched() -> None:
    seen: list[object] = []
    agent = Agent(ScriptedModel([call("look", at="the sky")], "Blue."), [look], watch=seen.append)
    run_sync(agent, "Look.")
    finished = [one for one in seen if isinstance(one, CallFinished)]
    assert [one.result.envelope.text for one in finished] == ["the sky is blue"]
    assert "".join(one.text for one in seen if isinstance(one, TextDelta)) == "Blue."


def test_calls_that_change_something_are_asked_about() -> None:
    sent: list[str] = []

    @tool
    def send(to: str) -> str:
        """Send a letter."""
        sent.append(to)
        return "sent"

    asked: list[str] = []

    def approve(asked_for: ToolCall) -> bool:
        asked.append(asked_for.name)
        return asked_for.arguments["to"] == "Ann"

    calls = [call("send", "1", to="Ann"), call("look", "2", at="it"), call("send", "3", to="all")]
    agent = Agent(ScriptedModel(calls, "Done."), [send, look], approve=approve)
    run_sync(agent, "Send them.")
    assert (sent, asked) == (["Ann"], ["send", "send"])
    kept = [e.event for e in agent.session.log.entries() if isinstance(e.event, ApprovalGiven)]
    assert [one.decision for one in kept] == ["once", "deny"]


def test_an_approval_may_be_a_coroutine() -> None:
    async def approve(_: ToolCall) -> bool:
        await asyncio.sleep(0)
        return False

    @tool
    def send() -> str:
        """Send it."""
        raise AssertionError("it was not approved")

    agent = Agent(ScriptedModel([call("send")], lambda r: r.messages[-1].text), [send], approve=approve)
    assert "denied this call of send" in str(run_sync(agent, "Send."))


def test_limits_end_a_run_and_the_next_message_continues_it() -> None:
    model = ScriptedModel(*([call("look", str(n), at=str(n))] for n in range(4)), "Done.")
    agent = Agent(model, [look], limits=RunLimits(steps=3))
    end = run_sync(agent, "Look.")
    assert isinstance(end, Stop)
    assert str(end) == "the limit of 3 steps is reached\nhint: send a message to continue"
    assert run_sync(agent, "Go on.") == Done("Done.")


def test_a_session_is_resumed_with_its_log(tmp_path) -> None:
    store = tmp_path / "agent.db"
    run_sync(Agent(ScriptedModel("Blue."), [look], system="Be brief.", store=store), "Which colour?")
    model = ScriptedModel("It was blue.")
    again = Agent(model, [look], session=Session.resume(store))
    run_sync(again, "Which colour was it?")
    said = [getattr(message, "text", "") for message in model.requests[0].messages]
    assert "Be brief." in said
    assert "Blue." in said
    assert len(SqliteStore(store).logs()) == 1


def test_a_long_run_is_folded_and_what_was_left_out_is_recalled() -> None:
    @tool(is_read_only=True)
    def read(page: int) -> str:
        """Read a page."""
        return "\n".join(f"page {page} line {n}: value {page * 1000 + n}" for n in range(60))

    seen: list[object] = []
    model = ScriptedModel(
        *([call("read", f"c{page}", page=page)] for page in range(30)),
        [call("Recall", "r", query="page 3 line 7")],
        lambda request: request.messages[-1].text,
    )
    agent = Agent(model, [read], session=Session(budget="16k"), watch=seen.append)
    assert "value 3007" in str(run_sync(agent, "Read every page."))
    assert any(isinstance(notice, FoldMade) for notice in seen)


def test_one_agent_runs_again_and_again_on_the_wire() -> None:
    """Each `run_sync` has an event loop of its own; connections of an earlier one must not be used."""
    with serving(
        Script(parts=(Text("One."),)), Failure(kind="server"), Script(parts=(Text("Two."),))
    ) as server:
        agent = Agent(f"compatible/test@{server.openai_url}")
        assert [str(run_sync(agent, "Say it.")) for _ in range(2)] == ["One.", "Two."]


def test_many_agents_at_once() -> None:
    async def both() -> list[str]:
        agents = [Agent(ScriptedModel([call("look", at=str(n))], f"{n}."), [look]) for n in range(5)]
        return [str(end) for end in await asyncio.gather(*(run(agent, "Look.") for agent in agents))]

    assert asyncio.run(both()) == ["0.", "1.", "2.", "3.", "4."]


def test_a_slow_function_does_not_hold_up_an_interruption() -> None:
    entered, leave = threading.Event(), threading.Event()

    @tool
    def wait() -> str:
        """Wait."""
        entered.set()
        leave.wait(60)
        return "late"

    async def interrupted() -> object:
        agent = Agent(ScriptedModel([call("wait")], "Done."), [wait])
        running = asyncio.create_task(run(agent, "Wait."))
        await asyncio.to_thread(entered.wait, 60)
        agent.interrupt()
        started = time.monotonic()
        end = await running
        leave.set()
        return end, time.monotonic() - started < 50

    end, is_soon = asyncio.run(interrupted())
    assert isinstance(end, Stop)
    assert end.reason == "interrupted"
    assert is_soon


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (Agent, "no model is chosen\nhint: name it"),
        (lambda: Agent("claude"), "should be `provider/name`"),
        (lambda: Agent("anthropic/claude-opus-5"), "needs a key, and `ANTHROPIC_API_KEY` is not set"),
        (lambda: Agent(ScriptedModel("x"), [look, 3]), "tool 1 is of type `int`"),
        (lambda: Agent(ScriptedModel("x"), [look, look]), "two tools are named `look`"),
        (lambda: Agent(ScriptedModel("x"), limits=RunLimits(dollars=1)), "limit in dollars cannot be kept"),
    ],
)
def test_what_cannot_be_an_agent_is_refused_in_a_sentence(make, words, monkeypatch) -> None:
    for variable in ("HOLDFAST_MODEL", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(HoldfastError) as caught:
        make()
    assert words in str(caught.value)


def test_the_window_and_the_price_of_a_known_model_are_found(monkeypatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    agent = Agent("anthropic/claude-opus-5", limits=RunLimits(dollars=1))
    assert agent.model_entry.price
    assert 0 < agent.session.profile.window <= agent.model_entry.window
    usage = ModelReply(parts=(Text("x"),), usage=Usage(1_000, 10), model="m", stop="end")
    agent.record_reply(usage)
    assert agent.budget.spent.dollars > 0


def test_the_built_in_agents_are_made_of_the_same() -> None:
    assert build.Agent is holdfast.Agent
    assert build.Session is holdfast.Session
    assert coding_session.run is role_session.run is review_session.run is holdfast.run


PAGE = (ANALYST.parents[1] / "docs" / "your-own-agent.md").read_text("utf-8")


def test_the_page_shows_the_analyst_as_it_is() -> None:
    assert ANALYST.read_text("utf-8") in PAGE


def test_the_page_lists_every_reason_to_stop() -> None:
    listed = PAGE.partition("The `reason` is one word: ")[2].partition("\n")[0]
    assert sorted(re.findall(r"`(\w+)`", listed)) == sorted(get_args(RunStopReason))
