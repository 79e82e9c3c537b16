"""The programs that search: ripgrep where there is one, a small one of our own where there is none.

Rule: what a user or a model wrote is data in every command line, never an option; a program that is no longer
wanted is killed with all it started.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import IO, Protocol

import msgspec
from msgspec import Struct

from holdfast.tools.envelope import ToolError
from holdfast.tools.listing.ignoring import VERSION_CONTROL
from holdfast.tools.listing.search import Matching, Picking, Walking

MOST_OUTPUT = 256 * 1024 * 1024
"""Bytes of a program's answer that are kept: the names of a few million files."""


class Searcher(Protocol):
    """The command lines of a program that searches the folder it is started in."""

    def files(self, walking: Walking) -> list[str]: ...

    def counts(self, matching: Matching, walking: Walking) -> list[str]: ...

    def positions(self, matching: Matching, picking: Picking) -> list[str]: ...


class Ripgrep(Struct, frozen=True):
    """**Contract:** symbolic links are not followed, and no file of settings is read."""

    program: str

    def files(self, walking: Walking) -> list[str]:
        return [self.program, "--files", "--null", *self._walk(walking), "--", walking.target]

    def counts(self, matching: Matching, walking: Walking) -> list[str]:
        # Only the debug log tells which files were skipped as binary. It also names every file that `names` leaves
        # out, which would take longer than the search.
        debug = [] if walking.names else ["--debug"]
        return [
            *(self.program, *debug, "--count", "--null", "--with-filename"),
            *(*self._match(matching), *self._walk(walking), "--", walking.target),
        ]

    def positions(self, matching: Matching, picking: Picking) -> list[str]:
        # One column at most: where lines stand is asked, not what they say, and some are megabytes long.
        return [
            *(self.program, "--no-config", "--no-mmap", "--null", "--with-filename", "--no-heading"),
            *("--line-number", "--column", "--byte-offset", "--max-columns=1", "--color=never"),
            *(f"--max-count={picking.most}", f"--context={picking.context}"),
            *(*self._match(matching), "--", *(f"./{name}" for name in picking.files)),
        ]

    def _match(self, matching: Matching) -> list[str]:
        kind = "--fixed-strings" if matching.literal else "--engine=auto"
        case = "--ignore-case" if matching.ignore_case else "--case-sensitive"
        return [kind, case, f"--regexp={matching.pattern}"]

    def _walk(self, walking: Walking) -> list[str]:
        rules = ["--no-ignore"] if walking.include_ignored else ["--no-ignore-global", "--no-ignore-dot"]
        names = [f"--type-add=wanted:{walking.names}", "--type=wanted"] if walking.names else []
        without = [f"--glob=!{name}" for name in VERSION_CONTROL]
        return ["--no-config", "--hidden", "--no-ignore-messages", *rules, *names, *without]


class PythonSearch(Struct, frozen=True):
    """Our own program, `fallback.py`, in a process of its own: a pattern that never ends can be killed."""

    def files(self, walking: Walking) -> list[str]:
        return self._command("files", {"walking": walking})

    def counts(self, matching: Matching, walking: Walking) -> list[str]:
        return self._command("counts", {"matching": matching, "walking": walking})

    def positions(self, matching: Matching, picking: Picking) -> list[str]:
        return self._command("positions", {"matching": matching, "picking": picking})

    def _command(self, what: str, asked: dict[str, Struct]) -> list[str]:
        # Isolated, because the folder it is started in is the user's and must not be imported from.
        package = str(Path(__file__).parents[3])
        code = (
            f"import sys; sys.path.append({package!r}); "
            "from holdfast.tools.listing.fallback import main; sys.exit(main(sys.argv[1:]))"
        )
        raw = {key: msgspec.to_builtins(value) for key, value in asked.items()}
        # Not msgspec's encoder: it refuses the surrogates that stand for bytes in file names.
        return [sys.executable, "-I", "-c", code, what, json.dumps(raw)]


def find_searcher() -> Searcher:
    """ripgrep beside the interpreter, where its package puts it, or on the search path; otherwise our own."""
    beside = Path(sysconfig.get_path("scripts")) / "rg"
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("rg")
    return Ripgrep(found) if found and Path(found).is_absolute() else PythonSearch()


class Finished(Struct, frozen=True):
    """What a program answered. `cut` says why there may be more."""

    output: bytes
    errors: bytes
    code: int
    cut: str = ""


async def run_program(command: list[str], folder: str, seconds: float) -> Finished:
    """Run a program in a folder, for so long at most; what it wrote until then is kept.

    It writes to files that have no name: one that flushes after every file it looks at would wake us a hundred
    thousand times through a pipe.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                cwd=folder,
                env={},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ToolError("EXECUTION_ERROR", f"the search could not be started: {error}") from None
        cut = ""
        try:
            await asyncio.wait_for(process.wait(), seconds)
        except TimeoutError:
            cut = f"the time limit of {seconds:g} s was reached"
        finally:
            await _end(process)
        wrote = _written(output)
        if len(wrote) == MOST_OUTPUT:
            cut = "there was more than can be kept"
        return Finished(wrote, _written(errors), process.returncode or 0, cut)


def _written(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read(MOST_OUTPUT)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill a program that still runs, with its group, and wait until it is gone."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
