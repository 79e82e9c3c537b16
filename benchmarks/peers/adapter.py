"""A running adapter, and the idle ones that wait for the next recording.

Rule: a process in doubt (late, dead, asked but not heard) is never used again, and none outlives us.
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import IO, Any
from weakref import finalize

from holdfast.errors import HoldfastError

BENCHMARKS = Path(__file__).resolve().parents[1]
QUOTED_LINES = 3
PASSED_ON = ("PATH", "LANG", "LC_ALL", "TMPDIR", "PYTHONHASHSEED")
"""All that an adapter sees of our environment: no keys, no proxies, no settings of a user."""


class PeerError(HoldfastError):
    """A peer failed at a request."""


class Adapter:
    """A process with an empty folder that is its home as well."""

    def __init__(self, command: Sequence[str], timeout: float) -> None:
        self.command = tuple(command)
        self.timeout = timeout
        home = tempfile.TemporaryDirectory(prefix="peer-")
        # A file and not a pipe: nobody has to read it while the process runs.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
        self._process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=home.name,
            env=_environment(home.name),
        )
        self._asked = False
        self._closing = finalize(self, _end, os.getpid(), self._process, self._errors, home)

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """One answer, which may tell of an error. Raises `PeerError` where none came, and all is over then."""
        assert not self._asked, "an answer is outstanding"
        line, late = self._line(json.dumps(request).encode() + b"\n")
        if late:
            raise self._failure(f"gave no answer in {self.timeout:g} s")
        if not line.endswith(b"\n"):
            self._process.kill()
            raise self._failure(
                f"ended with code {self._process.wait()}" if not line else "broke off an answer"
            )
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise self._failure(f"wrote what is no answer: {line[:80]!r}")
        self._asked = False
        return answer

    @property
    def is_idle(self) -> bool:
        """Alive, and every question answered."""
        return self._closing.alive and not self._asked and self._process.poll() is None

    def close(self) -> None:
        self._closing()

    def _line(self, request: bytes) -> tuple[bytes, bool]:
        """The line written in answer, and whether time ran out first."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._asked = True
        with self._watched() as late:
            try:
                self._process.stdin.write(request)
                self._process.stdin.flush()
                return self._process.stdout.readline(), bool(late)
            except OSError:
                return b"", bool(late)

    @contextmanager
    def _watched(self) -> Iterator[list[bool]]:
        """Kills the process when time is up, which ends a blocked write as well as a blocked read."""
        late: list[bool] = []

        def end() -> None:
            late.append(True)
            self._process.kill()

        timer = Timer(self.timeout, end)
        timer.daemon = True
        timer.start()
        try:
            yield late
        finally:
            timer.cancel()

    def _failure(self, what: str) -> PeerError:
        self._process.kill()
        self._process.wait()
        self._errors.seek(0)
        said = self._errors.read().decode("utf-8", "replace").strip().splitlines()[-QUOTED_LINES:]
        tail = "; its last words: " + " | ".join(line.strip()[:200] for line in said) if said else ""
        return PeerError(f"the peer {what}{tail}")


_idle: dict[tuple[str, ...], Adapter] = {}
_owner = os.getpid()


def take(command: Sequence[str], timeout: float) -> Adapter:
    """An idle adapter of this command, or a new one."""
    global _owner  # noqa: PLW0603
    if _owner != os.getpid():
        # After a fork the idle ones are our parent's.
        _idle.clear()
        _owner = os.getpid()
    adapter = _idle.pop(tuple(command), None)
    if adapter is None or not adapter.is_idle:
        return Adapter(command, timeout)
    adapter.timeout = timeout
    return adapter


def release(adapter: Adapter, reuse: bool) -> None:
    """Keep an adapter for the next recording, one of each command; close any other."""
    if reuse and adapter.is_idle and adapter.command not in _idle and _owner == os.getpid():
        _idle[adapter.command] = adapter
    else:
        adapter.close()


def close_idle() -> None:
    """End the processes that wait."""
    while _idle:
        _idle.popitem()[1].close()


def _environment(home: str) -> dict[str, str]:
    passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    # No bytecode: it would be written beside our sources; the peers' own is compiled with their environments.
    return {**passed, "HOME": home, "PYTHONPATH": str(BENCHMARKS), "PYTHONDONTWRITEBYTECODE": "1"}


def _end(
    owner: int, process: subprocess.Popen[bytes], errors: IO[bytes], home: tempfile.TemporaryDirectory[str]
) -> None:
    if owner != os.getpid():
        return
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, errors):
        assert stream is not None
        try:
            stream.close()
        except OSError:
            # What is still buffered for a process that is gone has nowhere to go.
            continue
    home.cleanup()
