"""The writer of a summary: a model is asked if there is one, checked and repaired; else the rule half is used.

Rule: it always ends in something that can be recorded. A model that is slow, silent, wordy or wrong costs a retry,
then the rule half, then a mark; it never costs the agent's turn, nor what the user said.
"""

import asyncio
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from holdfast.compaction.check import CheckContext, has_text
from holdfast.compaction.evidence import Evidence
from holdfast.compaction.facts.extract import extract_facts
from holdfast.compaction.facts.fact import LogFacts
from holdfast.compaction.forms import Form
from holdfast.compaction.forms.content import SummaryContent
from holdfast.compaction.plan import CompactionPlan
from holdfast.compaction.preparation import PreparedSummary, earlier_lines
from holdfast.compaction.repair import CountTokens, repair_summary
from holdfast.events import Compacted, CompactionFailed, Event, SummaryLine, SummarySlot, UsageReported
from holdfast.messages import Text, Usage, UserMessage
from holdfast.models.errors import ModelError
from holdfast.models.model import Model, ModelRequest, ask
from holdfast.packing.rendering.marks import mark, one_line
from holdfast.packing.view import WindowView

BY_RULE = "rule"
TRUNCATED = "truncation"
PURPOSE = "summary"
LONGEST_WHY = 200
MOST_KEYS = 12
"""Missing keys that are named."""


class SummaryAttempt(Struct, frozen=True):
    """What came of asking once: a text, or why there is none that can be used."""

    text: str = ""
    why: str = ""
    usage: Usage | None = None


class WrittenSummary(Struct, frozen=True):
    """A summary before it is recorded, and how it came about."""

    content: SummaryContent
    text: str
    by: str
    attempts: tuple[SummaryAttempt, ...] = ()
    added: tuple[SummaryLine, ...] = ()
    removed: tuple[tuple[SummaryLine, str], ...] = ()
    lacking: tuple[str, ...] = ()
    """Keys that the model left out, and that nothing else could fill."""

    @property
    def failures(self) -> tuple[str, ...]:
        return tuple(attempt.why for attempt in self.attempts if attempt.why)


async def write_summary(prepared: PreparedSummary, model: Model | None, count: CountTokens) -> WrittenSummary:
    """The summary: the model's, repaired; where it fails the rule half, or only a mark."""
    if model is None or prepared.request is None:
        return write_by_rule(prepared, count)
    attempts: list[SummaryAttempt] = []
    usable: WrittenSummary | None = None
    request = prepared.request
    for _ in range(prepared.tries):
        attempt = await _ask_once(model, request, prepared.timeout)
        written = _repaired(prepared, attempt, model.name, count) if attempt.text else attempt
        if isinstance(written, WrittenSummary):
            if not written.lacking:
                return replace(written, attempts=(*attempts, attempt))
            usable = written if usable is None or len(written.lacking) < len(usable.lacking) else usable
            written = SummaryAttempt("", f"the answer lacks {_named(written.lacking)}", attempt.usage)
        if attempt.text:
            request = _with_reason(prepared.request, written.why)
        attempts.append(written)
    return replace(usable or _instead(prepared, count), attempts=tuple(attempts))


async def _ask_once(model: Model, request: ModelRequest, seconds: float) -> SummaryAttempt:
    """Nothing that a model does stops an agent: an answer that cannot be used is a reason, with what it cost."""
    try:
        async with asyncio.timeout(seconds):
            reply = await ask(model, request)
    except TimeoutError:
        return SummaryAttempt(why=f"no answer within {seconds:g} s")
    except ModelError as error:
        return SummaryAttempt(why=error.message, usage=error.usage)
    except AssertionError:
        raise
    except Exception as error:  # A model that is not ours may raise anything, and stops no agent.
        return SummaryAttempt(why=one_line(f"{type(error).__name__}: {error}")[:LONGEST_WHY])
    why = {"refused": "the model refused", "length": "the answer was cut off"}.get(reply.stop, "")
    if not why and not reply.text.strip():
        why = "the answer was empty"
    return SummaryAttempt("" if why else reply.text, why, reply.usage)


def _with_reason(request: ModelRequest, why: str) -> ModelRequest:
    """The request with the reason why its answer could not be used: the same words would get the same answer."""
    *before, asked = request.messages
    assert isinstance(asked, UserMessage), "a request for a summary ends with the prompt"
    reason = Text(
        f"The previous answer could not be used: {why}. Write the whole summary again, with every key."
    )
    return replace(request, messages=(*before, UserMessage((*asked.parts, reason))))


def _named(keys: Sequence[str]) -> str:
    shown = ", ".join(f"`{key}`" for key in keys[:MOST_KEYS])
    return f"{shown} and {len(keys) - MOST_KEYS} more" if len(keys) > MOST_KEYS else shown


def _repaired(
    prepared: PreparedSummary, attempt: SummaryAttempt, model: str, count: CountTokens
) -> WrittenSummary | SummaryAttempt:
    """The model's text, checked and repaired; the attempt as a failure where that leaves nothing to use."""
    plan, form = prepared.plan, prepared.form
    content, problems = form.parse(attempt.text)
    if not content.lines():
        what = problems[0].what if problems else "it has none of the form's fields"
        return SummaryAttempt("", f"the answer is not in the form `{form.name}`: {what}", attempt.usage)
    if count(attempt.text) >= plan.replaced:
        return SummaryAttempt("", "the answer is longer than what it replaces", attempt.usage)
    context = CheckContext.of(form, prepared.facts, prepared.evidence, archive=plan.slot == "archive")
    repaired = repair_summary(content, context, below=min(plan.replaced, plan.budget + 1), count=count)
    text = form.render(repaired.content, archive=plan.slot == "archive")
    if count(text) >= plan.replaced:
        return SummaryAttempt("", "after repair, the answer is longer than what it replaces", attempt.usage)
    return WrittenSummary(
        repaired.content,
        text,
        model,
        added=repaired.added,
        removed=repaired.removed,
        lacking=_lacking(form, content, repaired.content),
    )


def _lacking(form: Form, written: SummaryContent, repaired: SummaryContent) -> tuple[str, ...]:
    """Required keys that the model did not write, and that the repair could not fill."""
    if not form.has_every_key:
        return ()
    return tuple(
        field.name
        for field in form.fields
        if field.is_required and field.name not in written.fields and not has_text(repaired, field)
    )


def _instead(prepared: PreparedSummary, count: CountTokens) -> WrittenSummary:
    """What stands in for a model's summary. A state is never truncated: what the user said has no other place."""
    plan = prepared.plan
    if not prepared.truncates or plan.slot == "state":
        return write_by_rule(prepared, count)
    marked = mark(f"{plan.steps} steps were left out, and no summary of them was written", plan.first)
    return WrittenSummary(SummaryContent({}), marked, TRUNCATED)


def write_by_rule(prepared: PreparedSummary, count: CountTokens) -> WrittenSummary:
    """The rule half alone; where even that is no smaller than the log, a mark.

    Never a mark for a state, which replaces more than the plan's range: what the user said has no other place.
    """
    plan, form = prepared.plan, prepared.form
    is_archive = plan.slot == "archive"
    content = _filled(form, prepared.facts, plan, count, archive=is_archive)
    text = form.render(content, archive=is_archive)
    if plan.slot == "state" or (text.strip() and count(text) < plan.replaced):
        return WrittenSummary(content, text, BY_RULE)
    marked = mark(f"{plan.steps} steps were left out, and no summary of them is shorter", plan.first)
    return WrittenSummary(SummaryContent({}), marked, BY_RULE)


def _filled(
    form: Form, facts: LogFacts, plan: CompactionPlan, count: CountTokens, *, archive: bool
) -> SummaryContent:
    """The rule half in the plan's budget: what matters least goes, and the floor of a summary stays."""
    content = form.fill(facts, archive=archive)
    if count(form.render(content, archive=archive)) <= plan.budget:
        return content
    # The rule half names nothing that must be looked up.
    context = CheckContext.of(form, facts, Evidence.of_texts(()), archive=archive)
    return repair_summary(content, context, below=plan.budget + 1, count=count).content


def usage_events(written: WrittenSummary, model: str) -> list[Event]:
    """What every try cost, whatever came of it."""
    return [UsageReported(attempt.usage, model, PURPOSE) for attempt in written.attempts if attempt.usage]


def summary_events(
    prepared: PreparedSummary, written: WrittenSummary, window: WindowView, model: str = ""
) -> list[Event]:
    """What to record of a summary that still fits the log; the cost and the fold are the caller's."""
    plan, transcript = prepared.plan, window.transcript
    events: list[Event] = []
    if written.attempts and written.by in (BY_RULE, TRUNCATED):
        events.append(CompactionFailed("; ".join(written.failures), plan.first, plan.last, model))
    if plan.merges:
        events.append(_merged_archive(prepared, window))
    first = plan.first if plan.slot == "archive" else transcript.items[0].entry
    summary = _compacted(plan.slot, written.content, written.text, first=first, last=plan.last)
    events.append(replace(summary, by=written.by, focus=plan.focus))
    if plan.slot == "archive" and written.by != TRUNCATED:
        events.append(_working_state(prepared.form, window, plan))
    return events


def _merged_archive(prepared: PreparedSummary, window: WindowView) -> Compacted:
    """One archive entry of the second level, in the place of several that have grown too many.

    It is made from what the entries say and from the facts of all they cover. The entries stay in the log, and what
    the user demanded stays word for word.
    """
    plan, form = prepared.plan, prepared.form
    entries = [window.transcript.compactions.archive[id_] for id_ in plan.merges]
    first, last = entries[0].first, entries[-1].last
    facts = extract_facts(window.transcript, window.position(first), window.position(last) + 1)
    context = CheckContext.of(form, facts, prepared.evidence, archive=True)
    lines, count = earlier_lines(form, entries), window.counter.text
    content = repair_summary(lines, context, below=plan.budget + 1, count=count).content
    merged = _compacted("archive", content, form.render(content, archive=True), first=first, last=last)
    return replace(merged, above=plan.merges)


def _working_state(form: Form, window: WindowView, plan: CompactionPlan) -> Compacted:
    """Rebuilt by rule from the whole log, each time; what was run and decided before is in the archive."""
    whole, since = extract_facts(window.transcript), extract_facts(window.transcript, plan.end)
    facts = replace(whole, commands=since.commands, attempts=since.attempts, decisions=since.decisions)
    content = _filled(form, facts, plan, window.counter.text, archive=False)
    return replace(_compacted("state", content, form.render(content)), focus=plan.focus)


def _compacted(
    slot: SummarySlot, content: SummaryContent, text: str, *, first: str = "", last: str = ""
) -> Compacted:
    lines = content.lines()
    sources = tuple(dict.fromkeys(source for line in lines for source in line.sources))
    return Compacted(slot, text, first=first, last=last, sources=sources, lines=lines)
