"""Small histories for tests of the measure: messages in the shape that policies get."""

from holdfast.replay.evidence.credit import Credits
from holdfast.replay.evidence.history import History
from holdfast.replay.evidence.measure import DEFAULT, Measure
from holdfast.replay.evidence.needs import Known, Need, find_needs
from holdfast.replay.evidence.reading import Reading
from holdfast.replay.request import Said, Scale, read_message
from holdfast.tokenizers import load_tokenizer

NOTHING_KNOWN = Known(frozenset(), frozenset(), lambda _: False)


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


def read(*messages: dict) -> list[Reading]:
    return [Reading(read_message(message)) for message in messages]


def history_of(*messages: dict) -> History:
    scale = Scale(load_tokenizer())
    history = History()
    for reading in read(*messages):
        history.add(reading, scale.said(reading.said))
    return history


def needs_of(
    action: dict, *before: dict, measure: Measure = DEFAULT, known: Known = NOTHING_KNOWN
) -> list[Need]:
    return find_needs(read_message(action), history_of(*before), known, measure)


def spans(action: dict, before: list[dict], pack: list[dict], measure: Measure = DEFAULT) -> dict[str, bool]:
    """Each need of an action, and whether a pack holds it."""
    history = history_of(*before)
    credit = Credits(history.readings, history.files, measure)
    needs = find_needs(read_message(action), history, NOTHING_KNOWN, measure)
    return {need.text: credit.span(need, read(*pack)) for need in needs}


def said(text: str) -> Reading:
    return Reading(Said("user", text))
