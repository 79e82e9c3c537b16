"""What people asked: the first and the latest request, and what they demanded or forbade.

Rule: a request is what a person, or another agent, wrote; a program's words around it are none, nor is a document
that a command brought along. Words are quoted as they stand.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from holdfast.compaction.facts.calls import Call
from holdfast.compaction.facts.handed import with_asks
from holdfast.compaction.facts.quoting import quoted
from holdfast.compaction.facts.values import Fact
from holdfast.ids import text_id
from holdfast.messages import Text
from holdfast.packing.renditions.marks import one_line
from holdfast.views.directives import directives
from holdfast.views.prose import without_wrappers
from holdfast.views.transcript import Item, User

MOST_SOURCES = 8
"""Entries that are named where the same was said again and again."""

_COMMAND = re.compile(r"<command-name>\s*([^<\n]{1,200}?)\s*</command-name>")
_ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_PICTURE = re.compile(r"\[(?:image|Image)[^\]\n]{0,80}\]")
_NO_REQUEST = re.compile(
    r"\s*(?:\[Request interrupted by user|This session is being continued from a previous conversation"
    r"|Caveat: The messages below were generated|Operation stopped by hook:|Base directory for this skill:"
    r"|Read the output file to retrieve the result:|\[user ran a command\]|# AGENTS\.md instructions for "
    r"|/\w{1,30}\s*$)"
)


class Said(Struct, frozen=True, gc=False):
    """Words of a person, where they stand: as a message, or as the reason for refusing a call."""

    text: str
    entry: str
    position: int
    step: int = -1


def said_by_people(items: Sequence[Item], refused: Sequence[Call]) -> list[Said]:
    """All that people said in these items, in order. `refused` are the calls that somebody did not let happen."""
    said = [
        Said(part.text, item.entry, item.position)
        for item in items
        if isinstance(item, User) and item.origin != "reminder"
        for part in item.message.parts
        if isinstance(part, Text)
    ]
    said += [
        Said(call.outcome.line, call.entry, call.step.position, call.step.number)
        for call in refused
        if call.outcome.line
    ]
    return sorted(said, key=lambda one: one.position)


def requests(said: Sequence[Said]) -> tuple[Fact | None, Fact | None]:
    """The first and the latest request; the latest is None where it is the first."""
    asked = [one for one in said if _request(one.text)]
    if not asked:
        return None, None
    first, latest = asked[0], asked[-1]
    return _fact(first), _fact(latest) if latest is not first else None


def _fact(said: Said) -> Fact:
    return Fact(quoted(_request(said.text), id_=text_id(said.text)), (said.entry,), said.step)


def _request(text: str) -> str:
    """What a message asks for; nothing where a program wrote it."""
    spoken = without_wrappers(with_asks(text)).strip()
    if command := _COMMAND.search(text, 0, 2_000):
        arguments = _ARGUMENTS.search(text)
        return f"{command[1]} {arguments[1].strip() if arguments else spoken}".strip()
    if _NO_REQUEST.match(spoken) or not _PICTURE.sub("", spoken).strip():
        return ""
    return spoken


def demands(said: Sequence[Said]) -> tuple[Fact, ...]:
    """The directives, word for word, each once, with all entries that say it."""
    sources: dict[str, list[str]] = {}
    steps: dict[str, int] = {}
    for one, text in _sentences(said):
        known = sources.setdefault(text, [])
        steps.setdefault(text, one.step)
        if one.entry not in known and len(known) < MOST_SOURCES:
            known.append(one.entry)
    return tuple(Fact(text, tuple(entries), steps[text]) for text, entries in sources.items())


def _sentences(said: Sequence[Said]) -> Iterator[tuple[Said, str]]:
    for one in said:
        for start, end in directives(one.text):
            yield one, one_line(one.text[start:end])
