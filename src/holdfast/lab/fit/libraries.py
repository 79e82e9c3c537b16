"""What fitting needs beside Holdfast itself, and how it is loaded.

Rule: asked for before any work, loaded when work begins, and nothing of it is loaded here.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from holdfast.errors import HoldfastError

NEEDED = ("numpy", "sklearn", "threadpoolctl")


def require_libraries() -> None:
    if any(find_spec(name) is None for name in NEEDED):
        raise HoldfastError(
            "fitting needs scikit-learn, which is not installed", hint="pip install 'holdfast[fit]'"
        )


@contextmanager
def loading() -> Iterator[None]:
    """Hold Ctrl-C back while libraries are imported, so that the threads they start never see it.

    A thread that does would interrupt the main one even where that holds Ctrl-C back: as it starts a process.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
