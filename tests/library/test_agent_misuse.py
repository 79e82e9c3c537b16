"""What an agent is given by mistake, or at the wrong moment: one sentence with a hint, and nothing is lost."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from holdfast import (
    Agent,
    Done,
    HoldfastError,
    Notice,
    Replied,
    RunLimits,
    ScriptedModel,
    Session,
    Stop,
    ToolCall,
    run,
    run_sync,
    tool,
)
from holdfast.agents.outcomes import End
from holdfast.events import AssistantReplied, ToolReturned, UserSaid
from holdfast.messages import Image, Text
from holdfast.store import SqliteStore
from holdfast.tools.envelope import Envelope, ToolResult
from support.programs import running
from support.provider_server import Script, serving


@tool(is_read_only=True)
def look(at: str = "it") -> str:
    """Look at something."""
    return f"{at} is blue"


def agent(*replies, **given) -> Agent:
    return Agent(ScriptedModel(*(replies or ("Done.",))), given.pop("tools", [look]), **given)


def events(made: Agent) -> list[object]:
    return [entry.event for entry in made.session.log.entries()]


@tool(name="Recall")
def own_recall(query: str) -> str:
    """Remember."""
    return query


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"tools": look}, "the agent's `tools` are of type `FunctionTool`"),
        ({"tools": None}, "the agent's `tools` are of type `NoneType`"),
        ({"tools": [own_recall]}, "the tool name `Recall` is taken"),
        ({"model": 3}, "the agent's `model` is of type `int`"),
        ({"model": ScriptedModel}, "the agent's `model` is of type `type`"),
        ({"system": ["Be brief."]}, "the agent's `system` is of type `list`"),
        ({"session": "shop.db"}, "the agent's `session` is of type `str`"),
        ({"store": 3}, "the store is of type `int`"),
        ({"limits": {"steps": 3}}, "the agent's `limits` is of type `dict`"),
        ({"limits": RunLimits(steps=-1)}, "the limit of steps is the number -1"),
        ({"limits": RunLimits(seconds=float("nan"))}, "the limit of seconds is the number nan"),
        ({"limits": RunLimits(tokens="3")}, "the limit of tokens is the text `3`"),  # type: ignore[arg-type]
        ({"approve": True}, "the agent's `approve` is of type `bool`"),
        ({"watch": 3}, "the agent's `watch` is of type `int`"),
    ],
)
def test_what_an_agent_cannot_use_is_refused(given, words) -> None:
    with pytest.raises(HoldfastError) as caught:
        Agent(**({"model": ScriptedModel("x")} | given))
    assert words in str(caught.value)
    assert caught.value.hint


def test_a_store_beside_a_session_is_refused(tmp_path) -> None:
    """It was passed over: the log was in memory only."""
    with pytest.raises(HoldfastError, match="writes to the store of that session"):
        agent(session=Session(), store=tmp_path / "agent.db")


def test_a_refused_agent_leaves_no_log_behind(tmp_path) -> None:
    """The newest log would be an empty one, and that is what `Session.resume` continues."""
    store = SqliteStore(tmp_path / "agent.db")
    with pytest.raises(HoldfastError):
        agent(tools=[look, 3], store=store)
    assert store.logs() == ()


@pytest.mark.parametrize("text", [3, b"Look.", ["Look."], {"role": "user", "content": "Look."}])
def test_only_text_is_said(text) -> None:
    made = agent()
    with pytest.raises(HoldfastError, match="not a text"):
        run_sync(made, text)
    assert run_sync(made, "Look.") == Done("Done.")


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_agent_that_was_told_nothing_asks_no_model(text) -> None:
    made = agent()
    with pytest.raises(HoldfastError, match="nothing was said to the agent yet"):
        run_sync(made, text)
    assert made.model.requests == []


def test_what_is_no_agent_is_not_run() -> None:
    with pytest.raises(HoldfastError, match="a `str` cannot be run"):
        run_sync("Look.")  # type: ignore[arg-type]


def test_run_sync_where_a_loop_runs_says_what_to_do() -> None:
    async def inside() -> object:
        return run_sync(agent(), "Look.")

    with pytest.raises(HoldfastError, match="await run"):
        asyncio.run(inside())


def test_a_second_run_at_once_is_refused_and_the_first_goes_on() -> None:
    made = agent([ToolCall("c", "look", {})], "One.", "Two.")

    async def both() -> list[object]:
        return await asyncio.gather(run(made, "One?"), run(made, "Two?"), return_exceptions=True)

    first, second = asyncio.run(both())
    assert first == Done("One.")
    assert "the agent is working already\nhint: `agent.say(text)`" in str(second)
    assert [one.parts[0].text for one in events(made) if isinstance(one, UserSaid)] == ["One?"]
    assert run_sync(made, "Two?") == Done("Two.")


def test_an_agent_of_a_local_model_may_be_made_in_a_coroutine() -> None:
    async def inside(url: str) -> object:
        async with Agent(f"compatible/test@{url}") as made:
            return await run(made, "Hello.")

    with serving(Script(parts=(Text("Good day."),))) as server:
        assert asyncio.run(inside(server.openai_url)) == Done("Good day.")


def test_two_agents_share_a_session_in_turns_each_with_its_own_tools() -> None:
    @tool
    def write() -> str:
        """Write."""
        return "written"

    session = Session()
    reader = agent("One.", "Three.", session=session, system="You read.")
    writer = agent("Two.", session=session, system="You write.", tools=[write])
    for made in (reader, writer, reader):
        run_sync(made, "Go on.")
    requests = [*reader.model.requests[:1], *writer.model.requests, *reader.model.requests[1:]]
    assert [one.tools[0].name for one in requests] == ["look", "write", "look"]
    assert [one.messages[0].text for one in requests] == ["You read.", "You write.", "You read."]


@pytest.mark.parametrize("is_coroutine", [True, False])
def test_an_interruption_from_another_thread_ends_a_run(is_coroutine) -> None:
    entered, leave = threading.Event(), threading.Event()

    @tool
    async def wait() -> None:
        """Wait."""
        entered.set()
        await asyncio.sleep(60)

    @tool(name="wait")
    def wait_in_thread() -> None:
        """Wait."""
        entered.set()
        leave.wait(60)

    made = agent([ToolCall("c", "wait", {})], tools=[wait if is_coroutine else wait_in_thread])

    def interrupt() -> None:
        entered.wait(60)
        made.interrupt()

    threading.Thread(target=interrupt).start()
    started = time.monotonic()
    end = run_sync(made, "Wait.")
    leave.set()
    assert isinstance(end, Stop)
    assert end.reason == "interrupted"
    assert time.monotonic() - started < 50


def test_an_interruption_before_a_run_ends_it_as_it_begins_and_no_other() -> None:
    made = agent("One.", "Two.")
    made.interrupt()
    end = run_sync(made, "Look.")
    assert isinstance(end, Stop)
    assert end.reason == "interrupted"
    assert not made.model.requests
    assert run_sync(made) == Done("One.")

    async def interrupted_task() -> End:
        task = asyncio.create_task(run(made, "Again."))
        made.interrupt()
        return await task

    assert isinstance(asyncio.run(interrupted_task()), Stop)
    assert run_sync(made) == Done("Two.")


def test_an_interruption_of_a_run_that_ends_does_not_reach_the_next() -> None:
    def interrupt(notice: Notice) -> None:
        if isinstance(notice, Replied):
            made.interrupt()

    made = agent("One.", "Two.", watch=interrupt)
    assert run_sync(made, "Look.") == Done("One.")
    assert run_sync(made, "Look again.") == Done("Two.")


def test_a_watch_that_raises_is_logged_and_changes_nothing(caplog) -> None:
    told: list[str] = []

    @tool
    def read(number: int) -> str:
        """Read."""
        return "\n".join(f"page {number} line {n}: value {number * 1000 + n}" for n in range(60))

    def watch(notice: Notice) -> None:
        told.append(type(notice).__name__)
        raise ValueError("the screen is gone")

    calls = [[ToolCall(f"c{number}", "read", {"number": number})] for number in range(24)]
    made = Agent(
        ScriptedModel(*calls, "", "Done."),
        [read],
        session=Session(budget="16k"),
        watch=watch,
        summarizer=ScriptedModel(*["It read."] * 9),
    )
    assert run_sync(made, "Read.") == Done("Done.")
    assert sum(isinstance(event, ToolReturned) for event in events(made)) == 24
    kinds = {"StepBegan", "TextDelta", "ReplyCompleted", "Replied", "CallStarted", "CallFinished", "FoldMade"}
    assert {*told} >= {*kinds, "Reminded"}
    assert len(caplog.records) == len(told)
    assert "`watch` failed at StepBegan" in caplog.text


INTERRUPTED_PROGRAM = """
import sys, time
from holdfast import Agent, ScriptedModel, TextDelta, ToolCall, run_sync, tool

@tool
def wait() -> None:
    "Wait."
    print("here", flush=True)
    time.sleep(60)

def show(notice):
    if isinstance(notice, TextDelta):
        print("here", flush=True)
        time.sleep(0.05)

script = [ToolCall("c", "wait", {})] if sys.argv[1] == "tool" else "word " * 2_000
run_sync(Agent(ScriptedModel(script), [wait], store="agent.db", watch=show), "Go.")
"""


@pytest.mark.parametrize("during", ["tool", "text"])
def test_ctrl_c_ends_a_program_at_once_and_its_log_goes_on(during, tmp_path) -> None:
    command = [sys.executable, "-c", INTERRUPTED_PROGRAM, during]
    with running(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=os.environ
    ) as program:
        assert program.stdout
        program.stdout.readline()
        time.sleep(0.3)
        started = time.monotonic()
        program.send_signal(signal.SIGINT)
        program.stdout.read()
        program.wait()
        assert time.monotonic() - started < 40
    made = agent("Resumed.", session=Session.resume(tmp_path / "agent.db"))
    kept = [one for one in events(made) if isinstance(one, AssistantReplied | ToolReturned)]
    if during == "tool":
        assert "what it did is uncertain" in kept[-1].parts[0].text
    else:
        assert kept[-1].parts[0].text.startswith("word word")
    assert run_sync(made, "Go on.") == Done("Resumed.")


def test_a_result_that_no_log_can_hold_ends_the_run() -> None:
    """It was passed over, and the model was told that there is none."""

    @tool
    def draw() -> ToolResult:
        """Draw."""
        picture = Image("image/png", data=b"\x89PNG")  # type: ignore[arg-type]
        return ToolResult(Envelope(status="success", text="a picture"), (picture,), "a picture")

    made = agent([ToolCall("c", "draw", {})], "Done.", tools=[draw])
    with pytest.raises(AttributeError):
        run_sync(made, "Draw.")


@pytest.mark.parametrize("reply", [3, None, ["One.", "Two."], [3]])
def test_what_is_no_reply_of_a_script_is_refused(reply) -> None:
    with pytest.raises(HoldfastError, match="reply 1 of the script is no reply"):
        ScriptedModel("One.", reply)
    with pytest.raises(HoldfastError, match="reply 0 of the script is no reply"):
        run_sync(agent(lambda _: reply), "Look.")
