"""Requests are made again when it may help, after waits that nothing here really waits for."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.messages import Text
from holdfast.models.errors import (
    AuthFailed,
    BadReply,
    ModelError,
    NetworkFailed,
    Overflowed,
    RateLimited,
    Refused,
    TimedOut,
)
from holdfast.models.model import ModelReply, ReplyCompleted, RetryScheduled, StreamEvent, TextDelta
from holdfast.models.remote import RetryPolicy, with_retries

DONE = ReplyCompleted(ModelReply(parts=(Text("ok"),), stop="end"))


class World:
    """Attempts that fail as told, and a clock that only sleeping and trying move."""

    def __init__(self, *failures: ModelError, chance: float = 1.0, takes: float = 0.0) -> None:
        self.failures = list(failures)
        self.chance = chance
        self.takes = takes
        self.now = 100.0
        self.slept: list[float] = []
        self.attempts = 0
        self.closed = 0

    async def attempt(self):
        self.attempts += 1
        self.now += self.takes
        try:
            yield TextDelta("some")
            if self.failures:
                raise self.failures.pop(0)
            yield TextDelta(" more")
            yield DONE
        finally:
            self.closed += 1

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def run(self, retries: RetryPolicy) -> list[StreamEvent]:
        async def gather() -> list[StreamEvent]:
            stream = with_retries(
                self.attempt, retries, sleep=self.sleep, clock=lambda: self.now, chance=lambda: self.chance
            )
            return [came async for came in stream]

        return asyncio.run(gather())


def test_a_retry_event_voids_what_was_streamed_before():
    world = World(NetworkFailed("broke off"))
    assert world.run(RetryPolicy()) == [
        TextDelta("some"),
        RetryScheduled(0.5, "broke off"),
        TextDelta("some"),
        TextDelta(" more"),
        DONE,
    ]
    assert (world.slept, world.closed) == ([0.5], 2)


def test_waits_double_up_to_the_longest():
    world = World(*(NetworkFailed("down") for _ in range(5)))
    world.run(RetryPolicy(most=5, first=1.0, longest=5.0))
    assert world.slept == [1.0, 2.0, 4.0, 5.0, 5.0]


def test_a_wait_is_spread_over_its_whole_length():
    def waits(chance: float) -> list[float]:
        world = World(NetworkFailed("down"), NetworkFailed("down"), chance=chance)
        world.run(RetryPolicy(first=2.0))
        return world.slept

    assert waits(0.0) == [0.0, 0.0]
    assert waits(0.25) == [0.5, 1.0]


@pytest.mark.parametrize(
    "error", [AuthFailed("no"), Refused("no"), Overflowed("too long", limit=8), ModelError("no")]
)
def test_what_does_not_pass_is_not_tried_again(error):
    world = World(error)
    with pytest.raises(type(error)) as raised:
        world.run(RetryPolicy())
    assert raised.value is error
    assert (world.attempts, world.slept, world.closed) == (1, [], 1)


@pytest.mark.parametrize("error", [NetworkFailed, TimedOut, RateLimited, BadReply])
def test_what_passes_is_tried_again(error):
    assert World(error("for now")).run(RetryPolicy())[-1] == DONE


def test_one_instance_may_be_told_not_to_pass():
    error = RateLimited("never again")
    error.is_transient = False
    with pytest.raises(RateLimited):
        World(error).run(RetryPolicy())


def test_the_last_error_is_raised_when_there_were_enough():
    world = World(*(NetworkFailed(f"failure {i}") for i in range(9)))
    with pytest.raises(NetworkFailed, match="failure 3"):
        world.run(RetryPolicy(most=3))
    assert world.attempts == 4


def test_once_is_once():
    with pytest.raises(NetworkFailed):
        World(NetworkFailed("down")).run(RetryPolicy(most=0))


def test_what_the_provider_asks_for_is_waited_for_and_a_little_more():
    world = World(RateLimited("slow", retry_after=20.0), RateLimited("slow", retry_after=0.0), chance=0.5)
    world.run(RetryPolicy(first=1.0, longest=8.0))
    assert world.slept == [20.5, 1.0]


def test_any_error_can_carry_what_the_provider_asks_for():
    error = NetworkFailed("in maintenance")
    error.retry_after = 7.0
    world = World(error, chance=0.0)
    world.run(RetryPolicy())
    assert world.slept == [7.0]


def test_waits_never_exceed_the_total():
    world = World(RateLimited("come back tomorrow", retry_after=86_400.0))
    with pytest.raises(RateLimited) as raised:
        world.run(RetryPolicy(total=300.0))
    assert world.slept == []
    assert raised.value.hint == "the provider asks to wait 86400 seconds"


def test_time_spent_trying_counts_into_the_total():
    world = World(*(TimedOut("nothing came") for _ in range(9)), takes=120.0)
    with pytest.raises(TimedOut):
        world.run(RetryPolicy(most=9, total=300.0))
    assert world.attempts == 3


@pytest.mark.slow
@given(
    st.lists(st.one_of(st.none(), st.floats(0, 100)), max_size=12),
    st.floats(0, 1),
    st.builds(
        RetryPolicy,
        most=st.integers(0, 8),
        first=st.floats(0, 10),
        longest=st.floats(0, 60),
        total=st.floats(0, 400),
    ),
)
def test_waits_are_bounded_whatever_is_asked_for(asked, chance, retries):
    world = World(*(RateLimited("slow", retry_after=wait) for wait in asked), chance=chance)
    try:
        told = [came for came in world.run(retries) if isinstance(came, RetryScheduled)]
        assert [one.seconds for one in told] == world.slept
        assert len(told) == len(asked)
    except RateLimited:
        assert len(world.slept) <= retries.most
    assert sum(world.slept) <= retries.total + 1e-6
    for wait, least in zip(world.slept, asked, strict=False):
        assert (least or 0.0) <= wait <= (least or 0.0) + retries.longest


def test_a_reader_who_leaves_closes_the_attempt():
    async def leave() -> int:
        world = World()
        stream = with_retries(world.attempt, RetryPolicy())
        await anext(stream)
        await stream.aclose()
        # At once, not when the loop ends or a collector comes by.
        return world.closed

    assert asyncio.run(leave()) == 1


def test_nothing_is_tried_again_once_the_reply_is_given():
    async def attempt():
        yield DONE
        raise NetworkFailed("after the end")

    async def gather() -> list[StreamEvent]:
        return [came async for came in with_retries(attempt, RetryPolicy())]

    assert asyncio.run(gather()) == [DONE]


def test_cancelling_does_not_wait_for_the_wait():
    async def cancel() -> None:
        world = World(NetworkFailed("down"))
        stream = with_retries(
            world.attempt, RetryPolicy(first=3600.0, longest=3600.0, total=1e9), chance=lambda: 1.0
        )
        assert [await anext(stream), await anext(stream)] == [
            TextDelta("some"),
            RetryScheduled(3600.0, "down"),
        ]
        task = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
