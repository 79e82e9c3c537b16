"""`/init`: have the agent write the rules of the project; and whether to offer that.

Rule: rules that are there are written anew only where a person asks for just that; the offer is made once a folder.
"""

from holdfast.agents.coding.desk import INIT as PROMPT
from holdfast.agents.coding.desk import Desk
from holdfast.agents.commands.command import Command, Shown
from holdfast.agents.past_talks import logs_of
from holdfast.agents.project_rules import rules_of_project
from holdfast.errors import InputError, StoreError
from holdfast.events import Noted
from holdfast.store.bodies import entry_of
from holdfast.store.protocol import Store

OFFERED = "init"
"""The kind of the note that the offer was made."""

HEAD = 12
"""Entries at the beginning of a log among which the note stands: the offer is made before anything is said."""


async def _run(desk: Desk, argument: str) -> Shown:
    if argument not in ("", "!"):
        raise INIT.misused(f"`{argument}` means nothing here")
    rules = rules_of_project(desk.workspace)
    if rules and not argument:
        raise InputError(
            f"`{rules.path}` is there already",
            hint="`/init !` has it written anew; or say what to change in it",
        )
    return Shown("The agent looks at the repository and writes `code_law.md`.", say=PROMPT)


def offers_init(desk: Desk) -> bool:
    """Whether to offer it: a new talk in a folder without rules, in which it was not offered before."""
    session = desk.session
    if session.window.transcript.rounds or rules_of_project(desk.workspace):
        return False
    root = desk.workspace.roots[0]
    return not any(_was_offered(session.store, info.head.id) for info in logs_of(session.store, root))


def note_init_offer(desk: Desk) -> None:
    """Remember that it was offered, whatever the answer was."""
    desk.session.record(Noted(OFFERED, "offered to write the project's rules"))


def _was_offered(store: Store, log: str) -> bool:
    page = store.read(log, limit=HEAD)
    try:
        events = [entry_of(row, page.texts).event for row in page.rows]
    except StoreError:
        return False
    return any(isinstance(event, Noted) and event.kind == OFFERED for event in events)


INIT = Command("init", "/init [!]", "have the project's rules written: `code_law.md`", _run)
