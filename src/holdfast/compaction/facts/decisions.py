"""Decisions: what a person settled on, in their own words, and what they answered, allowed or refused.

Rule: only a sentence that decides counts. One too few is found again in the log; one too many reads like a promise.
"""

import re
from collections.abc import Iterator, Sequence

from holdfast.compaction.facts.calls import CallRecord
from holdfast.compaction.facts.fact import Fact, clip_line
from holdfast.compaction.facts.requests import Utterance
from holdfast.events import ApprovalGiven, Entry
from holdfast.packing.rendering.marks import one_line
from holdfast.views.prose import sentences

LONGEST = 400
"""Characters of a sentence that decides something."""
SHORTEST = 12

_DECIDES = re.compile(
    r"(?i)\blet'?s (?:go (?:with|for)|use|do option|keep(?! going)|skip|drop|stick)\b"
    r"|\bgo (?:with|for) (?:option|the|your|#?\d)\b|^(?:ok,? |yes,? )?option \w\b"
    r"|\bi (?:like|choose|pick|prefer|vote for) (?:the )?option\b|\b(?:i|we)(?:'ve| have)? (?:decided|agreed)\b"
    r"|\bdecision: |就用|决定(?:用|采用|使用)|采用.{1,30}方案|选(?:择)?方案"
)
_QUESTION = re.compile(r"[?？][\"'”’)]*$")
_ANSWERED = re.compile(r"User has answered your questions: (.+?)(?:\. You can now continue|\Z)", re.DOTALL)
_CLARIFIES = re.compile(r"The user wants to clarify these questions")
_APPROVED = re.compile(r"User has approved your plan")
_PLAN = re.compile(r"(?:saved to|plan file):? (\S{1,300}\.\w{1,5})")


def decision_facts(
    said: Sequence[Utterance],
    calls: Sequence[CallRecord],
    approvals: Sequence[tuple[int, Entry]],
) -> tuple[Fact, ...]:
    """What was decided, in order, each sentence once. `approvals` have the position they came at."""
    found = [*_by_people(said), *_by_answers(calls), *_by_approvals(approvals, calls)]
    facts: dict[str, Fact] = {}
    for _, fact in sorted(found, key=lambda pair: pair[0]):
        facts.setdefault(fact.text, fact)
    return tuple(facts.values())


def _by_people(said: Sequence[Utterance]) -> Iterator[tuple[int, Fact]]:
    for one in said:
        for sentence in _deciding(one.text):
            yield one.position, Fact(f"user: {sentence}", (one.entry,), one.step)


def _deciding(text: str) -> Iterator[str]:
    for start, end in sentences(text):
        sentence = text[start:end]
        if (
            SHORTEST <= len(sentence) <= LONGEST
            and _DECIDES.search(sentence)
            and not _QUESTION.search(sentence)
        ):
            yield one_line(sentence)


def _by_answers(calls: Sequence[CallRecord]) -> Iterator[tuple[int, Fact]]:
    """Questions that a person answered, plans that were approved, calls that were refused."""
    for call in calls:
        position, entry, step = call.step.position, call.entry, call.step.number
        if call.outcome.is_refused:
            if _QUESTION.search(call.outcome.line) or _CLARIFIES.match(call.outcome.line):
                continue
            reason = f": {clip_line(call.outcome.line)}" if call.outcome.line else ""
            yield position, Fact(f"user refused `{clip_line(call.use.label, 120)}`{reason}", (entry,), step)
        elif call.use.kind == "other" and (found := _ANSWERED.match(call.text)):
            yield position, Fact(f"user answered: {clip_line(found[1], LONGEST)}", (entry,), step)
        elif call.use.kind == "other" and _APPROVED.match(call.text):
            where = _PLAN.search(call.text, 0, 1_000)
            yield (
                position,
                Fact(f"user approved the plan{f' in {where[1]}' if where else ''}", (entry,), step),
            )


def _by_approvals(
    approvals: Sequence[tuple[int, Entry]], calls: Sequence[CallRecord]
) -> Iterator[tuple[int, Fact]]:
    """What a person allowed for good or denied. To allow one call decides nothing beyond it."""
    labels = {call.call.id: call.use.label for call in calls}
    for position, entry in approvals:
        event = entry.event
        assert isinstance(event, ApprovalGiven)
        about = f"`{clip_line(labels.get(event.call_id, event.call_id), 120)}`"
        reason = f": {clip_line(event.reason)}" if event.reason else ""
        if event.decision == "deny":
            yield position, Fact(f"denied {about}{reason}", (entry.id,))
        elif event.decision in ("log", "pattern"):
            rule = f" ({event.rule})" if event.rule else ""
            yield position, Fact(f"allowed from now on {about}{rule}{reason}", (entry.id,))
