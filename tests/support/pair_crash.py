"""The worked example of a pair, killed at an event of any of its logs and started again.

A process that dies writes nothing more: from the fatal event on the store refuses everything.
"""

import asyncio
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from holdfast.agents.pair.journal import PairOutcome
from holdfast.agents.pair.startup import PairCallbacks, open_pair
from holdfast.log import Log
from holdfast.pair.phases import DecisionMade, DecisionRequested, Phase, read_phase
from holdfast.store import SqliteStore

EXAMPLE = Path(__file__).parents[2] / "examples" / "pair"
sys.path.insert(0, str(EXAMPLE))

from run import models, pair_options, prepare  # noqa: E402
from script import Answer, Say, answers, hands_over, scripted, writes  # noqa: E402
from work import EXECUTE, EXECUTE_SUMMARY, INIT, INIT_SUMMARY  # noqa: E402

__all__ = [
    "ANSWERS",
    "EXAMPLE",
    "Answer",
    "CrashPoint",
    "Crashed",
    "Say",
    "crash_at",
    "folder_state",
    "hands_over",
    "is_of_crash",
    "models",
    "pair_options",
    "phases_of",
    "played",
    "prepare",
    "scripted",
    "uncertain_in",
    "writes",
]

ANSWERS: dict[str, Answer] = {
    "init": answers("script/init", INIT, INIT_SUMMARY),
    "execute": answers("script/execute", EXECUTE, EXECUTE_SUMMARY),
}
"""What the two agents of the example say."""


class Crashed(BaseException):
    """The process is gone."""


class CrashPoint:
    """Counts what is written, and ends the process at one of these: before it is on the disk, or right after."""

    def __init__(self, at: int = 0, *, is_written: bool = False) -> None:
        self.at = at
        self.is_written = is_written
        self.count = 0
        self.replies: list[int] = []
        """Numbers of the writes that are replies of a model."""
        self.has_crashed = False

    def write(self, write, drafts):
        if self.has_crashed:
            raise Crashed
        self.count += 1
        if b'"assistant_replied"' in drafts[0].body:
            self.replies.append(self.count)
        if self.count != self.at:
            return write()
        self.has_crashed = True
        if self.is_written:
            write()
        raise Crashed


@contextmanager
def crash_at(crash_point: CrashPoint) -> Iterator[None]:
    append, create = SqliteStore.append, SqliteStore.create
    SqliteStore.append = lambda self, *given: crash_point.write(lambda: append(self, *given), given[-1])
    SqliteStore.create = lambda self, *given: crash_point.write(lambda: create(self, *given), given[-1])
    try:
        yield
    finally:
        SqliteStore.append, SqliteStore.create = append, create


def played(root: Path, *, goes_on: bool = False, people: PairCallbacks | None = None, **more) -> PairOutcome:
    """The example in this folder, by the script, up to its end."""
    options = pair_options(root)
    pair = None if goes_on else more.pop("pair", options.pair)
    given = {name: getattr(options, name) for name in ("agent", "task", "models")} | {"pair": pair} | more
    return asyncio.run(_played(type(options)(**given), people))


async def _played(options, people) -> PairOutcome:
    opened = await open_pair(options, people, env={}, models=models())
    try:
        return await opened.orchestrator.run()
    finally:
        await opened.close()


def folder_state(root: Path) -> dict[str, bytes]:
    """Every file of the project with its bytes."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def phases_of(root: Path) -> list[str]:
    """What the log of the pair says, in order; what only a crash adds is left out."""
    with SqliteStore(root.parent / "store.db") as store:
        log = next(info.head.id for info in store.logs() if info.head.source == "holdfast pair")
        phases = [phase for entry in Log.open(store, log).entries() if (phase := read_phase(entry.event))]
    return [json.dumps(_plain(phase), sort_keys=True) for phase in phases if not is_of_crash(phase)]


def uncertain_in(root: Path) -> list[str]:
    """What the log of the pair says was asked about after a crash."""
    with SqliteStore(root.parent / "store.db") as store:
        log = next(info.head.id for info in store.logs() if info.head.source == "holdfast pair")
        phases = [read_phase(entry.event) for entry in Log.open(store, log).entries()]
    return [one.text for one in phases if isinstance(one, DecisionRequested) and one.about == "uncertain"]


def is_of_crash(phase: Phase) -> bool:
    """Whether it is about calls of which nobody knows what they did."""
    return isinstance(phase, DecisionRequested | DecisionMade) and phase.id.startswith("u_")


def _plain(phase) -> object:
    return {"is": type(phase).__name__, **msgspec.to_builtins(phase)}
