"""Waiting for what another process does, for as long as a loaded machine may need."""

import time
from collections.abc import Callable

LONGEST = 60.0


def wait_until(condition: Callable[[], object], every: float = 0.01) -> None:
    until = time.monotonic() + LONGEST
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(every)
