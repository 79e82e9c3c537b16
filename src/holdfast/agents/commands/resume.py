"""`/resume`: earlier talks of this folder, found by what was said in them, and taken up again.

Rule: only talks of this folder are opened from it: another's files are elsewhere.
"""

import asyncio
import time
from collections.abc import Sequence

from msgspec import Struct

from holdfast.agents.coding.desk import Desk
from holdfast.agents.commands.command import Command, Shown, expect_rest
from holdfast.agents.commands.cost import lookup_for, spending_of
from holdfast.agents.commands.writing import code, counted, dollars, joined, table
from holdfast.agents.past_talks import (
    Talk,
    folder_of,
    logs_of,
    read_talk,
    search_talks,
    tasks_by_log,
    tasks_of,
)
from holdfast.agents.spending import Spend, spending
from holdfast.errors import InputError, NotFound
from holdfast.store.words import wanted

MOST_TALKS = 15
"""Talks that are listed; older ones are found by words."""

MORE = """\
`/resume` lists the newest talks of this folder, `/resume WORDS` those in which words were said or found,
`/resume ID` goes on with one of them; the first six characters of its id do."""

_AGES = ((86_400 * 365, "y"), (86_400 * 7, "w"), (86_400, "d"), (3_600, "h"), (60, "min"))


class Found(Struct, frozen=True):
    """A talk to show, what it cost with its sub-agents, and the line that words were found in."""

    talk: Talk
    spent: Spend
    line: str = ""


class Listed(Struct, frozen=True):
    """Talks to show, and how many there are beside them."""

    talks: tuple[Found, ...]
    left: int = 0


async def _run(desk: Desk, argument: str) -> Shown:
    expect_rest(desk, "another talk")
    if argument and (log := _named(desk, argument)):
        return Shown(f"Going on with {code(log)}.", open_log=log)
    listed = await asyncio.to_thread(_listed, desk, argument)
    if not listed.talks:
        what = (
            f"no talk of this folder says `{argument}`" if argument else "this folder has no other talks yet"
        )
        raise InputError(what, hint="`holdfast logs` lists everything in the store")
    return Shown(
        joined(
            _drawn(listed.talks),
            f"and {counted(listed.left, 'older talk')}: `/resume WORDS` finds them" if listed.left else "",
            "`/resume ID` goes on with one of them.",
        )
    )


def _named(desk: Desk, argument: str) -> str:
    """The log that an argument is the id of; empty if it is words."""
    store = desk.session.store
    try:
        found = store.resolve(argument)
    except NotFound:
        return ""
    if found.kind != "log":
        return ""
    if found.id == desk.session.log.id:
        raise InputError(
            f"`{found.id}` is this very talk", hint="`/rewind` goes back in it, `/fork` leaves it"
        )
    folder = folder_of(store, found.id)
    if not folder:
        raise InputError(
            f"`{found.id}` is no talk of this agent", hint=f"`holdfast show {found.id}` shows it"
        )
    if folder != desk.workspace.roots[0]:
        raise InputError(f"that talk belongs to `{folder}`", hint=f"run `holdfast resume {found.id}` there")
    return found.id


def _listed(desk: Desk, query: str) -> Listed:
    """Newest first; a talk in which nothing was said is none."""
    store, own = desk.session.store, desk.session.log.id
    logs = logs_of(store, desk.workspace.roots[0])
    infos = {info.head.id: info for info in logs if info.head.id != own}
    lines: dict[str, str] = {}
    if query:
        if not wanted(query):
            raise RESUME.misused(f"there is no word in `{query}`")
        lines = {hit.log: hit.line for hit in search_talks(store, list(infos), query)}
        infos = {log: infos[log] for log in lines}
    by_log, lookup = tasks_by_log(store), lookup_for(desk)
    talks: list[Found] = []
    looked = 0
    for info in infos.values():
        if len(talks) == MOST_TALKS:
            break
        looked += 1
        talk = read_talk(store, info)
        if talk.rounds or talk.trouble:
            tasks = spending_of(store, tasks_of(talk.id, by_log), lookup)
            spent = spending(talk.entries, lookup).and_spending(tasks).total
            talks.append(Found(talk, spent, lines.get(talk.id, "")))
    return Listed(tuple(talks), len(infos) - looked)


def _drawn(talks: Sequence[Found]) -> str:
    is_found = any(found.line for found in talks)
    head = ["id", "age", "rounds", "cost", "it began with", *(["found"] if is_found else [])]
    rows = [[*_row(found), *([code(found.line)] if is_found else [])] for found in talks]
    return table(head, rows, right=(1, 2, 3))


def _row(found: Found) -> Sequence[str]:
    talk, spent = found.talk, found.spent
    if talk.trouble:
        return [code(talk.id), age(talk.last_at), "", "", f"cannot be read: {talk.trouble}"]
    cost = dollars(spent.dollars) if spent.is_priced else "–"
    title = f"{code(talk.title)}{' (fork)' if talk.forked_from else ''}"
    return [code(talk.id), age(talk.last_at), str(talk.rounds), cost, title]


def age(at: float | None) -> str:
    """How long ago, in the largest unit that fits."""
    if at is None:
        return "?"
    seconds = max(0.0, time.time() - at)
    return next((f"{int(seconds // unit)} {name}" for unit, name in _AGES if seconds >= unit), "now")


RESUME = Command("resume", "/resume [ID | WORDS]", "earlier talks of this folder", _run, MORE)
