"""A request made again when that may help: not too often, not for too long, never sooner than asked.

Rule: only an error that is passing is tried again, and what was streamed before it is void. Waits are spread at
random over their whole length, so that many agents stopped at once do not come back at once.
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from msgspec import Struct

from holdfast.models.errors import ModelError
from holdfast.models.protocol import Came, Done, Retried


class Retries(Struct, frozen=True, kw_only=True):
    """How often and how long. Waits are seconds."""

    most: int = 5
    first: float = 0.5
    """The longest first wait; each further one may be twice as long."""
    longest: float = 30.0
    """No wait is longer, unless the provider asks for more."""
    total: float = 300.0
    """No wait begins that would end later than this after the first attempt began."""

    def span(self, number: int) -> float:
        """How long the wait of this number, counted from 0, may be."""
        return min(self.longest, self.first * 2.0 ** min(number, 64))


ONCE = Retries(most=0)
"""For those who do their own."""


async def with_retries(
    attempt: Callable[[], AsyncGenerator[Came, None]],
    retries: Retries,
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
    chance: Callable[[], float] = random.random,
) -> AsyncGenerator[Came, None]:
    """The events of the first attempt that succeeds, with `Retried` between attempts. Raises the last error."""
    began = clock()
    number = 0
    while True:
        try:
            async with aclosing(attempt()) as coming:
                async for came in coming:
                    yield came
                    if isinstance(came, Done):
                        return
            return
        except ModelError as error:
            if not error.is_passing or number >= retries.most:
                raise
            wait = retries.span(number) * chance() + (error.retry_after or 0.0)
            if clock() - began + wait > retries.total:
                if error.retry_after and not error.hint:
                    error.hint = f"the provider asks to wait for {error.retry_after:.0f} seconds"
                raise
            reason = error.message
        number += 1
        yield Retried(wait, reason)
        await sleep(wait)
