"""All that writing a summary needs, taken from the log before a model is asked; with what earlier summaries said.

Rule: nothing in it changes while the log goes on. A line of an earlier summary keeps its sources and its author.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from holdfast.compaction.evidence import Evidence
from holdfast.compaction.facts.extract import extract_facts, recap_facts
from holdfast.compaction.facts.fact import Fact, LogFacts
from holdfast.compaction.forms import FORMS
from holdfast.compaction.forms.content import FormField, SummaryContent
from holdfast.compaction.forms.form import Form
from holdfast.compaction.plan import CompactionPlan
from holdfast.compaction.summary_request import summary_request
from holdfast.events import Compacted, SummaryLine
from holdfast.models.model import ModelRequest
from holdfast.packing.window import Window
from holdfast.views.transcript import Item, Step, Transcript


def earlier_lines(form: Form, entries: Sequence[Compacted]) -> SummaryContent:
    """What the entries say, field by field and each line once."""
    known = {line.text: line for entry in entries for line in entry.lines}
    said: dict[str, dict[str, SummaryLine]] = {}
    for entry in entries:
        content, _ = form.parse(entry.text)
        for field in form.fields:
            lines = said.setdefault(field.name, {})
            for line in content.fields.get(field.name, ()):
                for text in _apart(line.text, field, known):
                    lines.setdefault(text, known.get(text) or SummaryLine(text, by="model"))
    return SummaryContent({name: tuple(lines.values()) for name, lines in said.items()})


def _apart(text: str, field: FormField, known: Mapping[str, SummaryLine]) -> list[str]:
    """The lines that a field of one text put together, where they are known."""
    pieces = text.split(field.separator) if field.kind == "text" and text not in known else [text]
    return [piece for piece in pieces if piece.strip()] if any(piece in known for piece in pieces) else [text]


def written_by_model(form: Form, entry: Compacted) -> dict[str, tuple[Fact, ...]]:
    """The lines that only a model wrote: the rule half finds its own again."""
    return {
        name: tuple(Fact(line.text, line.sources) for line in lines if line.by == "model")
        for name, lines in earlier_lines(form, [entry]).fields.items()
        if any(line.by == "model" for line in lines)
    }


MOST_FAILURES = 3
"""Failures in a row after which a log's summaries are written by rule."""


class PreparedSummary(Struct, frozen=True):
    """All that writing needs, taken from the log when it was planned; the log may go on meanwhile."""

    plan: CompactionPlan
    form: Form
    facts: LogFacts
    evidence: Evidence
    request: ModelRequest | None
    tries: int
    timeout: float


def prepare(plan: CompactionPlan, window: Window, *, model: bool, model_window: int = 0) -> PreparedSummary:
    """What is known before a model is asked. With `model` false, or after too many failures, none will be."""
    profile, transcript = window.profile, window.transcript
    form = FORMS[profile.summary_form]
    start = plan.start if plan.slot == "archive" else 0
    facts = _touched_since(extract_facts(transcript, start, plan.end), transcript.items[start : plan.end])
    if plan.slot == "state":
        facts = _as_of_now(facts, transcript, form)
    asked = model and (plan.reason == "manual" or transcript.compactions.failures < MOST_FAILURES)
    return PreparedSummary(
        plan,
        form,
        facts,
        _evidence(plan, window),
        summary_request(plan, window, form, facts, model_window=model_window) if asked else None,
        1 + ("retry" in profile.summary_failure),
        profile.summary_timeout,
    )


def _evidence(plan: CompactionPlan, window: Window) -> Evidence:
    """What a summary may name: all that its writer is shown."""
    transcript = window.transcript
    seen = (
        transcript.items[: plan.end] if window.profile.summary_request == "transcript" else transcript.items
    )
    standing = (transcript.system, *transcript.rules.values(), *transcript.contexts.values())
    return Evidence.of(seen, standing=standing)


def _as_of_now(facts: LogFacts, transcript: Transcript, form: Form) -> LogFacts:
    """The facts of a summary that replaces the one before, with what only that one knew."""
    before = transcript.compactions.state
    earlier = written_by_model(form, before) if before is not None else {}
    return replace(facts, recap=recap_facts(transcript, len(transcript.items)), earlier=earlier)


def _touched_since(facts: LogFacts, items: Sequence[Item]) -> LogFacts:
    """The facts without files that were last touched before these items: the archive has those already."""
    first = next((item.number for item in items if isinstance(item, Step)), 0)
    return replace(facts, files=tuple(file for file in facts.files if file.step >= first))
