"""What the model is told about where it works: folder, date, platform, and the state of the repository.

Rule: it changes from day to day and from commit to commit, so it never stands before what a provider has cached. It
is recorded when a person speaks, and only if it changed.
"""

import asyncio
import datetime
import platform
from pathlib import Path

from holdfast.errors import HoldfastError
from holdfast.events import RecapSet
from holdfast.messages import system_reminder
from holdfast.review.repository import open_repository

KEY = "environment"
SECONDS = 3.0
"""How long a look at it may take; where it takes longer, the model is not told."""
_STATUS = ("status", "--porcelain=v1", "--branch", "--ignore-submodules=all")


async def read_environment(root: Path) -> tuple[str, ...]:
    """`describe_environment` with a time limit; nothing if it takes longer."""
    try:
        # Off the event loop, and not for long: git may take its time in a large repository.
        async with asyncio.timeout(SECONDS):
            return await asyncio.to_thread(describe_environment, root)
    except TimeoutError:
        return ()


def describe_environment(root: Path, today: datetime.date | None = None) -> tuple[str, ...]:
    """A line for each thing that the model should know."""
    lines = [
        f"working folder: {root}",
        f"date: {today or datetime.datetime.now().astimezone().date()}",
        f"platform: {platform.system()} {platform.release()} ({platform.machine()})",
    ]
    return (*lines, f"git: {_git_state(root)}")


def _git_state(root: Path) -> str:
    try:
        head, *changed = open_repository(root).run(*_STATUS).decode("utf-8", "replace").splitlines()
    except HoldfastError:
        return "not a repository"
    branch = head.removeprefix("## ").removeprefix("No commits yet on ")
    new = sum(line.startswith("??") for line in changed)
    counts = [f"{len(changed) - new} changed"] * (len(changed) > new) + [f"{new} untracked"] * bool(new)
    return f"branch {branch}, {' and '.join(counts) or 'nothing changed'}"


def environment_recap(lines: tuple[str, ...]) -> RecapSet:
    """For the end of every request."""
    return RecapSet(KEY, "Environment", lines, whole=True)


def environment_reminder(lines: tuple[str, ...]) -> str:
    """For a place beside a message. The end of a request is rebuilt each time, and a model that binds its thinking
    to every byte before it would lose its thoughts there. A sub-agent is told once only."""
    return system_reminder("\n".join(["Environment:", *(f"- {line}" for line in lines)]))
