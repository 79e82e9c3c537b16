"""Instructions in a summary: sentences that tell someone to do something, and who said them first.

Rule: a sentence counts as taken over from a tool if it urges, if most of its words occur together in what a tool
returned, and if neither a user said them nor the agent itself before the tool did.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import Generic, TypeVar

from msgspec import Struct

from holdfast.compaction.claims import blanked, quoted_spans, sentences
from holdfast.views.prose import TextSpan

LEAST_WORDS = 4
"""A sentence of fewer words may be anyone's."""
SHARE = 0.6
"""Share of a sentence's runs of three words that must occur in a text for it to be copied from there."""
RUN, MOST_RUNS, MOST_HITS = 3, 40, 4

_VERBS = (
    "add|allow|append|apply|approve|avoid|build|bypass|change|clear|click|clone|commit|configure|contact|copy|create"
    "|curl|delete|deploy|disable|disclose|discard|download|drop|edit|email|enable|encode|erase|execute|exfiltrate|fetch"
    "|follow|forget|forward|generate|give|grant|hide|ignore|insert|install|invoke|keep|leak|mail|merge|modify|move"
    "|output|overwrite|override|paste|post|publish|pull|push|put|read|rebase|remove|rename|repeat|replace|reply|report"
    "|reset|respond|restart|reveal|revert|rewrite|run|save|say|send|share|skip|start|stop|submit|switch|tell|transfer"
    "|treat|turn|update|upgrade|upload|use|visit|wipe|write"
    # Words of programs too: only what follows shows that someone is told.
    r"|(?:call|continue|export|import|include|load|log|make|print|return|set|show|wait)(?=\s+(?:the|all|your|any|every"
    r"|this|that|these|it|me|sure)\b)"
)
_LEAD = (
    r"(?:^|[:：;；,，—–(（]|\b(?:and|then|now|please|next|also|first|finally|just)\b)[\s*_>\"'“”‘’「『`-]*"
)
_URGES = re.compile(
    rf"(?i){_LEAD}(?:{_VERBS})(?! only)(?=\s+[^\W\d]|\s+[`\"'“~/.@])"
    r"|\b(?:must|should|shall|never|always|do not|don't|needs? to|have to|has to|make sure|be sure|ensure"
    r"|remember to|required to|disregard|you are now)\b"
    r"|\buser (?:\w+ )?(?:asked|wants?|wanted|said|says|told|requests?|requested|instructed|demands?|demanded)\b"
    r"|必须|务必|不要|禁止|一定要|应该|忽略|请|用户要求|用户希望"
)
_OVERRIDES = re.compile(
    r"(?i)\b(?:ignore|disregard|forget|override|bypass)\b[^.!?\n]{0,40}\b(?:instructions?|prompts?|rules|directives)\b"
    r"|\bdo(?:n't| not) (?:tell|inform|mention)[^.!?\n]{0,20}\buser\b|\breveal[^.!?\n]{0,30}\bsystem prompt\b"
    r"|忽略[^。！？\n]{0,12}(?:指令|指示|提示)"
)
_CALL = re.compile(r"\w\(")
_CITES = re.compile(
    r"(?i)\b(?:says?|said|contains?|contained|returned|prints?|printed|shows?|showed|according to|quot(?:es?|ed)"
    r"|claim(?:s|ed)?|reads:)|写着|显示|返回|输出|声称"
)
"""Words that attribute a quotation to its author."""
_PLAIN = {code: " " for code in range(128) if not chr(code).isalnum() and chr(code) != "\n"}
_OTHER = re.compile(r"[^a-z0-9\n\u3040-\u9fff]+")
_IDEOGRAPH = re.compile(r"[\u3040-\u9fff]")
_SPACES = re.compile(r" {2,}")


P = TypeVar("P")


class JoinedTexts(Struct, Generic[P], frozen=True):
    """Many texts, line by line and each once, and the place of each in the log."""

    text: str
    starts: tuple[int, ...]
    places: tuple[P, ...]

    @classmethod
    def of(cls, texts: Iterable[tuple[P, str]], spell: Callable[[str], str]) -> "JoinedTexts[P]":
        """Texts with their places, spelled as they are looked for; of equal ones the first counts."""
        first: dict[str, P] = {}
        for place, text in texts:
            first.setdefault(spell(text), place)
        starts = accumulate((len(text) + 1 for text in first), initial=0)
        return cls("\n".join(first), tuple(starts), tuple(first.values()))

    def place(self, at: int) -> P:
        """The place of the text that has this character."""
        return self.places[bisect_right(self.starts, at) - 1]

    def lines_with(self, run: str) -> Iterator[tuple[P, str]]:
        """Lines in which some words follow each other, with the one below each, and their places."""
        at = self.text.find(run)
        for _ in range(MOST_HITS):
            if at < 0:
                return
            start = self.text.rfind("\n", 0, at) + 1
            below = self.text.find("\n", at) + 1
            end = self.text.find("\n", below) if below else -1
            yield self.place(at), self.text[start : end if end >= 0 else None]
            at = self.text.find(run, below) if below else -1


Prose = JoinedTexts[int]
"""The words of texts, and the position of each text among the items."""


def plain_words(text: str) -> str:
    """The words of a text, with single spaces between them."""
    text = text.lower()
    words = text.translate(_PLAIN) if text.isascii() else _IDEOGRAPH.sub(r" \g<0> ", _OTHER.sub(" ", text))
    return _SPACES.sub(" ", words)


def copied_instructions(
    text: str, user_prose: Prose, agent_prose: Prose, tool_prose: Prose
) -> Iterator[TextSpan]:
    """Sentences of a summary's line that are a tool's instructions and not quoted as such."""
    bare = blanked(text, quoted_spans(text))
    is_cited = _CITES.search(bare) is not None
    for first, last in sentences(text):
        sentence = bare[first:last] if is_cited else text[first:last]
        is_override = _OVERRIDES.search(sentence) is not None
        if not (is_override or (_URGES.search(sentence.strip()) and not _is_code(sentence))):
            continue
        runs = _runs(sentence)
        if not runs or _place(runs, user_prose) is not None:
            continue
        place = _place(runs, tool_prose) if len(runs) + RUN > LEAST_WORDS else None
        if place is not None:
            before = _place(runs, agent_prose)
            if before is None or before >= place:
                yield first, last
        elif is_override:
            yield first, last


def _is_code(sentence: str) -> bool:
    """Whether it is a line of a program, which tells a machine what to do."""
    line = sentence.strip()
    return (
        ":=" in line
        or line.startswith("//")
        or (line.endswith((")", ",", ";", "{")) and bool(_CALL.search(line)))
    )


def _runs(sentence: str) -> list[str]:
    """Every three words in a row; the whole where there are fewer."""
    words = plain_words(sentence).split()
    rows = [" ".join(words[at : at + RUN]) for at in range(len(words) - RUN + 1)]
    return rows[:MOST_RUNS] or [" ".join(words)] * bool(words)


def _place(runs: list[str], prose: Prose) -> int | None:
    """The first place that has most of the runs together, or None."""
    found: list[int] = []
    seen: set[str] = set()
    for run in runs:
        for place, line in prose.lines_with(run):
            if line not in seen:
                seen.add(line)
                if sum(other in line for other in runs) >= SHARE * len(runs):
                    found.append(place)
    return min(found, default=None)
