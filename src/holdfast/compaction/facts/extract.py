"""The rule half: all facts of a range of a transcript, without a model.

Rule: pure, and linear in the text. What holds at the end (files, open errors, the state of the tests, todos) is
drawn from the whole transcript up to there; what happened, from the range.
"""

from collections.abc import Sequence

from holdfast.compaction.facts.calls import CallRecord, command_facts, read_calls, test_state
from holdfast.compaction.facts.fact import Fact, LogFacts, quote_text
from holdfast.compaction.facts.failures import errors_and_attempts
from holdfast.compaction.facts.paths import file_facts, key_facts
from holdfast.compaction.facts.requests import (
    decision_facts,
    directive_facts,
    first_and_latest,
    read_handover,
    utterances_of,
)
from holdfast.events import RecapSet
from holdfast.views.todos import Todos, todos_after
from holdfast.views.transcript import FrozenTranscript, Item, Step


def extract_facts(transcript: FrozenTranscript, first: int = 0, end: int | None = None) -> LogFacts:
    """The facts of the items from position `first` up to `end`; of the whole transcript by default."""
    upto = transcript.items[:end]
    items = upto[first:]
    calls = list(read_calls(upto))
    recent = [call for call in calls if call.step.position >= first]
    said = utterances_of(items, [call for call in recent if call.outcome.is_refused])
    goal, latest = first_and_latest(said)
    errors, attempts = errors_and_attempts(calls, _first_step(items))
    approvals = [pair for pair in transcript.approvals if first <= pair[0] < first + len(items)]
    return LogFacts(
        goal=goal,
        latest=latest,
        directives=directive_facts(said),
        files=file_facts(calls),
        commands=command_facts(recent),
        tests=test_state(calls),
        errors=errors,
        attempts=attempts,
        decisions=decision_facts(said, recent, approvals),
        todos=_todos(calls),
        recap=recap_facts(transcript, len(upto)),
        keys=key_facts(said, recent),
        handover=read_handover(upto),
        last_said=_last_said(items),
    )


def _first_step(items: Sequence[Item]) -> int:
    return next((item.number for item in items if isinstance(item, Step)), 0)


def _todos(calls: Sequence[CallRecord]) -> tuple[Fact, ...]:
    """The todos that were open at the end, and where the list was last changed."""
    todos, changed = Todos(), ("", -1)
    for call in calls:
        if call.outcome.is_run and not call.outcome.is_failed:
            after = todos_after(todos, call.call, call.text)
            if after is not todos:
                todos, changed = after, (call.step.entry, call.step.number)
    entry, step = changed
    return tuple(
        Fact(f"{'in progress' if todo.status == 'active' else 'pending'}: {todo.text}", (entry,), step)
        for todo in todos.items
        if todo.status != "done"
    )


def recap_facts(transcript: FrozenTranscript, end: int) -> tuple[Fact, ...]:
    """The recap as it was when there were so many items."""
    newest: dict[str, tuple[Fact, ...]] = {}
    for position, entry in transcript.recap_entries:
        event = entry.event
        if position < end and isinstance(event, RecapSet):
            newest[event.key] = tuple(Fact(line, (entry.id,)) for line in event.lines)
    return tuple(fact for facts in newest.values() for fact in facts)


def _last_said(items: Sequence[Item]) -> Fact | None:
    for item in reversed(items):
        if isinstance(item, Step) and item.message.text.strip():
            return Fact(quote_text(item.message.text), (item.entry,), item.number)
    return None
