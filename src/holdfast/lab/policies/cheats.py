"""Cheats that the measure must expose. They are here to be compared with, not to be used.

Rule: each does its best against a naive measure within the letter of the budget; if one of them looks good in a
table, the table is wrong.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache

from holdfast.lab.policies.simple import StepHistory
from holdfast.lab.policy import NamedPolicy, Task
from holdfast.lab.scored_message import read_message
from holdfast.wire.content_blocks import WireDict

HEADING = "Names seen so far:"

UNIVERSAL = "u0"
STUB = f'[everything else: id {UNIVERSAL}; Recall(id="{UNIVERSAL}")]'

LONGEST = 120
"""Characters of a name that is worth its tokens."""

BAG_WORDS = 500
BAG_NAMES = 500
"""Names in a line of a bag, beside all of its words."""

_WORD = re.compile(r"[^\W\d_]{2,}")
_NAME = re.compile(r"https?://[^\s\"'<>`)\]}|]+|\w[\w./@~+-]{5,}")
_SHAPE = re.compile(r"[\d_./-]|(?<=[a-z])[A-Z]")
_EDGES = "./@~+-"


class WordBag:
    """The commonest words of the history and its newest names, in lines as long as they may be: company for every
    name, and no sentence about any."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._read = 0
        self._words: Counter[str] = Counter()
        self._names: dict[str, None] = {}

    def pack(self, messages: Sequence[WireDict], at: float | None) -> list[WireDict]:  # noqa: ARG002
        for message in messages[self._read :]:
            for text in _texts(message):
                self._words.update(_WORD.findall(text))
            for name in _names(message):
                self._names.pop(name, None)
                self._names[name] = None
        self._read = len(messages)
        if not messages:
            return []
        common = [word for word, _ in self._words.most_common(BAG_WORDS)]
        while common and not self._fits(common, ()):
            del common[len(common) // 2 :]
        newest = list(reversed(self._names))
        counts = range(1, len(newest) + 1)
        most = bisect_left(counts, True, key=lambda count: not self._fits(common, newest[:count]))
        return [self._bag(common, newest[:most])]

    def _fits(self, words: Sequence[str], names: Sequence[str]) -> bool:
        return self._task.count([self._bag(words, names)]) <= self._task.budget

    def _bag(self, words: Sequence[str], names: Sequence[str]) -> WireDict:
        common = " ".join(words)
        rows = [names[at : at + BAG_NAMES] for at in range(0, len(names), BAG_NAMES)] or [()]
        return _user("\n".join(f"{common} {' '.join(row)}" for row in rows))


class NameDump:
    """The rarest names of the whole history, the most recent of equally rare ones first, and nothing of what was
    said about them.

    All in one line holds the most names, since a blank before a word costs no token: the strongest cheat against a
    measure that asks only whether a name is there. Tests lay it out in other ways too.
    """

    gap = " "

    def __init__(self, task: Task) -> None:
        self._task = task
        self._read = 0
        self.seen: dict[str, int] = {}
        """How often each name was seen, in order of appearance."""
        self._by_rarity: dict[int, dict[str, None]] = {}
        """Names by how often they were seen, the most recent last."""
        self._size = cache(lambda name: task.count([_user(self.gap + name)]) - task.count([_user("")]))

    def pack(self, messages: Sequence[WireDict], at: float | None) -> list[WireDict]:  # noqa: ARG002
        for name in (name for message in messages[self._read :] for name in _names(message)):
            seen = self.seen.get(name, 0)
            if seen:
                del self._by_rarity[seen][name]
            self.seen[name] = seen + 1
            self._by_rarity.setdefault(seen + 1, {})[name] = None
        self._read = len(messages)
        if not messages:
            return []
        names = list(self._rarest(self._task.budget - self._task.count([_user(HEADING)])))
        dump = _user(self.layout(names))
        while names and self._task.count([dump]) > self._task.budget:
            # Names joined may count a little more than one by one.
            del names[-max(len(names) // 50, 1) :]
            dump = _user(self.layout(names))
        return [dump]

    def _rarest(self, room: int) -> Iterator[str]:
        for seen in sorted(self._by_rarity):
            for name in reversed(self._by_rarity[seen]):
                room -= self._size(name)
                if room < 0:
                    return
                yield name

    def layout(self, names: Sequence[str]) -> str:
        return "\n".join([HEADING, " ".join(names)]) if names else HEADING


class UniversalReference:
    """The newest messages in half of the budget, and one id for the whole history."""

    def __init__(self, task: Task) -> None:
        self._steps = StepHistory(task)
        self._room = task.budget // 2 - task.count([_user(STUB)])
        self._whole: list[str] = []

    def pack(self, messages: Sequence[WireDict], at: float | None) -> list[WireDict]:  # noqa: ARG002
        self._whole += ("\n".join(_texts(message)) for message in messages[len(self._whole) :])
        self._steps.read(messages)
        if not messages:
            return []
        part = self._steps.newest(self._room)
        return [_user(STUB), *(self._steps.messages(part) if part else ())]

    def fetch(self, id: str) -> str | None:  # noqa: A002 - the word of the interface
        return "\n".join(self._whole) if id == UNIVERSAL else None


def _user(text: str) -> WireDict:
    return {"role": "user", "content": text}


def _texts(message: WireDict) -> list[str]:
    scored = read_message(message)
    return [scored.text, *(call.arguments for call in scored.calls)]


def _names(message: WireDict) -> Iterator[str]:
    """Paths, identifiers, numbers and the like; words of prose would only take their room."""
    for text in _texts(message):
        for found in _NAME.findall(text):
            name = found.rstrip(_EDGES)
            if 6 <= len(name) <= LONGEST and _SHAPE.search(name):
                yield name


CHEATS = (
    NamedPolicy(
        "cheat-dump", NameDump, "cheat: a bare list of the rarest names, all in one line, rarest first"
    ),
    NamedPolicy(
        "cheat-bag", WordBag, f"cheat: the {BAG_WORDS} commonest words beside the newest names, in huge lines"
    ),
    NamedPolicy(
        "cheat-reference",
        UniversalReference,
        f"cheat: newest steps in half of the budget, and one id (`{UNIVERSAL}`) for all that was ever said",
    ),
)
