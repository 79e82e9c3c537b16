"""`/init`: let the agent write the project's rules; and whether to offer that.

Rule: existing rules are rewritten only if a person asks for it; the offer is made once for each folder.
"""

from holdfast.agents.coding.coding_session import INIT_PROMPT as PROMPT
from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import SlashCommand
from holdfast.agents.outcomes import CommandAnswer
from holdfast.agents.project_rules import read_rules
from holdfast.agents.sessions import logs_in_folder
from holdfast.errors import InputError, StoreError
from holdfast.events import Noted
from holdfast.store.encoding import decode_entry
from holdfast.store.protocol import Store

OFFERED = "init"
"""The kind of the note that records the offer."""

HEAD = 12
"""The note is among this many first entries: the offer is made before anything is said."""


async def _run(coding: CodingSession, argument: str) -> CommandAnswer:
    if argument not in ("", "!"):
        raise INIT.unexpected(argument)
    rules = read_rules(coding.workspace)
    if rules and not argument:
        raise InputError(
            f"`{rules.path}` exists already",
            hint="`/init !` rewrites it; or say what to change in it",
        )
    return CommandAnswer("The agent looks at the repository and writes `code_law.md`.", say=PROMPT)


def offers_init(coding: CodingSession) -> bool:
    """Whether to offer it: in a new session, in a folder without rules, if it was not offered there before."""
    session = coding.session
    if session.window.transcript.rounds or read_rules(coding.workspace):
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


INIT = SlashCommand("init", "/init [!]", "let the agent write the project's rules: `code_law.md`", _run)
