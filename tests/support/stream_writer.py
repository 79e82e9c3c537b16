"""A program that writes to both streams, and after each write waits until it was read: the order is certain."""

import json
from collections.abc import Sequence
from pathlib import Path

Write = tuple[int, str]
"""The stream, 1 or 2, and what is written to it."""

PROGRAM = """\
import fcntl, json, os, sys, termios
with open("writes.json", encoding="utf-8") as file:
    writes = json.load(file)
for stream, text in writes:
    os.write(stream, text.encode())
    while any(fcntl.ioctl(stream, termios.FIONREAD, bytes(4))):
        os.sched_yield()
"""


def prepare_writes(root: Path, writes: Sequence[Write]) -> str:
    """The command that makes these writes in this folder."""
    (root / "writer.py").write_text(PROGRAM)
    (root / "writes.json").write_text(json.dumps(writes))
    return "python3 writer.py"


def stderr_lines(writes: Sequence[Write]) -> list[int]:
    """The lines of all the text, counted from 1, that have a character of stderr, be it the line break."""
    line, found = 1, set[int]()
    for stream, text in writes:
        for character in text:
            if stream == 2:
                found.add(line)
            line += character == "\n"
    return sorted(found)
