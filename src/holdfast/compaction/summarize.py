"""Writing a summary: a model is asked if there is one, checked and mended; and the rule half stands in.

Rule: it always ends in something that can be recorded. A model that is slow, silent, wordy or lying costs a retry,
then the rule half, then a mark; never the agent's turn, and never what the user said.
"""

import asyncio
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from holdfast.compaction.check import Finding, check
from holdfast.compaction.evidence import Evidence
from holdfast.compaction.facts.extract import facts_of
from holdfast.compaction.facts.values import Facts
from holdfast.compaction.forms import FORMS
from holdfast.compaction.forms.content import Content, Line
from holdfast.compaction.forms.form import Form
from holdfast.compaction.plan import Plan
from holdfast.compaction.repair import Repaired, repair
from holdfast.compaction.request import summary_request
from holdfast.compaction.second_level import stand_for
from holdfast.events import Compacted, CompactionFailed, Event, SummaryLine, UsageReported
from holdfast.messages import Usage
from holdfast.models.errors import ModelError
from holdfast.models.protocol import Model, Reply, Request, ask
from holdfast.packing.marks import mark, one_line
from holdfast.packing.window import Window
from holdfast.views.transcript import Item, Step

Count = Callable[[str], int]
"""Tokens of a text."""

MOST_FAILURES = 3
"""Failures in a row after which a log's summaries are written by rule."""
BY_RULE = "rule"
PURPOSE = "summary"
LONGEST_WHY = 200


class Prepared(Struct, frozen=True):
    """All that writing needs, taken from the log when it was planned: the log may go on meanwhile."""

    plan: Plan
    form: Form
    facts: Facts
    evidence: Evidence
    request: Request | None
    tries: int
    timeout: float


class Attempt(Struct, frozen=True):
    """What came of asking once: a text, or why there is none that can be used."""

    text: str = ""
    why: str = ""
    usage: Usage | None = None


class Written(Struct, frozen=True):
    """A summary before it is recorded, and how it came about."""

    content: Content
    text: str
    by: str
    attempts: tuple[Attempt, ...] = ()
    findings: tuple[Finding, ...] = ()
    added: tuple[Line, ...] = ()
    removed: tuple[tuple[Line, str], ...] = ()

    @property
    def failures(self) -> tuple[str, ...]:
        return tuple(attempt.why for attempt in self.attempts if attempt.why)


def prepare(plan: Plan, window: Window, *, model: bool, model_window: int = 0) -> Prepared:
    """What is known before anyone is asked. With `model` false, or after too many failures, none will be."""
    profile, transcript = window.profile, window.transcript
    form = FORMS[profile.summary_form]
    start = plan.start if plan.slot == "archive" else 0
    facts = _touched_since(facts_of(transcript, start, plan.end), transcript.items[start : plan.end])
    asked = model and (plan.reason == "manual" or transcript.compactions.failures < MOST_FAILURES)
    return Prepared(
        plan,
        form,
        facts,
        _evidence(plan, window),
        summary_request(plan, window, form, facts, model_window=model_window) if asked else None,
        1 + ("retry" in profile.summary_failure),
        profile.summary_timeout,
    )


def _evidence(plan: Plan, window: Window) -> Evidence:
    """What a summary may name: all that its writer is shown."""
    transcript = window.transcript
    seen = (
        transcript.items[: plan.end] if window.profile.summary_request == "transcript" else transcript.items
    )
    standing = (transcript.system, *transcript.rules.values(), *transcript.contexts.values())
    return Evidence.of(seen, standing=standing)


def _touched_since(facts: Facts, items: Sequence[Item]) -> Facts:
    """The facts without files that were last touched before these items: the archive has those already."""
    first = next((item.number for item in items if isinstance(item, Step)), 0)
    return replace(facts, files=tuple(file for file in facts.files if file.step >= first))


async def write(prepared: Prepared, model: Model | None, count: Count) -> Written:
    """The summary: the model's, mended, or the rule half."""
    attempts: list[Attempt] = []
    if model is not None and prepared.request is not None:
        for _ in range(prepared.tries):
            attempt = await _ask(model, prepared.request, prepared.timeout)
            written = _mended(prepared, attempt, model.name, count) if attempt.text else attempt
            if isinstance(written, Written):
                return _with(written, (*attempts, attempt))
            attempts.append(written)
    return _with(by_rule(prepared, count), tuple(attempts))


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


async def _ask(model: Model, request: Request, timeout: float) -> Attempt:  # noqa: ASYNC109 - the setting's name
    try:
        async with asyncio.timeout(timeout):
            reply = await ask(model, request)
    except TimeoutError:
        return Attempt(why=f"no answer within {timeout:g} s")
    except ModelError as error:
        return Attempt(why=error.message, usage=error.usage)
    except AssertionError:
        raise
    except Exception as error:  # A model that is not ours may raise anything, and stops no agent.
        return Attempt(why=one_line(f"{type(error).__name__}: {error}")[:LONGEST_WHY])
    return _read(reply)


def _read(reply: Reply) -> Attempt:
    why = ""
    if reply.stop == "refused":
        why = "the model refused"
    elif reply.stop == "length":
        why = "the answer was cut off"
    elif not reply.text.strip():
        why = "the answer was empty"
    return Attempt("" if why else reply.text, why, reply.usage)


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
        repaired.content, text, model, findings=findings, added=repaired.added, removed=repaired.removed
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
