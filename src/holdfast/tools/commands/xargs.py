"""`xargs`: a command, and the words that come in for it.

Rule: what comes in may be any word, an option too, unless it is known to be names of files or plain words.
"""

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from holdfast.tools.commands.fields import ANY, FETCHED, HOME, WILD
from holdfast.tools.commands.findings import Inspection, shown
from holdfast.tools.commands.flow import Feed, Outcome, State, same
from holdfast.tools.commands.programs import judge_inner

_TAKING = frozenset("-n -P -L -s -E -d -a --max-args --max-procs --delimiter --arg-file".split())
_FLAGS = frozenset("-0 -r -t -x --null --no-run-if-empty --verbose --exit".split())
_QUOTING = re.compile(f"[\"'\\\\{WILD}-{HOME}]")
_LONGEST_TEXT = 300


class Gathering(Struct):
    """What `xargs` is told: what stands for an item, how items are parted, and whether they come in groups."""

    stands: str = ""
    is_null: bool = False
    is_parted: bool = False
    is_grouped: bool = False


def judge_xargs(inspection: Inspection, words: Sequence[str], state: State, part: str) -> Outcome:
    at, told = 1, Gathering()
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        at += _gather(inspection, words, at, told, state, part)
    inner = list(words[at:]) or ["echo"]
    items = _items(inspection, state, told)
    if told.stands:
        inner = [word.replace(told.stands, items[0]) for word in inner]
    else:
        inner += items
    judge_inner(inspection, inner, replace(state, feed=Feed()), part)
    return same(state)


def _gather(
    inspection: Inspection, words: Sequence[str], at: int, told: Gathering, state: State, part: str
) -> int:
    """How many words an option of `xargs` takes."""
    word, taken = words[at], 1
    following = words[at + 1] if at + 1 < len(words) else ""
    if word in ("-I", "--replace", "-i"):
        told.stands = following if word == "-I" and following else "{}"
        taken += word == "-I"
    elif word in _TAKING:
        taken += 1
    elif word.startswith("-I"):
        told.stands = word[2:]
    elif word in _FLAGS or (word[:2] in _TAKING and word[2:].isalnum() and word[:2] != "-a"):
        pass
    else:
        inspection.add("ask", f"`{shown(word)}` of `xargs` is not followed", part, word)
    if word in ("-a", "--arg-file") and following:
        inspection.touch("read", following, state.folders, part)
    told.is_null |= word in ("-0", "--null")
    told.is_parted |= word.startswith(("-d", "--delimiter", "-E", "-a", "--arg-file"))
    told.is_grouped |= word.startswith(("-n", "-L", "-s", "-x", "--max-args", "--exit"))
    return taken


def _items(inspection: Inspection, state: State, told: Gathering) -> list[str]:
    """What `xargs` adds to a command: two of it, where there may be many."""
    feed, names = state.feed, state.names
    if names and not told.is_parted and names.is_null == told.is_null:
        field = names.word(is_split=not told.is_null)
        if inspection.is_sure(field, state.folders):
            return [field, field]
    text = feed.text if feed else None
    is_whole = not (told.is_parted or told.is_grouped or told.is_null or told.stands)
    if text and is_whole and len(text) < _LONGEST_TEXT and not _QUOTING.search(text):
        return text.split()
    return [FETCHED + ANY if feed and feed.is_fetched else ANY]
