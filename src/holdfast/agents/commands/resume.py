"""`/resume`: earlier talks of this folder, found by what was said in them, and taken up again.

Rule: only talks of this folder are opened from it: another's files are elsewhere.
"""

import asyncio
import time
from collections.abc import Sequence

from msgspec import Struct

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import CommandAnswer, SlashCommand, require_idle
from holdfast.agents.commands.cost import lookup_for, spending_of
from holdfast.agents.commands.markdown import code, counted, dollars, joined, table
from holdfast.agents.sessions import (
    StoredSession,
    logs_in_folder,
    read_session,
    search_sessions,
    session_folder,
    sub_agent_logs,
    sub_agents_of,
)
from holdfast.agents.spending import ModelSpending, measure_spending
from holdfast.errors import InputError, NotFound
from holdfast.store.text_search import folded_phrases

MOST_SESSIONS = 15
"""Talks that are listed; older ones are found by words."""

MORE = """\
`/resume` lists the newest talks of this folder, `/resume WORDS` those in which words were said or found,
`/resume ID` goes on with one of them; the first six characters of its id do."""

_AGES = ((86_400 * 365, "y"), (86_400 * 7, "w"), (86_400, "d"), (3_600, "h"), (60, "min"))


class ListedSession(Struct, frozen=True):
    """A talk to show, what it cost with its sub-agents, and the line that words were found in."""

    talk: StoredSession
    spent: ModelSpending
    line: str = ""


class SessionList(Struct, frozen=True):
    """Talks to show, and how many there are beside them."""

    talks: tuple[ListedSession, ...]
    left: int = 0


async def _run(coding: CodingSession, argument: str) -> CommandAnswer:
    require_idle(coding, "another talk")
    if argument and (log := _named(coding, argument)):
        return CommandAnswer(f"Going on with {code(log)}.", open_log=log)
    listed = await asyncio.to_thread(_listed, coding, argument)
    if not listed.talks:
        what = (
            f"no talk of this folder says `{argument}`" if argument else "this folder has no other talks yet"
        )
        raise InputError(what, hint="`holdfast logs` lists everything in the store")
    return CommandAnswer(
        joined(
            _drawn(listed.talks),
            f"and {counted(listed.left, 'older talk')}: `/resume WORDS` finds them" if listed.left else "",
            "`/resume ID` goes on with one of them.",
        )
    )


def _named(coding: CodingSession, argument: str) -> str:
    """The log that an argument is the id of; empty if it is words."""
    store = coding.session.store
    try:
        found = store.resolve(argument)
    except NotFound:
        return ""
    if found.kind != "log":
        return ""
    if found.id == coding.session.log.id:
        raise InputError(
            f"`{found.id}` is this very talk", hint="`/rewind` goes back in it, `/fork` leaves it"
        )
    folder = session_folder(store, found.id)
    if not folder:
        raise InputError(
            f"`{found.id}` is no talk of this agent", hint=f"`holdfast show {found.id}` shows it"
        )
    if folder != coding.workspace.roots[0]:
        raise InputError(f"that talk belongs to `{folder}`", hint=f"run `holdfast resume {found.id}` there")
    return found.id


def _listed(coding: CodingSession, query: str) -> SessionList:
    """Newest first; a talk in which nothing was said is none."""
    store, own = coding.session.store, coding.session.log.id
    logs = logs_in_folder(store, coding.workspace.roots[0])
    infos = {info.head.id: info for info in logs if info.head.id != own}
    lines: dict[str, str] = {}
    if query:
        if not folded_phrases(query):
            raise RESUME.misused(f"there is no word in `{query}`")
        lines = {hit.log: hit.line for hit in search_sessions(store, list(infos), query)}
        infos = {log: infos[log] for log in lines}
    by_log, lookup = sub_agent_logs(store), lookup_for(coding)
    talks: list[ListedSession] = []
    looked = 0
    for info in infos.values():
        if len(talks) == MOST_SESSIONS:
            break
        looked += 1
        talk = read_session(store, info)
        if talk.rounds or talk.trouble:
            tasks = spending_of(store, sub_agents_of(talk.id, by_log), lookup)
            spent = measure_spending(talk.entries, lookup).and_spending(tasks).total
            talks.append(ListedSession(talk, spent, lines.get(talk.id, "")))
    return SessionList(tuple(talks), len(infos) - looked)


def _drawn(talks: Sequence[ListedSession]) -> str:
    is_found = any(found.line for found in talks)
    head = ["id", "age", "rounds", "cost", "it began with", *(["found"] if is_found else [])]
    rows = [[*_row(found), *([code(found.line)] if is_found else [])] for found in talks]
    return table(head, rows, right=(1, 2, 3))


def _row(found: ListedSession) -> Sequence[str]:
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


RESUME = SlashCommand("resume", "/resume [ID | WORDS]", "earlier talks of this folder", _run, MORE)
