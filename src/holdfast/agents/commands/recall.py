"""`/recall`: a text that was left out of the window.

Rule: it shows and changes nothing.
"""

import asyncio

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import SlashCommand
from holdfast.agents.commands.markdown import fenced
from holdfast.agents.outcomes import CommandAnswer
from holdfast.errors import InputError, NotFound
from holdfast.messages import Json
from holdfast.recall import answer_recall
from holdfast.store.protocol import Store

HELP = """\
`/recall a0123456789ab` shows a text from its beginning, `/recall a0123456789ab 10-40` these lines of it,
`/recall a0123456789ab grep PATTERN` the lines that match a regular expression, `/recall a0123456789ab WORDS` those
about some words. `/recall WORDS` searches everything that was said and returned in this session. The first six
characters of an id are enough."""


async def _run(coding: CodingSession, argument: str) -> CommandAnswer:
    if not argument:
        raise RECALL.misused("say what to recall: an id from a mark, or words to search for")
    session = coding.session
    text, is_error = await asyncio.to_thread(
        answer_recall, session.store, _asked(session.store, argument), log=session.log.id
    )
    if is_error:
        sentence, _, hint = text.partition("\nhint: ")
        raise InputError(sentence, hint=hint or "`/recall WORDS` searches everything in this session")
    return CommandAnswer(fenced(text))


def _asked(store: Store, argument: str) -> dict[str, Json]:
    """What a line asks for. If the first word is not an id, all are words to search for."""
    first, _, rest = argument.partition(" ")
    rest = rest.strip()
    if not _is_id(store, first):
        return {"query": argument}
    if not rest:
        return {"id": first}
    verb, _, pattern = rest.partition(" ")
    if verb == "grep" and pattern.strip():
        return {"id": first, "grep": pattern.strip()}
    if rest.replace("-", "", 1).isdecimal():
        return {"id": first, "lines": rest}
    return {"id": first, "query": rest}


def _is_id(store: Store, word: str) -> bool:
    """Whether something has this id. The beginning of several ids counts too; the error comes when it is asked
    for."""
    try:
        store.resolve(word)
    except NotFound:
        # A mistyped id is not a search: nothing would be found, and nobody would know why.
        return len(word) == 13 and word[0] in "ae" and word.isalnum() and any(map(str.isdigit, word))
    except InputError:
        return True
    return True


RECALL = SlashCommand(
    "recall",
    "/recall ID [LINES | grep PATTERN | WORDS]",
    "bring back a text that was left out",
    _run,
    HELP,
)
