"""What is piped into a command.

Rule: nothing is read from a terminal or a device, and a pipe that nobody closes is said, not waited for in silence.
"""

import os
import stat
import sys
import threading

from holdfast.cli.output import note

PATIENCE = 3.0
"""Seconds after which a person is told what is waited for."""


def is_piped() -> bool:
    """Whether stdin is a pipe, a socket or a file."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (AttributeError, OSError, ValueError):  # There is none, or one of a program that holds ours.
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISREG(mode)


def piped_text() -> str:
    """All of it, or nothing where nothing is piped in."""
    if not is_piped():
        return ""
    waiting = threading.Timer(
        PATIENCE, note, ["stdin is read to its end; where nothing is to come, run with `< /dev/null`"]
    )
    waiting.daemon = True
    waiting.start()
    try:
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    finally:
        waiting.cancel()
