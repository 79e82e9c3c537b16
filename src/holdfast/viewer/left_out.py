"""Search in what a request left out: texts of the log so far that its window lacks, or shows only in part.

Rule: the same words match as in the window's own search. A text that the window shows with all its matches is not
listed. Nothing from after the request is looked at.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from holdfast.messages import Json, Message
from holdfast.viewer.answers import message_text
from holdfast.viewer.history import RequestHistory
from holdfast.viewer.whereabouts import Whereabouts
from holdfast.views.transcript import Item, Step

MOST_TEXTS = 100
"""Texts in one answer."""
BEFORE, AFTER = 40, 160
"""Characters around a match that its row shows."""


class LeftOutText(Struct, frozen=True, gc=False):
    """A message of the log with `matches` that the window does not show."""

    item: Item
    call_id: str
    message: Message
    matches: int


def search_left_out(history: RequestHistory, number: int, words: str, first: int = 0) -> Json:
    """The texts that have the words, the newest first, from the `first` on."""
    places = Whereabouts(history, number)
    found = list(_texts(places, words.casefold())) if words.strip() else []
    rows = [_row(places, text, words) for text in found[first : first + MOST_TEXTS]]
    return {"number": number, "total": len(found), "first": first, "rows": rows}


def _texts(places: Whereabouts, sought: str) -> Iterator[LeftOutText]:
    items = places.transcript.items
    for at in range(len(items) - 1, -1, -1):
        item = items[at]
        results = item.results.items() if isinstance(item, Step) else ()
        for call_id, message in reversed([("", item.message), *results]):
            shown = places.shown(item, call_id)
            if shown == message:
                continue
            matches = message_text(message).casefold().count(sought)
            if matches and shown is not None:
                matches -= message_text(shown).casefold().count(sought)
            if matches > 0:
                yield LeftOutText(item, call_id, message, matches)


def _row(places: Whereabouts, text: LeftOutText, words: str) -> Json:
    item, place = text.item, places.of(text.item, text.call_id)
    step = item if isinstance(item, Step) else None
    is_result = step is not None and bool(text.call_id)
    return {
        "entry": step.result_entries[text.call_id] if step and is_result else item.entry,
        "kind": "result" if is_result else "assistant" if step else "user",
        "tool": step.calls[text.call_id].name if step and is_result else "",
        "step": step.number + 1 if step else 0,
        "presence": place.presence,
        "where": place.words,
        "block": place.at,
        "matches": text.matches,
        "excerpt": _excerpt(message_text(text.message), words),
    }


def _excerpt(text: str, words: str) -> list[str]:
    """The first match between what comes before and after it, with single spaces."""
    found = re.search(re.escape(words), text, re.IGNORECASE)
    start, end = found.span() if found else (0, 0)
    before, after = text[max(start - BEFORE, 0) : start], text[end : end + AFTER]
    return [re.sub(r"\s+", " ", piece) for piece in (before, text[start:end], after)]
