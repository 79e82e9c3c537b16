"""The processes that a command started, and their end.

Rule: a process is ours if it descends from the shell, is in its session, or carries the command's mark in the
environment it was started with. A process is checked again right before it is signalled, so that a reused process
id is left alone.

Without `/proc` only the shell's process group is known. Out of reach is a process that starts its own session and
clears its environment after the shell has ended; a sandbox with its own process ids has no such gap.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterable

from msgspec import Struct

from holdfast.tools.shell.environment import RUN_MARK

MOST_ROUNDS = 100
"""Rounds of killing what is left."""
EMPTY_ROUNDS = 3
"""Empty rounds in a row before nothing counts as left: a single one misses a process that forks and ends
meanwhile."""
BETWEEN = 0.01


class ShellProcess(Struct, frozen=True):
    pid: int
    parent: int
    group: int
    session: int
    started: int
    name: str


def running_processes() -> dict[int, ShellProcess]:
    """Every living process; empty if the system does not tell."""
    return {pid: process for pid in _numbers() if (process := _process(pid))}


def _numbers() -> list[int]:
    """All process ids, the newest first, since those end the soonest."""
    try:
        return sorted(
            (int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()), reverse=True
        )
    except OSError:
        return []


def _process(pid: int) -> ShellProcess | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - hundreds of times in a row
            text = file.read()
    except OSError:
        return None
    start, end = text.find(b"("), text.rfind(b")")
    fields = text[end + 2 :].split()
    if end < 0 or fields[0] in (b"Z", b"X"):
        return None
    name = text[start + 1 : end].decode("utf-8", "replace")
    return ShellProcess(pid, int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19]), name)


def find_family(mark: str, leader: int = 0, known: Iterable[ShellProcess] = ()) -> list[ShellProcess]:
    """The running processes of a command: by its mark, by its shell while that is ours (`leader`), and those known
    from before, with all their descendants."""
    every = running_processes()
    heads = {one.pid for one in known if one.pid in every and every[one.pid].started == one.started}
    heads |= {pid for pid, process in every.items() if leader in (pid, process.session) and leader}
    heads |= {pid for pid in every if _is_marked(pid, mark)}
    heads.discard(os.getpid())
    children: dict[int, list[int]] = {}
    for pid, process in every.items():
        children.setdefault(process.parent, []).append(pid)
    waiting, family = list(heads), set[int]()
    while waiting:
        pid = waiting.pop()
        if pid in every and pid not in family:
            family.add(pid)
            waiting += children.get(pid, [])
    return [every[pid] for pid in sorted(family)]


def in_session(leader: int) -> list[ShellProcess]:
    """The processes in a shell's session without the shell itself, whose process id must still be its own."""
    every = running_processes().values()
    return [process for process in every if process.session == leader and process.pid != leader]


def _is_marked(pid: int, mark: str) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123 - hundreds of times in a row
            return f"{RUN_MARK}={mark}".encode() in file.read()
    except OSError:
        return False


def send(members: Iterable[ShellProcess], number: int) -> None:
    for process in members:
        now = _process(process.pid)
        if now and now.started == process.started:
            _kill(process.pid, number)


def _kill(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def send_group(leader: int, number: int) -> None:
    """Signal the whole group of a shell that was not waited for yet, at once: a shell that outlived its command
    would continue with the next one."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def kill_family(mark: str, leader: int = 0, known: Iterable[ShellProcess] = ()) -> None:
    """Kill until nobody is left."""
    if leader:
        send_group(leader, signal.SIGKILL)
    seen = {process.pid: process for process in known}
    empty = 0
    for _ in range(MOST_ROUNDS):
        # Killed right when found: between listing all and killing, a process can have forked again.
        for pid in _numbers():
            if pid != os.getpid() and _is_marked(pid, mark):
                _kill(pid, signal.SIGKILL)
        members = find_family(mark, leader, seen.values())
        seen |= {process.pid: process for process in members}
        send(members, signal.SIGKILL)
        empty = 0 if members else empty + 1
        if empty == EMPTY_ROUNDS:
            return
        time.sleep(BETWEEN)
