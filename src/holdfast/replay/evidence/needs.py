"""Needs: pieces of earlier text that an action used, found in the values of its arguments.

Rule: a need exists only if all that happened, sent whole, would support it; so *everything* scores 1.00.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Literal

from msgspec import Struct

from holdfast.replay.evidence.history import History, Place
from holdfast.replay.evidence.measure import Measure
from holdfast.replay.evidence.names import has_letters, names_in
from holdfast.replay.evidence.reading import Reading, argument_values
from holdfast.replay.request import Said

Kind = Literal["line", "name", "state"]

MOST_SOURCES = 16
"""Lines, newest first, that a name may be supported by: a name in hundreds of lines is found by these or not."""


class Need(Struct, frozen=True, gc=False):
    """`text` is a whole line or a name; `sources` are the lines it can have come from, the newest first."""

    kind: Kind
    text: str
    is_line: bool
    sources: tuple[Place, ...]
    seen: int
    """The message in which it was last seen, in whatever form."""
    age: int
    """Steps since then."""
    distance: int
    """Tokens since then."""

    def is_hard(self, measure: Measure, budget: int) -> bool:
        return self.age > measure.hard_steps and self.distance > measure.hard_share * budget


class Known(Struct, frozen=True):
    """What is no need whoever uses it: lines and names of the system prompt and the tools, and common names."""

    lines: frozenset[str]
    names: frozenset[str]
    is_common: Callable[[str], bool]


def known_from(stable: Iterable[str], is_common: Callable[[str], bool]) -> Known:
    readings = [Reading(Said("system", text)) for text in stable]
    lines = frozenset(key for reading in readings for key in reading.keys)
    return Known(lines, frozenset(name for reading in readings for name in reading.names), is_common)


def find_needs(action: Said, history: History, known: Known, measure: Measure) -> list[Need]:
    """The needs of an action, one for each source line."""
    by_source: dict[Place, Need] = {}
    for call in action.calls:
        for _, value in argument_values(call.arguments):
            for line in dict.fromkeys(value.split("\n")):
                for need in _needs_of_line(line.strip(), history, known, measure):
                    _collapse(by_source, need)
    return list(by_source.values())


def _collapse(by_source: dict[Place, Need], need: Need) -> None:
    """A line stands for the names in it; of several names the one longest unseen."""
    source = need.sources[0]
    other = by_source.get(source)
    if other is None or (need.is_line, -need.seen) > (other.is_line, -other.seen):
        by_source[source] = need


def _needs_of_line(line: str, history: History, known: Known, measure: Measure) -> Iterable[Need]:
    if len(line) >= measure.line_length and _is_phrase(line) and line not in known.lines:
        places = history.lines.get(line, [])
        sources = _sources(places, history)
        if sources:
            own = all(history.is_own(place) for place in places)
            yield _need("state" if own else "line", line, True, sources, history)
            return
    taken: list[str] = []
    for name in sorted(names_in(line), key=lambda name: (-len(name), name)):
        if len(name) < measure.name_length or name in known.names or known.is_common(name):
            continue
        if any(name in longer for longer in taken):
            continue
        need = _need_of_name(name, history)
        if need:
            taken.append(name)
            yield need


def _is_phrase(line: str) -> bool:
    """Letters, and more than one token: a lone path or hash is a name, and must earn its credit as one."""
    return has_letters(line) and len(line.split(None, 1)) > 1


def _need_of_name(name: str, history: History) -> Need | None:
    places = history.names.get(name)
    if not places:
        return None
    own = history.is_own(places[0])
    # What a result or the user introduced is supported by lines of theirs; the agent's own echo is no source.
    sources = _sources([place for place in places if own or not history.is_own(place)], history)
    return _need("state" if own else "name", name, False, sources, history) if sources else None


def _sources(places: Sequence[Place], history: History) -> tuple[Place, ...]:
    """Those that still hold, the newest first."""
    return tuple(islice((place for place in reversed(places) if not history.is_stale(place)), MOST_SOURCES))


def _need(kind: Kind, text: str, is_line: bool, sources: tuple[Place, ...], history: History) -> Need:
    seen = (history.lines if is_line else history.names)[text][-1][0]
    return Need(kind, text, is_line, sources, seen, history.age(seen), history.tokens_since(seen))
