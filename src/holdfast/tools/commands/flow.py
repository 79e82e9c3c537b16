"""What is known while a script runs: its folder, its variables, and what comes in through a pipe.

Rule: everything here is a set of possibilities that holds what really happens; `None` is "anything".
"""

from __future__ import annotations

import posixpath

from msgspec import Struct
from msgspec.structs import replace

from holdfast.tools.commands.fields import ANY
from holdfast.tools.commands.naming import Names
from holdfast.tools.commands.places import absolute

MOST_FOLDERS = 8
NOTHING: dict[str, frozenset[str]] = {}

_SOME = frozenset({ANY})

Folders = frozenset[str] | None


class Feed(Struct, frozen=True):
    """What a command reads on its standard input: its text if known, whether it was fetched or decoded, and whether
    it is names of files."""

    text: str | None = None
    is_fetched: bool = False
    names: Names | None = None
    folders: Folders = None
    """Where the names were listed."""


class State(Struct, frozen=True):
    folders: Folders
    """Absolute folders that the shell may be in."""
    values: dict[str, frozenset[str]]
    functions: frozenset[str] = frozenset()
    feed: Feed | None = None
    previous: Folders = None
    """What `cd -` goes back to."""
    is_posix: bool = False
    """Whether the shell may be another than bash."""
    depth: int = 0
    """Scripts inside scripts, as in `sh -c`."""

    @property
    def names(self) -> Names | None:
        """Names of files that come in, where they still mean the same files."""
        feed = self.feed
        return feed.names if feed and self.folders is not None and feed.folders == self.folders else None

    def moved(self, folders: Folders) -> State:
        return replace(self, folders=folders, previous=self.folders)

    def lost(self) -> State:
        """Nothing is known of folder and variables any more."""
        return replace(self, folders=None, previous=None, values=NOTHING)

    def without(self, *names: str) -> State:
        return replace(self, values={k: v for k, v in self.values.items() if k not in names})


class Outcome(Struct, frozen=True):
    """What is known behind a command if it succeeded, and if it failed."""

    ok: State
    failed: State

    @property
    def either(self) -> State:
        return merged(self.ok, self.failed)


def same(state: State) -> Outcome:
    return Outcome(state, state)


def merged(one: State, other: State) -> State:
    """What is known if either holds."""
    if one is other:
        return one
    values = {
        name: either
        for name in one.values.keys() | other.values.keys()
        if len(either := one.values.get(name, _SOME) | other.values.get(name, _SOME)) <= MOST_FOLDERS
    }
    return State(
        folders=_either(one.folders, other.folders),
        values=values,
        functions=one.functions & other.functions,
        feed=one.feed,
        previous=_either(one.previous, other.previous),
        is_posix=one.is_posix,
        depth=max(one.depth, other.depth),
    )


def merged_outcomes(outcomes: list[Outcome]) -> Outcome:
    first, *others = outcomes
    for other in others:
        first = Outcome(merged(first.ok, other.ok), merged(first.failed, other.failed))
    return first


def _either(one: Folders, other: Folders) -> Folders:
    if one is None or other is None or len(one | other) > MOST_FOLDERS:
        return None
    return one | other


def below(folders: Folders, path: str) -> Folders:
    """Where a path leads from folders."""
    if path.startswith("/"):
        top = absolute(path, None)
        return None if top is None else frozenset({top})
    if folders is None:
        return None
    led = [absolute(path, folder) for folder in folders]
    return frozenset(place for place in led if place is not None) if None not in led else None


def name_of(path: str) -> str:
    return posixpath.basename(path.rstrip("/"))
