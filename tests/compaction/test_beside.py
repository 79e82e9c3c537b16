"""Summaries written beside the agent, and models that hang or raise: nobody waits for them, and nothing is lost."""

import asyncio

import pytest
from msgspec.structs import replace

from holdfast.compaction.compact import BackgroundCompaction, compact
from holdfast.events import Compacted, UsageReported
from holdfast.models.scripted import ScriptedModel
from holdfast.packing.profile import CODE
from holdfast.session import Session
from support.command_steps import GOOD, RULE, events_of, started, steps
from support.logs import user


class HangingModel:
    name = "hanging/model"

    async def stream(self, _):
        await asyncio.sleep(3_600)
        yield None


def test_a_model_that_hangs_is_given_up():
    session = Session(profile=replace(CODE, name="quick", summary_timeout=0.05), budget="8k")
    session.record(user(f"Fix it. {RULE}"), *steps(0, 40))
    done = asyncio.run(compact(session, HangingModel()))
    assert done is not None
    assert done.written.by == "rule"
    assert done.written.failures == ("no answer within 0.05 s",) * 2


class RaisingModel:
    """Somebody's own model, which raises what it likes."""

    name = "own/model"

    async def stream(self, _):
        raise KeyError("choices")
        yield None


def test_whatever_a_model_raises_the_rule_half_stands_in():
    async def run():
        session = started()
        beside = BackgroundCompaction(session, RaisingModel())
        beside.start()
        return await beside.wait()

    done = asyncio.run(run())
    assert done is not None
    assert done.written.by == "rule"
    assert "KeyError: 'choices'" in done.written.failures[0]


def test_a_script_that_is_too_short_is_the_tests_mistake():
    with pytest.raises(AssertionError, match="its script has 1 replies"):
        asyncio.run(compact(started(), ScriptedModel("")))


def test_beside_the_agent_the_next_request_does_not_wait():
    async def run():
        session, model = started(), ScriptedModel(GOOD)
        beside = BackgroundCompaction(session, model)
        assert beside.start()
        session.pack()  # a fold by rule makes room at once
        assert beside.finish() is None
        session.record(*steps(40, 42))
        return await beside.wait()

    done = asyncio.run(run())
    assert done is not None
    assert done.written.by == "scripted/model"
    assert done.tokens_after < done.tokens_before, "the lines of that fold were chosen with more room"


def test_a_result_that_came_too_late_is_discarded():
    async def run():
        session = started()
        beside = BackgroundCompaction(session, ScriptedModel(GOOD))
        beside.start()
        await compact(session)  # someone was quicker
        count = len(session.log.entries())
        assert await beside.wait() is None
        (added,) = session.log.entries()[count:]
        assert isinstance(added.event, UsageReported), "what it cost was spent"

    asyncio.run(run())


def test_a_hung_summary_keeps_nobody_from_leaving():
    async def run():
        beside = BackgroundCompaction(started(), HangingModel())
        beside.start()
        await asyncio.sleep(0)
        beside.cancel()
        return beside.is_running

    assert asyncio.run(run()) is False


def test_nobody_need_give_it_up_to_leave():
    async def run():
        BackgroundCompaction(started(), HangingModel()).start()
        await asyncio.sleep(0)

    asyncio.run(run())


def test_a_summary_that_was_cancelled_is_none_and_another_may_begin():
    async def run():
        session = started()
        beside = BackgroundCompaction(session, HangingModel())
        beside.start()
        await asyncio.sleep(0)
        waiting = asyncio.create_task(beside.wait())
        await asyncio.sleep(0)
        waiting.cancel()
        assert beside.is_running, "who waits for it may go, and it goes on"
        beside.cancel()
        assert beside.finish() is None
        assert beside.start()
        beside.cancel()
        assert not events_of(session, Compacted)

    asyncio.run(run())
