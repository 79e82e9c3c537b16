"""`/compact`: replace earlier steps by a summary; preview it first, and undo it if it is unwanted.

Rule: without `now` nothing is written and no model is asked.
"""

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import SlashCommand, require_idle
from holdfast.agents.commands.markdown import bullets, code, fenced, joined
from holdfast.agents.outcomes import CommandAnswer
from holdfast.compaction.compact import compact, preview, undo
from holdfast.errors import InputError
from holdfast.numbers import counted, grouped

HELP = """\
`/compact` shows what would be summarized, `/compact now` does it, and `/compact undo` undoes the last summary: what
it replaced is shown again. Words after `/compact` or `/compact now` say what the summary should pay attention to.
What was summarized stays in the log, and Recall brings it back."""


async def _run(coding: CodingSession, argument: str) -> CommandAnswer:
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
    _run,
    HELP,
)
