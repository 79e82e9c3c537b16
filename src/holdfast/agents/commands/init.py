"""`/init`: have the agent write the rules of the project; and whether to offer that.

Rule: rules that are there are written anew only where a person asks for just that; the offer is made once a folder.
"""

from holdfast.agents.coding.coding_session import INIT_PROMPT as PROMPT
from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import CommandAnswer, SlashCommand
from holdfast.agents.project_rules import read_project_rules
from holdfast.agents.sessions import logs_in_folder
from holdfast.errors import InputError, StoreError
from holdfast.events import Noted
from holdfast.store.encoding import decode_entry
from holdfast.store.protocol import Store

OFFERED = "init"
"""The kind of the note that the offer was made."""

HEAD = 12
"""Entries at the beginning of a log among which the note stands: the offer is made before anything is said."""


async def _run(coding: CodingSession, argument: str) -> CommandAnswer:
    if argument not in ("", "!"):
        raise INIT.misused(f"`{argument}` means nothing here")
    rules = read_project_rules(coding.workspace)
    if rules and not argument:
        raise InputError(
            f"`{rules.path}` is there already",
            hint="`/init !` has it written anew; or say what to change in it",
        )
    return CommandAnswer("The agent looks at the repository and writes `code_law.md`.", say=PROMPT)


def offers_init(coding: CodingSession) -> bool:
    """Whether to offer it: a new talk in a folder without rules, in which it was not offered before."""
    session = coding.session
    if session.window.transcript.rounds or read_project_rules(coding.workspace):
        return False
    root = coding.workspace.roots[0]
    return not any(_was_offered(session.store, info.head.id) for info in logs_in_folder(session.store, root))


def note_init_offer(coding: CodingSession) -> None:
    """Remember that it was offered, whatever the answer was."""
    coding.session.record(Noted(OFFERED, "offered to write the project's rules"))


def _was_offered(store: Store, log: str) -> bool:
    page = store.read(log, limit=HEAD)
    try:
        events = [decode_entry(row, page.texts).event for row in page.rows]
    except StoreError:
        return False
    return any(isinstance(event, Noted) and event.kind == OFFERED for event in events)


INIT = SlashCommand("init", "/init [!]", "have the project's rules written: `code_law.md`", _run)
