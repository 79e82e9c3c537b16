"""What the ancestors got wrong about summaries, each as a test that keeps it from coming back."""

import asyncio

import pytest

from holdfast.compaction.check import CheckContext, find_faults
from holdfast.compaction.compact import compact
from holdfast.compaction.evidence import Evidence
from holdfast.compaction.facts.extract import extract_facts
from holdfast.compaction.forms import FORMS
from holdfast.compaction.forms.content import SummaryContent
from holdfast.compaction.repair import repair_summary
from holdfast.events import CompactionFailed, Event, ToolReturned, UserSaid
from holdfast.ids import text_id
from holdfast.messages import AssistantMessage, SystemMessage, ToolMessage, joined_text
from holdfast.models.scripted import ScriptedModel
from holdfast.packing.profile import BUILT_IN
from holdfast.packing.rendering.marks import MARK
from holdfast.packing.validator import check as broken_rules
from holdfast.sender import Packed
from holdfast.session import Session
from holdfast.views.transcript import Transcript
from holdfast.wire.anthropic import to_anthropic
from holdfast.wire.openai import to_openai
from support.logs import chained, result, step, user

NEVER = "Never touch src/legacy/."


def work(rounds: int, steps: int) -> list[Event]:
    """Rounds of steps with two calls each, whose results come in the other order."""
    events: list[Event] = []
    for r in range(rounds):
        events.append(user(f"Task {r}: see to part_{r}. {NEVER}" if not r else f"Task {r}: see to part_{r}."))
        for s in range(steps):
            a, b = f"r{r}s{s}a", f"r{r}s{s}b"
            words = " ".join(f"word{r}x{s}x{n}" for n in range(40))
            read = {"file_path": f"src/part_{r}.py", "offset": s}
            run = {"command": f"run part_{r}_{s}"}
            events.append(step(f"Step {s}.", (a, "Read", read), (b, "Bash", run)))
            events += [
                result(b, f"{words}\npart_{r}_{s} is done", "Bash"),
                result(a, f"line of part_{r}_{s}"),
            ]
        events.append(step(f"Part {r} is seen to."))
    return events


@pytest.mark.parametrize("profile", BUILT_IN)
def test_fault_05_a_failed_summary_leaves_a_mark_and_drops_nothing(profile):
    """The ancestor cut the history off where its summary failed, and said nothing."""
    session = Session(profile=profile, budget="8k")
    session.record(*work(6, 6))
    done = asyncio.run(compact(session, ScriptedModel("", repeat_last=True)))
    assert done is not None
    (failed,) = [e.event for e in session.log.entries() if isinstance(e.event, CompactionFailed)]
    assert (failed.first, failed.last) == (done.plan.first, done.plan.last)
    packed = session.pack()
    shown = shown_in(packed)
    assert "Task 0: see to part_0" in shown, "the rule half says what was asked for"
    assert NEVER in shown
    assert f"{MARK} " in shown
    cut = {c.entry for c in packed.cuts}
    for entry in session.log.entries():
        if isinstance(entry.event, UserSaid | ToolReturned):
            text = joined_text(entry.event.parts)
            assert text in shown or entry.id in cut, "what is not visible is accounted for"
            assert text in session.recall({"id": text_id(text)}), "and one Recall away"


def shown_in(packed: Packed) -> str:
    texts = (m.text if isinstance(m, SystemMessage) else joined_text(m.parts) for m in packed.pack.messages)
    return "\n".join(texts)


def test_fault_05_where_no_summary_is_shorter_there_is_a_mark():
    """Many short demands: said again one by one they take more than they took."""
    session = Session(budget="8k")
    demands = [f"Never do {n}." for n in range(60)]
    session.record(user(" ".join(demands)), step("Well."), step("So."), *work(2, 4))
    done = asyncio.run(compact(session))
    assert done is not None
    assert done.plan.steps == 2
    assert done.written.text.startswith(f"{MARK} 2 steps were left out")
    assert done.plan.first in done.written.text
    shown = shown_in(session.pack())
    assert done.written.text in shown
    assert all(demand in shown for demand in demands)


@pytest.mark.slow
@pytest.mark.parametrize("profile", BUILT_IN)
def test_fault_12_no_compaction_leaves_an_orphan_or_two_assistants_in_a_row(profile):
    """The ancestor kept the last 2N messages, wherever that cut."""
    session = Session(profile=profile, budget="6k")
    compactions = 0
    for event in work(8, 5):
        session.record(event)
        if not session.window.transcript.has_all_results:
            continue
        compactions += asyncio.run(compact(session)) is not None
        messages = session.pack().pack.messages
        assert_paired(messages)
        openai, anthropic = to_openai(messages), to_anthropic(messages)
        assert not broken_rules(openai.messages, "openai")
        assert not broken_rules(anthropic.messages, "anthropic", system=anthropic.system)
    assert compactions > 5


def assert_paired(messages) -> None:
    open_calls: list[str] = []
    before = None
    for message in messages:
        if isinstance(message, ToolMessage):
            assert message.call_id == open_calls.pop(0), "every result stands behind its call"
        else:
            assert not open_calls, "every call has its result"
        if isinstance(message, AssistantMessage):
            assert not isinstance(before, AssistantMessage)
            open_calls = [call.id for call in message.calls]
        before = message


DESIGN_WORDS = "current progress pending execution_output_dir"
"""Each of them alone lets a summary pass the check of the design, which is any()."""


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_fault_16_every_key_is_asked_for_and_not_any(form):
    transcript = Transcript(chained(work(2, 4)))
    facts = extract_facts(transcript)
    evidence = Evidence.of(transcript.items)
    rule = form.fill(facts, archive=False)
    required = [field.name for field in form.fields if field.is_required]
    for present in required:
        lines = rule.fields[present] or form.parse(DESIGN_WORDS)[0].lines()
        content, context = (
            SummaryContent({present: lines}),
            CheckContext.of(form, facts, evidence, archive=False),
        )
        findings = find_faults(content, context)
        missing = {finding.field for finding in findings if finding.kind == "missing-key"}
        assert missing >= set(required) - {present}
        repaired = repair_summary(content, context)
        assert set(required) <= set(repaired.content.fields)
        assert NEVER in form.render(repaired.content)


@pytest.mark.slow
def test_fault_16_the_words_of_the_design_alone_are_no_summary():
    for profile in BUILT_IN:
        session = Session(profile=profile, budget="8k")
        session.record(*work(6, 6))
        done = asyncio.run(compact(session, ScriptedModel(DESIGN_WORDS, repeat_last=True)))
        assert done is not None
        assert done.written.by == ("truncation" if profile == "classic" else "rule")
