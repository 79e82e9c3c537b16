"""Small histories for tests of the measure: messages in the shape that policies get."""

from holdfast.lab.case import RecordedTurn, ReplayCase
from holdfast.lab.evidence.credit import NeedScorer
from holdfast.lab.evidence.indexed_message import IndexedMessage
from holdfast.lab.evidence.needs import (
    DEFAULT_MEASURE,
    EvidenceHistory,
    KnownText,
    Measure,
    Need,
    Study,
    find_needs,
    study_evidence,
)
from holdfast.lab.scored_message import MessageCounter, ScoredMessage, read_message
from holdfast.tokenizers import load_tokenizer

NOTHING_KNOWN = KnownText(frozenset(), frozenset(), lambda _: False)


def user(text: str) -> dict:
    return {"role": "user", "content": text}


def called(id_: str, tool: str, /, **arguments: object) -> dict:
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": id_, "name": tool, "arguments": arguments}],
    }


def result(id_: str, text: str) -> dict:
    return {"role": "tool", "tool_call_id": id_, "content": text}


def read(*messages: dict) -> list[IndexedMessage]:
    return [IndexedMessage(read_message(message)) for message in messages]


def history_of(*messages: dict) -> EvidenceHistory:
    counter = MessageCounter(load_tokenizer())
    history = EvidenceHistory()
    for message in read(*messages):
        history.add(message, counter.message(message.scored))
    return history


def needs_of(
    action: dict, *before: dict, measure: Measure = DEFAULT_MEASURE, known: KnownText = NOTHING_KNOWN
) -> list[Need]:
    return find_needs(read_message(action), history_of(*before), known, measure)


def spans(
    action: dict, before: list[dict], pack: list[dict], measure: Measure = DEFAULT_MEASURE
) -> dict[str, bool]:
    """Each need of an action, and whether a pack holds it."""
    history = history_of(*before)
    credit = NeedScorer(history.messages, history.files, measure)
    needs = find_needs(read_message(action), history, NOTHING_KNOWN, measure)
    return {need.text: credit.span(need, read(*pack)) for need in needs}


def study_of(*messages: dict) -> Study:
    """A whole recording studied; no name is common."""
    turns = tuple(RecordedTurn(at, message, None) for at, message in enumerate(messages))
    case = ReplayCase("made", "made", (), turns)
    counter = MessageCounter(load_tokenizer())
    return study_evidence(case, counter, (DEFAULT_MEASURE,), lambda *_: lambda _: False)


def said(text: str) -> IndexedMessage:
    return IndexedMessage(ScoredMessage("user", text))
