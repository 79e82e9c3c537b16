"""`/recall`: a text that was left out of the window, as it was.

Rule: the same answers as the agent gets, for a person's eyes; the log does not grow by it.
"""

import asyncio

from holdfast.agents.coding.desk import Desk
from holdfast.agents.commands.command import Command, Shown
from holdfast.agents.commands.writing import fenced
from holdfast.errors import InputError, NotFound
from holdfast.messages import Json
from holdfast.recall import answer_recall
from holdfast.store.protocol import Store

MORE = """\
`/recall a0123456789ab` shows a text from its beginning, `/recall a0123456789ab 10-40` these lines of it,
`/recall a0123456789ab grep PATTERN` the lines that match a regular expression, `/recall a0123456789ab WORDS` those
about some words. `/recall WORDS` searches everything that was said and returned in this talk. Six characters of an
id do."""


async def _run(desk: Desk, argument: str) -> Shown:
    if not argument:
        raise RECALL.misused("say what to recall: an id from a mark, or words to search for")
    session = desk.session
    text, is_error = await asyncio.to_thread(
        answer_recall, session.store, _asked(session.store, argument), log=session.log.id
    )
    if is_error:
        sentence, _, hint = text.partition("\nhint: ")
        raise InputError(sentence, hint=hint or "`/recall WORDS` searches everything in this talk")
    return Shown(fenced(text))


def _asked(store: Store, argument: str) -> dict[str, Json]:
    """What a line asks for. Words whose first is no id are words to search for."""
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
    """Whether something has this id; one that begins several is an id too, and says so when it is asked for."""
    try:
        store.resolve(word)
    except NotFound:
        # A mistyped id is no search: nothing would be found, and nobody would know why.
        return len(word) == 13 and word[0] in "ae" and word.isalnum() and any(map(str.isdigit, word))
    except InputError:
        return True
    return True


RECALL = Command(
    "recall", "/recall ID [LINES | grep PATTERN | WORDS]", "bring back a text that was left out", _run, MORE
)
