"""Running a hook: JSON in, an answer out, within limits.

Rule: it always ends. A hook that takes too long or prints too much is killed with everything it started; a process
that it leaves behind holds up nobody. It runs as the person's own program: no sandbox, the whole environment.
"""

import asyncio
import contextlib
import os
import tempfile
import uuid
from collections.abc import Mapping
from typing import Self

import msgspec

from holdfast.agents.hooks import Hook, HookAnswer, read_answer
from holdfast.messages import Json
from holdfast.tools.shell.processes import RUN_MARK, kill_family

MOST_OUTPUT = 1024 * 1024
"""Bytes that a hook may print, to each stream."""
AT_ONCE = 65_536


async def run_hook(hook: Hook, told: Mapping[str, Json]) -> HookAnswer:
    """The answer of a hook that is told this. Never raises but when it is cancelled, and then nothing runs on."""
    mark = uuid.uuid4().hex
    with tempfile.TemporaryFile() as given, _Output() as output, _Output() as errors:
        given.write(msgspec.json.encode(told))
        given.seek(0)
        try:
            process = await asyncio.create_subprocess_exec(
                *("/bin/sh", "-c", hook.command),
                cwd=hook.folder,
                env={**os.environ, RUN_MARK: mark},
                stdin=given,
                stdout=output.to,
                stderr=errors.to,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return HookAnswer(failure=f"it could not be started: {error}")
        watched = [asyncio.create_task(one) for one in (process.wait(), output.overflow(), errors.overflow())]
        try:
            await asyncio.wait(watched, timeout=hook.timeout, return_when=asyncio.FIRST_COMPLETED)
            has_ended = process.returncode is not None
        finally:
            if process.returncode is None:
                # In a thread: it looks through all processes of the machine.
                await asyncio.to_thread(kill_family, mark, process.pid)
                await process.wait()
            for task in watched:
                task.cancel()
        for stream in (output, errors):
            stream.take_all()
            if stream.is_over:
                return HookAnswer(failure=f"it printed more than {MOST_OUTPUT:,} bytes")
        if not has_ended:
            return HookAnswer(failure=f"it did not end within {hook.timeout:g} s")
        return read_answer(process.returncode or 0, output.text, errors.text)


class _Output:
    """One stream of a process, read as it comes, up to a limit. A pipe of our own: those of asyncio count as open
    as long as any process has them, which may outlive the hook."""

    def __enter__(self) -> Self:
        self._from, self.to = os.pipe()
        os.set_blocking(self._from, False)
        self._bytes = bytearray()
        self._is_open = True
        self._overflow = asyncio.Event()
        asyncio.get_running_loop().add_reader(self._from, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        os.close(self._from)
        os.close(self.to)

    @property
    def is_over(self) -> bool:
        return self._overflow.is_set()

    @property
    def text(self) -> str:
        return self._bytes.decode("utf-8", "replace")

    async def overflow(self) -> None:
        await self._overflow.wait()

    def take_all(self) -> None:
        """Take what is in the pipe when the process has ended."""
        while self._is_open and self._take():
            pass

    def _take(self) -> bool:
        """Take what is there; whether there was anything."""
        try:
            chunk = os.read(self._from, AT_ONCE)
        except BlockingIOError:
            return False
        self._bytes += chunk
        if len(self._bytes) > MOST_OUTPUT:
            self._overflow.set()
            self._stop()
        return bool(chunk)

    def _stop(self) -> None:
        if self._is_open:
            self._is_open = False
            with contextlib.suppress(RuntimeError):  # The loop is closed.
                asyncio.get_running_loop().remove_reader(self._from)
