"""`holdfast view` in a process of its own, for a program that does something else.

Rule: it shares nothing with the program but the store, and ends with it, however that ends.
"""

import os
import subprocess
import sys
from tempfile import TemporaryFile
from typing import Self

from holdfast.errors import InputError
from holdfast.store_places import STORE_VARIABLE, Place, PostgresPlace

END_SECONDS = 5
"""How long it may take to end before it is killed."""


class ViewerProcess:
    """A viewer of a store, or of one of its logs. **Contract:** without `close` it ends with this process."""

    def __init__(self, store: Place, log: str = "", *, opens_browser: bool = False) -> None:
        browser = [] if opens_browser else ["--no-open"]
        # Everybody on the machine can read the arguments of a process, and a URL may have a password.
        place = [] if isinstance(store, PostgresPlace) else ["--store", str(store)]
        words = ["view", "--child", *place, *browser, "--", *([log] if log else [])]
        # -P: the current folder may contain a module of any name. A session of its own: Ctrl-C is for this process.
        self._said = TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(  # noqa: S603 - this very program
            [sys.executable, "-P", "-m", "holdfast", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            start_new_session=True,
            env={**os.environ, STORE_VARIABLE: store.url} if isinstance(store, PostgresPlace) else None,
        )
        self._address = ""
        self._is_closed = False

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def address(self) -> str:
        """Where the page is, or nothing if it was closed before that. Waits until it is served, and raises
        InputError if it cannot be."""
        assert self._process.stdout is not None
        if not self._address:
            self._address = self._process.stdout.readline().decode().strip()
        if not self._address and not self._is_closed:
            raise self._failure()
        return self._address

    def close(self) -> None:
        """End it. It waits for the end of its stdin."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._is_closed = True
        self._process.stdin.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._said.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _failure(self) -> InputError:
        """What it said last, as an error of this process."""
        self._process.wait()
        self._said.seek(0)
        said = self._said.read().decode("utf-8", "replace").splitlines()
        self.close()
        parts = {label: rest for label, _, rest in (line.partition(": ") for line in said)}
        return InputError(
            parts.get("error", "the viewer could not be started"),
            hint=parts.get("hint", "`holdfast view` says more"),
        )
