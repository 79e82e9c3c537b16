"""What a command printed: a file that grows, an index of its lines, and what the model reads of it.

Rule: the file contains the bytes as they came, nothing else. Its name is unique and never used twice. Memory use
does not grow with it, and it is not allowed to fill the disk. An excerpt says which lines it shows, how many there
are, and how to read the rest; the last lines come last, where digests look for them. Cleaning keeps lines as lines,
so that numbers stay the same; the result has no control characters except line feed and tab, and cleaning it again
changes nothing.
"""

import os
import re
import secrets
import threading
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from msgspec import Struct

from holdfast.line_ranges import LineRange, is_within, merge_ranges
from holdfast.numbers import format_size
from holdfast.tools.envelope import ToolError
from holdfast.tools.search.ripgrep import ProgramOutput, find_ripgrep, pattern_error, run_program

STRIDE = 256 << 10
"""Bytes between two marks of the index."""
SPARE = 256 << 20
"""Bytes that are left free on the disk."""
LOOK = 64 << 20
"""Bytes after which the free space is checked again."""
WINDOW = 256 << 10
MOST_RANGES = 1000
"""Runs of stderr lines that are remembered, the newest ones."""


class OutputLine(Struct, frozen=True):
    """A line, or its beginning: `size` is its length in bytes, without the line break."""

    number: int
    offset: int
    start: bytes
    size: int


class CommandOutput:
    """One thread adds, any may read; a reader sees what had arrived when it began."""

    def __init__(self, folder: Path, name: str, most: int) -> None:
        self.path = folder / f"{name}-{secrets.token_hex(6)}.txt"
        self._file = os.open(
            self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600
        )
        self._most = most
        self._lock = threading.Lock()
        self._marks: list[tuple[int, int]] = [(0, 0)]
        self._ends = 0
        self._is_open = False
        self._stderr: deque[LineRange] = deque(maxlen=MOST_RANGES)
        self._next_look = LOOK
        self.size = 0
        self.trouble = ""
        """Why no more is kept; empty as long as everything is."""

    @property
    def lines(self) -> int:
        """How many lines there are, including an unfinished last one."""
        with self._lock:
            return self._ends + self._is_open

    @property
    def stderr(self) -> tuple[LineRange, ...]:
        """Which lines are stderr. One that has bytes of both streams is."""
        with self._lock:
            return tuple(self._stderr)

    def add(self, chunk: bytes, *, is_stderr: bool = False) -> None:
        self.add_in_order([(chunk, is_stderr)])

    def add_in_order(self, pieces: Sequence[tuple[bytes | bytearray, bool]]) -> None:
        """Add pieces of output; each says whether it is stderr. They are written to the file at once."""
        if self.trouble:
            return
        whole = pieces[0][0] if len(pieces) == 1 else b"".join(chunk for chunk, _ in pieces)
        room = self._most - self.size
        if len(whole) > room:
            whole = whole[:room]
            self.trouble = f"the limit of {format_size(self._most)} was reached"
        try:
            view = memoryview(whole)
            while view:
                view = view[os.write(self._file, view) :]
        except OSError as error:
            self.trouble = f"it could not be stored: {error.strerror}"
            return
        with self._lock:
            for chunk, is_stderr in pieces:
                self._count(chunk if len(chunk) <= room else chunk[:room], is_stderr=is_stderr)
                room = max(room - len(chunk), 0)
        if self.size >= self._next_look:
            self._next_look = self.size + LOOK
            status = os.fstatvfs(self._file)
            if status.f_bavail * status.f_frsize < SPARE:
                self.trouble = f"less than {format_size(SPARE)} are free on the disk"

    def _count(self, chunk: bytes | bytearray, *, is_stderr: bool) -> None:
        first = self._ends + 1
        self.size += len(chunk)
        self._ends += chunk.count(b"\n")
        self._is_open = not chunk.endswith(b"\n") if chunk else self._is_open
        if self.size - self._marks[-1][0] >= STRIDE:
            self._marks.append((self.size, self._ends))
        if is_stderr and chunk:
            self._mark_stderr(first, self._ends + self._is_open)

    def _mark_stderr(self, first: int, last: int) -> None:
        if self._stderr and first <= self._stderr[-1][1] + 1:
            first = self._stderr.pop()[0]
        self._stderr.append((first, last))

    def read(self, start: int = 0, end: int | None = None) -> bytes:
        end = min(self.size if end is None else end, self.size)
        pieces = []
        while start < end and (piece := os.pread(self._file, end - start, start)):
            pieces.append(piece)
            start += len(piece)
        return b"".join(pieces)

    def read_lines(self, first: int, longest: int) -> Iterator[OutputLine]:
        """The lines from `first` on (counted from 1), each with at most `longest` bytes of its beginning."""
        size = self.size
        with self._lock:
            # The last mark before the end of the line before: those after it may lie inside the line.
            at = bisect_left(self._marks, first - 1, key=lambda mark: mark[1]) - 1
            offset, passed = self._marks[max(at, 0)]
        number, begin, head = passed + 1, offset, b""
        while offset < size:
            *ended, rest = self.read(offset, min(offset + WINDOW, size)).split(b"\n")
            for piece in ended:
                end = offset + len(piece)
                if number >= first:
                    yield OutputLine(number, begin, (head + piece)[:longest], end - begin)
                number, begin, head = number + 1, end + 1, b""
                offset = begin
            head = (head + rest)[:longest]
            offset += len(rest)
        if begin < size and number >= first:
            yield OutputLine(number, begin, head, size - begin)

    def close(self) -> None:
        os.close(self._file)

    def remove(self) -> None:
        self.close()
        self.path.unlink(missing_ok=True)


LONGEST_LINE = 2_000
"""Characters of a line that an excerpt shows."""

# Bounded, and never across lines: binary data may contain the beginning of a sequence without an end.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]{0,64}+[ -/]{0,8}+[@-~]"
    r"|\x1b\][^\x07\x1b\n]{0,4096}+(?:\x07|\x1b\\)"
    r"|\x1b[PX^_][^\x1b\n]{0,4096}+\x1b\\"
    r"|\x1b[ -/]{0,8}+[0-Z\\^-~]"
)
_CONTROLS = {code: 0x2400 + code for code in range(0x20) if code not in (0x09, 0x0A)}
_CONTROLS |= {0x7F: 0x2421} | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
_STRUCK = re.compile(r"[^\n\x08]\x08")
MOST_STRIKES = 8


def clean_output(data: bytes) -> str:
    return clean_and_count(data)[0]


def clean_and_count(data: bytes) -> tuple[str, int]:
    """The text, and how many parts of lines were overwritten, as progress bars do."""
    text = data.decode("utf-8", "replace")
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    overwritten = 0
    if "\r" in text:
        lines = [line.rstrip("\r") for line in text.split("\n")]
        text = "\n".join(line.rpartition("\r")[2] for line in lines)
        overwritten = sum(line.count("\r") for line in lines)
    # Bold and underlined text in manuals; no more backspaces than this.
    for _ in range(MOST_STRIKES):
        if "\x08" not in text:
            break
        text = _STRUCK.sub("", text)
    return text.translate(_CONTROLS), overwritten


def clean_line(start: bytes, size: int) -> str:
    """A line of an excerpt; a cut line says how long it is. `start` may be only its beginning."""
    text = clean_output(start)
    if size > len(start) or len(text) > LONGEST_LINE:
        return f"{text[:LONGEST_LINE]}… [cut: the line has {size} bytes]"
    return text


SEARCH_SECONDS = 30.0

FAILURES = (
    r"(?-u:(?:[Ee]rrors?|ERRORS?|[Ff]ail(?:ed|ures?|ing)?|FAIL(?:ED|URES?)?|[Ff]atal|FATAL|[Pp]anic|[Ee]xception"
    r"|[Tt]raceback|[Uu]ndefined|[Uu]nresolved|[Dd]enied|[Rr]efused|[Nn]ot found|[Nn]o such|[Cc]annot"
    r"|[Aa]bort(?:ed)?|[Ss]egfault|[Aa]ssertion|core dumped|[Tt]imed out|TIMEOUT)\b)"
)
"""What lines about a failure contain. Cases are spelled out and there is no word boundary before them, so that
ripgrep searches by literal prefixes, ten times as fast."""
HARMLESS = re.compile(
    r"(?i)\b(?:0|no|without(?: any)?) (?:errors?|failures?|failed|failing|exceptions?)\b"
    r"|\b(?:errors?|failures?|failed)\s?[:=]\s?0(?![\d.])"
)
_POSITION = re.compile(rb"(\d+):(\d+):")


class OutputMatches(Struct, frozen=True):
    """`lines` are the numbers of the first matches, counted from 1; `cut` says why there may be more than
    `total`."""

    total: int
    lines: list[int]
    cut: str = ""


async def find_lines(path: Path, pattern: str, most: int, *, counts: bool = True) -> OutputMatches:
    """The first lines that match, and how many do; without `counts` only a total smaller than `most` is exact."""
    listing = ("--line-number", "--byte-offset", "--no-heading", "--max-columns=1", f"--max-count={most}")
    found = await _search(path, pattern, *listing)
    if found.code >= 2 and not found.cut:
        trouble = pattern_error(found.errors) or "it cannot be read"
        raise ToolError("INVALID_PARAM", f"`grep` is not a valid regular expression: {trouble}")
    places = [_POSITION.match(row) for row in found.output.split(b"\n")]
    lines = [int(place[1]) for place in places if place]
    if not counts or len(lines) < most or found.cut:
        return OutputMatches(len(lines), lines, found.cut)
    counted = await _search(path, pattern, "--count")
    return OutputMatches(max(int(counted.output.strip() or 0), most), lines, counted.cut)


async def _search(path: Path, pattern: str, *options: str) -> ProgramOutput:
    # Mapped, not read: ripgrep would hold whole lines in memory, and an output may be a single line.
    common = ["--no-config", "--text", "--mmap", "--encoding=none", "--no-filename", "--color=never"]
    match = ["--case-sensitive", f"--regexp={pattern}"]
    command = [find_ripgrep().program, *common, *match, *options, "--", f"./{path.name}"]
    return await run_program(command, str(path.parent), SEARCH_SECONDS)


FAILURE_LINES, MOST_LOOKED_AT = 40, 80
HEAD_LINES, HEAD_BYTES = 60, 16_000
TAIL_LINES, TAIL_BYTES = 300, 48_000
STDERR_LINES, STDERR_BYTES = 60, 16_000


class ShownOutput(Struct, frozen=True):
    """What the model reads of an output, and which lines of that are stderr, counted from 1."""

    text: str
    stderr: tuple[LineRange, ...]


def whole(output: CommandOutput) -> ShownOutput:
    """A whole output as text, without its last line break."""
    text, overwritten = clean_and_count(output.read())
    text = text.removesuffix("\n")
    if overwritten:
        text += (
            f"\n({overwritten} pieces of lines were written over with a carriage return and are left out; "
            "`| tr '\\r' '\\n'` shows them)"
        )
    return ShownOutput(text, output.stderr if text else ())


async def excerpt(output: CommandOutput, name: str, *, is_searched: bool = True) -> ShownOutput:
    """A large output: counts, lines about failures if it is searched for them, the first lines, the last ones of
    stderr, and the last ones."""
    total, stderr = output.lines, output.stderr
    searched = "lines that tell of failures, " if is_searched else ""
    counts = (
        f"(The output has {total} lines, {format_size(output.size)}. Here are {searched}the first and the last "
        f'ones; read more with BashOutput, `id` "{name}" and `lines`, `bytes` or `grep`.)'
    )
    parts, found = [counts, *(await _failures(output) if is_searched else [])], list[LineRange]()
    last = last_lines(output, TAIL_LINES)
    end = last[0].number if last else total + 1
    first = [line for line in some_lines(output, 1, HEAD_LINES, HEAD_BYTES) if line.number < end]
    between = _last_stderr(output, stderr, len(first) + 1, end - 1)
    # In the order of the output, so that the last lines that are said to be stderr are its last.
    for lines in (first, between, last):
        if lines:
            which = f"lines {lines[0].number}-{lines[-1].number} of {total}"
            which = f"stderr, {len(lines)} of its last lines" if lines is between else which
            parts.append(f"--- {which}:")
            at = len(parts) + 1
            found += [(n, n) for n, line in enumerate(lines, at) if is_within(stderr, line.number)]
            parts += rows(lines, numbered=lines is between)
    return ShownOutput("\n".join(parts), merge_ranges(found))


def _last_stderr(
    output: CommandOutput, stderr: tuple[LineRange, ...], first: int, last: int
) -> list[OutputLine]:
    """The last lines of stderr, as many as fit, without those outside `first` and `last`, which are shown anyway;
    none if all of the output is stderr."""
    if stderr == ((1, output.lines),):
        return []
    newest = (number for start, end in reversed(stderr) for number in range(end, start - 1, -1))
    numbers = [number for number in islice(newest, STDERR_LINES) if first <= number <= last]
    lines, size = list[OutputLine](), 0
    for number in numbers:
        lines.append(next(output.read_lines(number, LONGEST_LINE * 4)))
        size += min(lines[-1].size, LONGEST_LINE) + 1
        if size >= STDERR_BYTES:
            break
    return lines[::-1]


async def _failures(output: CommandOutput) -> list[str]:
    try:
        found = await find_lines(output.path, FAILURES, MOST_LOOKED_AT, counts=False)
    except ToolError:
        return []  # Without ripgrep there is still a beginning and an end.
    lines = [next(output.read_lines(number, LONGEST_LINE * 4)) for number in found.lines]
    failures = [line for line in lines if not HARMLESS.search(clean_output(line.start))]
    if not failures:
        return []
    is_all = len(failures) <= FAILURE_LINES and found.total < MOST_LOOKED_AT and not found.cut
    shown = failures[:FAILURE_LINES]
    first = "" if is_all else "the first "
    return [f"--- lines that tell of failures, {first}{len(shown)}:", *rows(shown, numbered=True)]


def some_lines(output: CommandOutput, first: int, count: int, most: int) -> list[OutputLine]:
    """Up to `count` lines, and not many more bytes than `most`."""
    taken: list[OutputLine] = []
    for line in output.read_lines(first, LONGEST_LINE * 4):
        if len(taken) >= count or (taken and most <= 0):
            break
        taken.append(line)
        most -= min(line.size, LONGEST_LINE) + 1
    return taken


def last_lines(output: CommandOutput, count: int) -> list[OutputLine]:
    """The last lines, as many as fit."""
    lines = some_lines(output, max(1, output.lines - count + 1), count, 1 << 62)
    size, start = 0, len(lines)
    while start and (size < TAIL_BYTES or start == len(lines)):
        start -= 1
        size += min(lines[start].size, LONGEST_LINE) + 1
    return lines[start:]


def rows(lines: Iterable[OutputLine], *, numbered: bool = False) -> list[str]:
    return [(f"{line.number}: " if numbered else "") + clean_line(line.start, line.size) for line in lines]
