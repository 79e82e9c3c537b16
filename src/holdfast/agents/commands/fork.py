"""`/fork`: a new session that continues from here, or from before an earlier round; this one stays as it is.

Rule: the copy packs to the same requests. Its entries get ids of their own, and what refers to an entry (a fold, a
summary) refers to its copy; what people, models and tools said is copied as it is. The files stay as they are.
"""

import asyncio
import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import CommandAnswer, SlashCommand, parse_number, require_idle
from holdfast.agents.commands.markdown import code, joined
from holdfast.agents.commands.rewind import RewindPoint, path_before, rewind_points
from holdfast.agents.sessions import COPIED, ROOT, SOURCE
from holdfast.errors import InputError
from holdfast.events import (
    Compacted,
    CompactionFailed,
    Entry,
    Event,
    Folded,
    LogStarted,
    Recorded,
    Rewound,
    Undone,
)
from holdfast.ids import entry_id
from holdfast.log import Log
from holdfast.store.encoding import encode_event
from holdfast.store.protocol import Store

_ENTRY_ID = re.compile(r"\be[0-9a-z]{12}\b")


def copy_path(store: Store, entries: Sequence[Entry], root: str) -> Log:
    """A new log that continues after the last of these entries, which are a path of another log."""
    kept = [e for e in entries if not isinstance(e.event, LogStarted | Rewound | Undone)]
    first = entries[0].event
    started = first if isinstance(first, LogStarted) else LogStarted()
    # Not redacted again: all of it was redacted when it was written, and the ids below must be the final ones.
    log = Log.create(
        store,
        title=started.title,
        source=SOURCE,
        forked_from=entries[-1].id,
        meta={**started.meta, ROOT: root, COPIED: len(kept)},
        redact=str,
    )
    recorded = _renamed_events(kept, log.id, log.entries()[0])
    written = log.append_all([one for one, _ in recorded])
    assert [entry.id for entry in written] == [id_ for _, id_ in recorded], "a copy has the ids it was given"
    return log


def _renamed_events(kept: Sequence[Entry], log: str, first: Entry) -> list[tuple[Recorded, str]]:
    """The events of the copy, each with the id it will have: later events refer to earlier ones by it."""
    ids: dict[str, str] = {}
    parent, seq = first.id, first.seq
    found = []
    for entry in kept:
        event = _renamed_event(entry.event, ids)
        seq += 1
        parent = ids[entry.id] = entry_id(log, seq, parent, encode_event(event)[0])
        found.append((Recorded(event, at=entry.at), parent))
    return found


def _renamed_event(event: Event, ids: dict[str, str]) -> Event:
    if isinstance(event, Folded | Compacted | CompactionFailed):
        renamed: Event = _renamed(event, ids)
        return renamed
    return event


def _renamed(value: Any, ids: dict[str, str]) -> Any:
    """A value in which the ids of copied entries are replaced by those of their copies."""
    match value:
        case str():
            return _ENTRY_ID.sub(lambda found: ids.get(found[0], found[0]), value)
        case tuple():
            return tuple(_renamed(item, ids) for item in value)
        case Struct():
            return replace(
                value, **{name: _renamed(getattr(value, name), ids) for name in value.__struct_fields__}
            )
    return value


MORE = """\
`/fork` continues in a new session from here, `/fork 3` from before round 3. `/resume` returns to the old session.
Both work in the same folder: edits made since round 3 stay on the disk, unless `/rewind 3 files` undoes them before
the fork."""


async def _run(coding: CodingSession, argument: str) -> CommandAnswer:
    require_idle(coding, "a fork")
    rounds = rewind_points(coding.session)
    if not rounds:
        raise InputError("nothing was said yet", hint="a fork continues from something that was said")
    round_ = rounds[parse_number(argument, len(rounds), "round") - 1] if argument else None
    log = await asyncio.to_thread(fork, coding, round_)
    where = f"from before round {round_.number}, {code(round_.words)}," if round_ else "from here"
    return CommandAnswer(
        joined(
            f"A new session {code(log.id)} continues {where} with the files as they are.",
            f"{code(f'/resume {coding.session.log.id}')} returns to this one.",
        ),
        open_log=log.id,
    )


def fork(coding: CodingSession, round_: RewindPoint | None = None) -> Log:
    """A new log with the path before a round, or with the whole path."""
    session = coding.session
    return copy_path(session.store, path_before(session, round_), coding.workspace.roots[0])


FORK = SlashCommand(
    "fork", "/fork [N]", "continue in a new session, from here or from before round N", _run, MORE
)
