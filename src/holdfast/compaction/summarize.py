"""Writing a summary: a model is asked if there is one, checked and mended; and the rule half stands in.

Rule: it always ends in something that can be recorded. A model that is slow, silent, wordy or lying costs a retry,
then the rule half, then a mark; never the agent's turn, and never what the user said.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from holdfast.compaction.asking import Attempt, ask_once, with_reason
from holdfast.compaction.check import Finding, check, says
from holdfast.compaction.evidence import Evidence
from holdfast.compaction.facts.extract import facts_of
from holdfast.compaction.facts.values import Facts
from holdfast.compaction.forms.content import Content, Line
from holdfast.compaction.forms.form import Form
from holdfast.compaction.plan import Plan
from holdfast.compaction.prepare import Prepared
from holdfast.compaction.repair import Repaired, repair
from holdfast.compaction.second_level import stand_for
from holdfast.events import Compacted, CompactionFailed, Event, SummaryLine, UsageReported
from holdfast.models.protocol import Model
from holdfast.packing.renditions.marks import mark
from holdfast.packing.window import Window

Count = Callable[[str], int]
"""Tokens of a text."""

BY_RULE = "rule"
PURPOSE = "summary"
MOST_KEYS = 12
"""Missing keys that are named."""


class Written(Struct, frozen=True):
    """A summary before it is recorded, and how it came about."""

    content: Content
    text: str
    by: str
    attempts: tuple[Attempt, ...] = ()
    findings: tuple[Finding, ...] = ()
    added: tuple[Line, ...] = ()
    removed: tuple[tuple[Line, str], ...] = ()
    lacking: tuple[str, ...] = ()
    """Keys that the model left out, and that nothing else could fill."""

    @property
    def failures(self) -> tuple[str, ...]:
        return tuple(attempt.why for attempt in self.attempts if attempt.why)


async def write(prepared: Prepared, model: Model | None, count: Count) -> Written:
    """The summary: the model's, mended, or the rule half."""
    if model is None or prepared.request is None:
        return by_rule(prepared, count)
    attempts: list[Attempt] = []
    usable: Written | None = None
    request = prepared.request
    for _ in range(prepared.tries):
        attempt = await ask_once(model, request, prepared.timeout)
        written = _mended(prepared, attempt, model.name, count) if attempt.text else attempt
        if isinstance(written, Written):
            if not written.lacking:
                return _with(written, (*attempts, attempt))
            usable = written if usable is None or len(written.lacking) < len(usable.lacking) else usable
            written = Attempt("", f"the answer lacks {_named(written.lacking)}", attempt.usage)
        if attempt.text:
            request = with_reason(prepared.request, written.why)
        attempts.append(written)
    return _with(usable or by_rule(prepared, count), tuple(attempts))


def _named(keys: Sequence[str]) -> str:
    shown = ", ".join(f"`{key}`" for key in keys[:MOST_KEYS])
    return f"{shown} and {len(keys) - MOST_KEYS} more" if len(keys) > MOST_KEYS else shown


def by_rule(prepared: Prepared, count: Count) -> Written:
    """The rule half alone; where even that is no smaller than the log, a mark.

    Never a mark for a state, which stands for more than the plan's range: what the user said has no other place.
    """
    plan, form = prepared.plan, prepared.form
    content = _filled(form, prepared.facts, plan, count, archive=plan.slot == "archive")
    text = form.render(content)
    if plan.slot == "state" or (text.strip() and count(text) < plan.replaced):
        return Written(content, text, BY_RULE)
    marked = mark(f"{plan.steps} steps were left out, and no summary of them is shorter", plan.first)
    return Written(Content({}), marked, BY_RULE)


def _filled(form: Form, facts: Facts, plan: Plan, count: Count, *, archive: bool) -> Content:
    """The rule half in the plan's budget: what matters least goes, and the floor of a summary stays."""
    content = form.fill(facts, archive=archive)
    if count(form.render(content)) <= plan.budget:
        return content
    nothing = Evidence.of_texts(())
    shorter = repair(
        content, (), facts, form, nothing, archive=archive, replaced_tokens=plan.budget + 1, count=count
    )
    return shorter.content


def spent_on(written: Written, model: str) -> list[Event]:
    """What every try cost, whatever came of it."""
    return [UsageReported(attempt.usage, model, PURPOSE) for attempt in written.attempts if attempt.usage]


def events_of(prepared: Prepared, written: Written, window: Window, model: str = "") -> list[Event]:
    """What to record of a summary that still fits the log; the bill and the fold are the caller's."""
    plan, form, count = prepared.plan, prepared.form, window.scene.counter.text
    events: list[Event] = []
    if written.attempts and written.by == BY_RULE:
        events.append(CompactionFailed("; ".join(written.failures), plan.first, plan.last, model))
    if plan.merges:
        events.append(stand_for(window, plan.merges, form, prepared.evidence, plan.budget, count))
    first = plan.first if plan.slot == "archive" else window.transcript.items[0].entry
    events.append(_compacted(plan.slot, written.content, written.text, written.by, first, plan))
    if plan.slot == "archive":
        events.append(_working_state(form, window, plan))
    return events


def _working_state(form: Form, window: Window, plan: Plan) -> Compacted:
    """Rebuilt by rule from the whole log, each time; what was run and decided before stands in the archive."""
    whole, since = facts_of(window.transcript), facts_of(window.transcript, plan.end)
    facts = replace(whole, commands=since.commands, attempts=since.attempts, decisions=since.decisions)
    content = _filled(form, facts, plan, window.scene.counter.text, archive=False)
    return _compacted("state", content, form.render(content), BY_RULE, "", plan)


def _compacted(slot: str, content: Content, text: str, by: str, first: str, plan: Plan) -> Compacted:
    lines = tuple(SummaryLine(line.text, line.sources, line.by) for line in content.lines())
    sources = tuple(dict.fromkeys(source for line in lines for source in line.sources))
    last = plan.last if slot == plan.slot else ""
    return Compacted(
        slot="archive" if slot == "archive" else "state",
        text=text,
        first=first,
        last=last,
        sources=sources,
        by=by,
        focus=plan.focus,
        lines=lines,
    )


def _mended(prepared: Prepared, attempt: Attempt, model: str, count: Count) -> Written | Attempt:
    """The model's text, checked and repaired; the attempt as a failure where that leaves nothing to use."""
    plan, form = prepared.plan, prepared.form
    content, problems = form.parse(attempt.text)
    if not content.lines():
        what = problems[0].what if problems else "it has none of the form's fields"
        return Attempt("", f"the answer is not in the form `{form.name}`: {what}", attempt.usage)
    if count(attempt.text) >= plan.replaced:
        return Attempt("", "the answer is longer than what it stands for", attempt.usage)
    findings = _found(prepared, content, count)
    repaired: Repaired = repair(
        content,
        findings,
        prepared.facts,
        form,
        prepared.evidence,
        archive=plan.slot == "archive",
        replaced_tokens=min(plan.replaced, plan.budget + 1),
        count=count,
    )
    text = form.render(repaired.content)
    if count(text) >= plan.replaced:
        return Attempt("", "mended, the answer is longer than what it stands for", attempt.usage)
    return Written(
        repaired.content,
        text,
        model,
        findings=findings,
        added=repaired.added,
        removed=repaired.removed,
        lacking=_lacking(form, content, repaired.content),
    )


def _lacking(form: Form, written: Content, mended: Content) -> tuple[str, ...]:
    """Required keys that the model did not write, and that are as empty as that now."""
    if not form.has_every_key:
        return ()
    return tuple(
        field.name
        for field in form.fields
        if field.is_required and field.name not in written.fields and not says(mended, field)
    )


def _found(prepared: Prepared, content: Content, count: Count) -> tuple[Finding, ...]:
    size = count(prepared.form.render(content))
    return check(
        content,
        prepared.form,
        prepared.facts,
        prepared.evidence,
        replaced_tokens=prepared.plan.replaced,
        summary_tokens=size,
        archive=prepared.plan.slot == "archive",
    )


def _with(written: Written, attempts: Sequence[Attempt]) -> Written:
    return replace(written, attempts=tuple(attempts))
