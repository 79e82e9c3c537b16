"""The event loop of an adapter whose library is asynchronous.

Rule: one for all recordings of a process, since an open loop holds three files.
"""

import asyncio
from collections.abc import Awaitable
from functools import cache
from typing import TypeVar

T = TypeVar("T")


def wait_for(awaitable: Awaitable[T]) -> T:
    return _event_loop().run_until_complete(awaitable)


@cache
def _event_loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()
