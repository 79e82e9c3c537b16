"""`/compact`: replace earlier steps by a summary; preview it first, and undo it if it is unwanted. `/recall`: a
text that was left out of the window.

Rule: without `now` nothing is written and no model is asked; `/recall` shows and changes nothing.
"""

import asyncio

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import CommandAnswer, SlashCommand, require_idle
from holdfast.agents.commands.markdown import bullets, code, fenced, joined
from holdfast.compaction.compact import compact, preview, undo
from holdfast.errors import InputError, NotFound
from holdfast.messages import Json
from holdfast.numbers import counted, grouped
from holdfast.recall import answer_recall
from holdfast.store.protocol import Store

COMPACT_HELP = """\
`/compact` shows what would be summarized, `/compact now` does it, and `/compact undo` undoes the last summary: what
it replaced is shown again. Words after `/compact` or `/compact now` say what the summary should pay attention to.
What was summarized stays in the log, and Recall brings it back."""


async def _run_compact(coding: CodingSession, argument: str) -> CommandAnswer:
    require_idle(coding, "a summary")
    verb, _, rest = argument.partition(" ")
    if verb == "now":
        return await _now(coding, rest.strip())
    if argument == "undo":
        return _undo(coding)
    plan = preview(coding.session, focus=argument)
    if plan is None:
        raise _nothing_to_summarize()
    whole = f"{counted(plan.rounds, 'round')}, " if plan.rounds else ""
    doing = f"/compact now {argument}".strip()
    text = joined(
        f"A summary of at most {grouped(plan.budget)} tokens would replace {whole}"
        f"{counted(plan.steps, 'step')}: {grouped(plan.shown)} tokens as they are shown now, "
        f"{grouped(plan.replaced)} as they were said. What the user demanded stays word for word.",
        f"{code(doing)} writes it, {code('/compact undo')} undoes it.",
    )
    return CommandAnswer(text)


def _nothing_to_summarize() -> InputError:
    return InputError(
        "there is nothing to summarize: the newest steps stay as they are",
        hint="`/context` shows what takes room",
    )


async def _now(coding: CodingSession, focus: str) -> CommandAnswer:
    window = coding.agent.model_entry.window
    done = await compact(coding.session, coding.summarizer, focus=focus, model_window=window)
    if done is None:
        raise _nothing_to_summarize()
    said = (
        f"{counted(done.plan.steps, 'step')} summarized by {code(done.written.by)}: {grouped(done.tokens_after)} "
        f"tokens instead of {grouped(done.tokens_before)}. `/compact undo` undoes it."
    )
    return CommandAnswer(joined(said, bullets(done.notes), fenced(done.written.text)))


def _undo(coding: CodingSession) -> CommandAnswer:
    before = coding.session.window.view().total
    if not undo(coding.session):
        raise InputError("there is no summary to undo", hint="`/compact` shows what one would replace")
    return CommandAnswer(
        f"The last summary is undone: {grouped(coding.session.window.view().total)} tokens instead of "
        f"{grouped(before)}. If that is more than fits, the next step folds."
    )


COMPACT = SlashCommand(
    "compact",
    "/compact [now] [FOCUS] | undo",
    "summarize earlier steps; without `now` only a preview",
    _run_compact,
    COMPACT_HELP,
)


RECALL_HELP = """\
`/recall a0123456789ab` shows a text from its beginning, `/recall a0123456789ab 10-40` these lines of it,
`/recall a0123456789ab grep PATTERN` the lines that match a regular expression, `/recall a0123456789ab WORDS` those
about some words. `/recall WORDS` searches everything that was said and returned in this session. The first six
characters of an id are enough."""


async def _run_recall(coding: CodingSession, argument: str) -> CommandAnswer:
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
    _run_recall,
    RECALL_HELP,
)
