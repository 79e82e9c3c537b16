"""Directives: what a user demanded or forbade for good, sentence by sentence, in English and Chinese.

Rule: a sentence counts if it says so itself: it forbids, binds, restricts or prefers. A question does not, nor does
a plain request; what stands in code, quotes or pasted output is nobody's demand. Losing a demand costs more than
keeping a sentence too many, so a sentence in doubt is kept.
"""

import re
from collections import deque
from collections.abc import Iterator

from holdfast.views import cues
from holdfast.views.prose import Span, sentences

LONGEST = 700
"""Characters of a sentence that somebody may have meant as a demand."""

SHORT_LINE = 300
"""Characters of a line that stays whole where only the gist of a message does."""

_QUOTED = re.compile(
    r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|`[^`\n]{1,300}`|「[^」\n]{1,300}」|『[^』\n]{1,300}』"
)
_MARKS = re.compile(r"[*_~]{1,3}(?=\S)|(?<=\S)[*_~]{1,3}|<[/\w -]{1,60}>")
_ANYWHERE = (cues.FORBIDDEN, cues.COMMANDED, cues.INSTEAD, cues.OBLIGED, cues.WISHED, cues.LIMITED)


def directives(text: str) -> Iterator[Span]:
    """Where the directives of a user message stand in it, in order."""
    for start, end in sentences(text):
        if end - start <= LONGEST and is_directive(text[start:end]):
            yield start, end


def gist(text: str, most: int = 12) -> list[str]:
    """First line and directives of a user message, line by line: what it asked, and what it forbade.

    Of a long line only the beginning stays, or the directives in it.
    """
    spans, kept, at = deque(directives(text)), list[str](), 0
    for line in text.split("\n"):
        start, at = at, at + len(line) + 1
        while spans and spans[0][1] <= start:
            spans.popleft()
        said = []
        for first, last in spans:
            if first >= at:
                break
            said.append(text[max(first, start) : min(last, at - 1)])
        if line.strip() and (said or not kept):
            kept.append(_short(line.strip(), said, is_first=not kept))
        if len(kept) == most:
            break
    return kept


def _short(line: str, said: list[str], *, is_first: bool) -> str:
    if len(line) <= SHORT_LINE:
        return line
    head = line[:SHORT_LINE]
    return "… ".join([head, *(s for s in said if s not in head)] if is_first else said) + "…"


def is_directive(sentence: str) -> bool:
    """Whether a sentence of a user demands or forbids something for good."""
    bare = _MARKS.sub("", _QUOTED.sub("Q", sentence)).strip()
    if cues.QUESTION.search(bare):
        # `Reflect on this before you answer: is it right?` demands before it asks.
        bare, colon, _ = bare.partition(": ")
        if not colon:
            return False
    if cues.CHINESE.search(bare):
        return not cues.CHINESE_CHECK.match(bare)
    lowered = bare.lower().replace("’", "'")
    if cues.SHOUTED.search(bare) or any(pattern.search(lowered) for pattern in _ANYWHERE):
        return True
    if cues.TOLD.match(lowered):
        return False
    clauses = (clause.strip(" !.") for clause in lowered.split(","))
    return bool(cues.FORBIDDEN_LATER.search(lowered)) or any(map(cues.NONE_OF.fullmatch, clauses))
