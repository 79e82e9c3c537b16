"""`/compact`: sum up what lies behind; shown first, done when asked, taken back when unwanted.

Rule: without `now` nothing is written and nobody is asked.
"""

from collections.abc import Iterator

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import CommandAnswer, SlashCommand, require_idle
from holdfast.agents.commands.markdown import bullets, code, counted, fenced, grouped, joined
from holdfast.compaction.compact import Compaction, compact, preview, undo
from holdfast.compaction.plan import CompactionPlan
from holdfast.errors import InputError

MORE = """\
`/compact` shows what would be summed up, `/compact now` does it, and `/compact undo` takes the last summary back:
what it stood for is on view again. Words behind `/compact` or `/compact now` say what the summary is to pay
attention to. What was summed up stays in the log, and Recall brings it back."""


async def _run(coding: CodingSession, argument: str) -> CommandAnswer:
    require_idle(coding, "a summary")
    verb, _, rest = argument.partition(" ")
    if verb == "now":
        return await _now(coding, rest.strip())
    if argument == "undo":
        return _undone(coding)
    plan = preview(coding.session, focus=argument)
    if plan is None:
        raise _nothing()
    return CommandAnswer(_previewed(plan, argument))


def _nothing() -> InputError:
    return InputError(
        "there is nothing to sum up: the newest steps stay as they are",
        hint="`/context` shows what takes room",
    )


def _previewed(plan: CompactionPlan, focus: str) -> str:
    whole = f"{counted(plan.rounds, 'round')}, " if plan.rounds else ""
    doing = f"/compact now {focus}".strip()
    return joined(
        f"A summary of at most {grouped(plan.budget)} tokens would stand for {whole}"
        f"{counted(plan.steps, 'step')}: {grouped(plan.shown)} tokens as they are shown now, "
        f"{grouped(plan.replaced)} as they were said. What the user demanded stays word for word.",
        f"{code(doing)} writes it, {code('/compact undo')} takes it back.",
    )


async def _now(coding: CodingSession, focus: str) -> CommandAnswer:
    takes = coding.agent.model_entry.window
    done = await compact(coding.session, coding.summarizer, focus=focus, model_window=takes)
    if done is None:
        raise _nothing()
    return CommandAnswer(joined(*_told(done)))


def _told(done: Compaction) -> Iterator[str]:
    yield (
        f"{counted(done.plan.steps, 'step')} summed up by {code(done.written.by)}: {grouped(done.tokens_after)} "
        f"tokens instead of {grouped(done.tokens_before)}. `/compact undo` takes it back."
    )
    yield bullets(done.notes)
    yield fenced(done.written.text)


def _undone(coding: CodingSession) -> CommandAnswer:
    before = coding.session.window.view().total
    if not undo(coding.session):
        raise InputError("there is no summary to take back", hint="`/compact` shows what one would stand for")
    return CommandAnswer(
        f"The last summary is taken back: {grouped(coding.session.window.view().total)} tokens instead of "
        f"{grouped(before)}. If that is more than fits, the next step folds."
    )


COMPACT = SlashCommand(
    "compact",
    "/compact [now] [FOCUS] | undo",
    "sum up what lies behind; without `now` only a preview",
    _run,
    MORE,
)
