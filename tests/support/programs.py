"""Programs that a test starts and talks to."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


@contextmanager
def running(words: Sequence[object], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """A program that is killed where the test fails; `Popen` alone would wait for it, for ever."""
    with subprocess.Popen([str(word) for word in words], **options) as program:
        try:
            yield program
        except BaseException:
            program.kill()
            raise
