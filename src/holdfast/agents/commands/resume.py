"""`/resume`: list, search and resume the earlier sessions of this folder.

Rule: only sessions of this folder can be resumed from it: the files of others are elsewhere.
"""

import asyncio
import time
from collections.abc import Sequence

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import SlashCommand, require_idle
from holdfast.agents.commands.cost import lookup_for
from holdfast.agents.commands.markdown import code, dollars, joined, table
from holdfast.agents.outcomes import CommandAnswer, Menu, MenuItem
from holdfast.agents.sessions import (
    StoredSession,
    logs_in_folder,
    read_session,
    search_sessions,
    session_folder,
)
from holdfast.agents.spending import ModelSpending, measure_spending
from holdfast.errors import InputError, NotFound
from holdfast.numbers import counted
from holdfast.store.text_search import folded_phrases

MOST_SESSIONS = 15
"""How many sessions are listed; older ones are found by words."""

MORE = """\
`/resume` lists the newest sessions of this folder, `/resume WORDS` those in which these words occur, `/resume ID`
resumes one; the first six characters of its id are enough."""

_AGES = ((86_400 * 365, "y"), (86_400 * 7, "w"), (86_400, "d"), (3_600, "h"), (60, "min"))


ListedSession = tuple[StoredSession, ModelSpending, str]
"""A session to show, its cost with sub-agents, and the line in which words were found."""


async def _run(coding: CodingSession, argument: str) -> CommandAnswer:
    require_idle(coding, "another session")
    if argument and (log := _named(coding, argument)):
        return CommandAnswer(f"Resuming {code(log)}.", open_log=log)
    sessions, more = await asyncio.to_thread(_list, coding, argument)
    if not sessions:
        nothing = "this folder has no other sessions yet"
        raise InputError(
            f"no session of this folder says `{argument}`" if argument else nothing,
            hint="`holdfast logs` lists everything in the store",
        )
    return CommandAnswer(
        joined(
            _table(sessions),
            f"and {counted(more, 'older session')}: `/resume WORDS` finds them" if more else "",
            "`/resume ID` resumes one of them.",
        ),
        menu=_menu(sessions, more),
    )


def _named(coding: CodingSession, argument: str) -> str:
    """The log with this id; empty if the argument is words."""
    store = coding.session.store
    try:
        found = store.resolve(argument)
    except NotFound:
        return ""
    if found.kind != "log":
        return ""
    if found.id == coding.session.log.id:
        raise InputError(f"`{found.id}` is this session", hint="`/rewind` goes back in it, `/fork` leaves it")
    folder = session_folder(store, found.id)
    if not folder:
        raise InputError(
            f"`{found.id}` is not a session of this agent", hint=f"`holdfast show {found.id}` shows it"
        )
    if folder != coding.workspace.roots[0]:
        raise InputError(
            f"that session belongs to `{folder}`", hint=f"run `holdfast resume {found.id}` there"
        )
    return found.id


def _list(coding: CodingSession, query: str) -> tuple[list[ListedSession], int]:
    """The newest sessions in which something was said, and how many older ones there are."""
    store, own = coding.session.store, coding.session.log.id
    logs = logs_in_folder(store, coding.workspace.roots[0])
    infos = {info.head.id: info for info in logs if info.head.id != own}
    lines: dict[str, str] = {}
    if query:
        if not folded_phrases(query):
            raise RESUME.misused(f"`{query}` contains no word to search for")
        lines = search_sessions(store, list(infos), query)
        infos = {log: infos[log] for log in lines}
    lookup = lookup_for(coding)
    sessions: list[ListedSession] = []
    looked = 0
    for info in infos.values():
        if len(sessions) == MOST_SESSIONS:
            break
        looked += 1
        session = read_session(store, info)
        if session.rounds or session.trouble:
            spent = measure_spending(session.entries, lookup).total
            sessions.append((session, spent, lines.get(session.id, "")))
    return sessions, len(infos) - looked


def _table(sessions: Sequence[ListedSession]) -> str:
    is_found = any(line for *_, line in sessions)
    rows = []
    for session, spent, line in sessions:
        cost = dollars(spent.dollars) if spent.is_priced else "–"
        title = f"{code(session.title)}{' (fork)' if session.forked_from else ''}"
        about = [str(session.rounds), cost, title]
        if session.trouble:
            about = ["", "", f"cannot be read: {session.trouble}"]
        rows.append([code(session.id), age(session.last_at), *about, *([code(line)] if is_found else [])])
    head = ["id", "age", "rounds", "cost", "it began with", *(["found"] if is_found else [])]
    return table(head, rows, right=(1, 2, 3))


def _menu(sessions: Sequence[ListedSession], more: int) -> Menu:
    items = []
    for session, spent, line in sessions:
        cost = dollars(spent.dollars) if spent.is_priced else ""
        fork = "fork" if session.forked_from else ""
        rounds = (session.trouble and "cannot be read") or counted(session.rounds, "round")
        about = " · ".join(filter(None, (age(session.last_at), rounds, cost, fork, session.id[:6])))
        items.append(MenuItem(line or session.title, about, f"/resume {session.id}"))
    about = f"and {counted(more, 'older session')}, found by words" if more else ""
    return Menu("resume a session", tuple(items), about, "/resume ", "search all that was said for")


def age(at: float | None) -> str:
    """How long ago, in the largest unit that fits."""
    if at is None:
        return "?"
    seconds = max(0.0, time.time() - at)
    return next((f"{int(seconds // unit)} {name}" for unit, name in _AGES if seconds >= unit), "just now")


RESUME = SlashCommand("resume", "/resume [ID | WORDS]", "earlier sessions of this folder", _run, MORE)
