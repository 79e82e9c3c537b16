"""The loop: ask the model, run what it asks for, until it is done.

Rule: whatever happens, the log is valid after every step, and the next run continues from it.
"""

import asyncio

from holdfast.agents.agent import Agent, RunInterrupted
from holdfast.agents.model_requests import run_in_thread, running_loop
from holdfast.agents.outcomes import Ask, Compact, Continue, Done, End, Outcome, RunTools, Stop
from holdfast.agents.tool_results import mark_uncertain_calls
from holdfast.errors import ContextOverflow, InputError
from holdfast.events import OverflowReported
from holdfast.models.errors import ModelError, Overflowed
from holdfast.models.model import ModelReply

EMPTY = "Your last reply was empty. Continue with the task, or say that it is done and what came of it."
CUT_OFF = (
    "Your last reply was cut off because it was too long. Continue from where it ended, in smaller parts."
)
TOO_LONG = "the provider rejected the request as too long; folding and retrying"
DECLINED = Stop("refused", "the provider declined to answer", "say it in other words")


async def run(agent: Agent, text: str = "") -> End:
    """Say this to the agent, if anything, and let it work to an end: `Done`, `Ask` or `Stop`.

    It works from what is in its log; calls that a crash interrupted are marked first. An agent has one run at a
    time. Raises InputError while another is under way, and where nothing was said yet.
    """
    _check_ready(agent)
    if text:
        agent.say(text)
    if not agent.session.window.transcript.items:
        raise InputError("nothing was said to the agent yet", hint="say it: `run(agent, text)`")
    with agent.running():
        mark_uncertain_calls(agent.session)
        outcome: Outcome = Continue("")
        while True:
            outcome = await next_step(agent, before=outcome)
            match outcome:
                case RunTools(calls=calls):
                    outcome = await agent.run_tools(calls) or outcome
                case Compact():
                    outcome = await agent.summarize() or outcome
                case Done() if await agent.hears_more(outcome):
                    outcome = Continue("something was said meanwhile")
            if isinstance(outcome, Done | Ask | Stop):
                return outcome


def run_sync(agent: Agent, text: str = "") -> End:
    """`run`, for programs without an event loop of their own. Ctrl-C ends it, and the log stays valid."""
    _check_ready(agent)
    if running_loop() is not None:
        raise InputError(
            "`run_sync` cannot be used where an event loop runs, as in a notebook or a coroutine",
            hint="`await run(agent, text)` there",
        )

    async def run_and_close() -> End:
        try:
            return await run(agent, text)
        finally:
            # Connections belong to the event loop, which ends here.
            await agent.aclose()

    return asyncio.run(run_and_close())


def _check_ready(agent: Agent) -> None:
    if not isinstance(agent, Agent):
        raise InputError(
            f"a `{type(agent).__name__}` cannot be run", hint="pass an `Agent` first, then the text"
        )
    if agent.is_running:
        raise InputError(
            "the agent is working already",
            hint="`agent.say(text)` adds a message to its run; another conversation needs another agent",
        )


async def next_step(agent: Agent, before: Outcome) -> Outcome:
    """One request, and what follows from it. `before` is the outcome of the last step."""
    if stop := agent.stopped():
        return stop
    agent.record_messages()
    # Rendered off the event loop: a large result is read line by line, and a terminal must go on painting.
    await run_in_thread(agent.session.window.view)
    if ask := agent.take_summary():
        return ask
    if agent.waits_for_summary and not isinstance(before, Compact):
        return Compact("the window is filling up")
    try:
        reply = await agent.ask()
    except RunInterrupted:
        return agent.stopped() or Stop("interrupted", "interrupted")
    except Overflowed as error:
        if before == Continue(TOO_LONG):
            return Stop("overflow", error.message, error.hint)
        # So that the next pack makes room.
        agent.session.record(OverflowReported(error.limit, error.message))
        return Continue(TOO_LONG)
    except ContextOverflow as error:
        return Stop("overflow", error.message, error.hint)
    except ModelError as error:
        return Stop("model", error.message, error.hint)
    return _follows(agent, reply, before)


def _follows(agent: Agent, reply: ModelReply, before: Outcome) -> Outcome:
    """What follows from a reply, which is recorded first, unless it is empty."""
    if not reply.calls and not reply.text.strip():
        agent.record_empty_reply(reply, "empty reply")
        if reply.stop == "refused":
            return DECLINED
        if before == Continue(EMPTY):
            return Stop(
                "empty", "the model sent two empty replies", "send a message, or choose another model"
            )
        agent.remind(EMPTY)
        return Continue(EMPTY)
    agent.record_reply(reply)
    if reply.calls:
        return RunTools(reply.calls)
    if reply.stop == "refused":
        return DECLINED
    if reply.stop == "length" and before != Continue(CUT_OFF):
        agent.remind(CUT_OFF)
        return Continue(CUT_OFF)
    return Done(reply.text)
