"""What writing a summary needs, taken from the log before anyone is asked.

Rule: nothing in it changes while the log goes on.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from holdfast.compaction.earlier import written_by_model
from holdfast.compaction.evidence import Evidence
from holdfast.compaction.facts.extract import facts_of, standing_in
from holdfast.compaction.facts.values import Facts
from holdfast.compaction.forms import FORMS
from holdfast.compaction.forms.form import Form
from holdfast.compaction.plan import Plan
from holdfast.compaction.request import summary_request
from holdfast.models.protocol import Request
from holdfast.packing.window import Window
from holdfast.views.transcript import Item, Step, Transcript

MOST_FAILURES = 3
"""Failures in a row after which a log's summaries are written by rule."""


class Prepared(Struct, frozen=True):
    """All that writing needs, taken from the log when it was planned: the log may go on meanwhile."""

    plan: Plan
    form: Form
    facts: Facts
    evidence: Evidence
    request: Request | None
    tries: int
    timeout: float


def prepare(plan: Plan, window: Window, *, model: bool, model_window: int = 0) -> Prepared:
    """What is known before anyone is asked. With `model` false, or after too many failures, none will be."""
    profile, transcript = window.profile, window.transcript
    form = FORMS[profile.summary_form]
    start = plan.start if plan.slot == "archive" else 0
    facts = _touched_since(facts_of(transcript, start, plan.end), transcript.items[start : plan.end])
    if plan.slot == "state":
        facts = _as_of_now(facts, transcript, form)
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


def _as_of_now(facts: Facts, transcript: Transcript, form: Form) -> Facts:
    """The facts of a summary that takes the place of the one before: with what only that one knew."""
    before = transcript.compactions.state
    earlier = written_by_model(form, before) if before is not None else {}
    return replace(facts, standing=standing_in(transcript, len(transcript.items)), earlier=earlier)


def _touched_since(facts: Facts, items: Sequence[Item]) -> Facts:
    """The facts without files that were last touched before these items: the archive has those already."""
    first = next((item.number for item in items if isinstance(item, Step)), 0)
    return replace(facts, files=tuple(file for file in facts.files if file.step >= first))
