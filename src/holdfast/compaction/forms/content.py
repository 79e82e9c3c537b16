"""What a summary says, whatever its form: lines under the names of a form's fields, and how texts are tidied.

Rule: a line states one thing. Tidying a text twice is tidying it once, so that a form reads back what it rendered.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from textwrap import dedent
from typing import Literal

from msgspec import Struct

from holdfast.compaction.facts.fact import LogFacts
from holdfast.events import SummaryLine

SummaryLines = tuple[SummaryLine, ...]
LineSource = Callable[[LogFacts], SummaryLines]
"""Lines that the rule half writes from facts, oldest first."""


class SummaryContent(Struct, frozen=True):
    """Lines by field, in the order of the form's fields; a field that says nothing has no lines."""

    fields: dict[str, SummaryLines]

    def lines(self) -> SummaryLines:
        return tuple(line for lines in self.fields.values() for line in lines)


class FormField(Struct, frozen=True, kw_only=True):
    """A field of a form. `name` is what the form calls it; in JSON forms the path of keys, joined by a dot.

    `most_lines` and `most_chars` limit the rendered field; 0 means no limit. The rule half fills a field with the
    lines of `always`, with those of `newest` that there is room for, and then with those of `behind`.
    """

    name: str
    about: str
    """What belongs there, as the model is told."""
    kind: Literal["line", "list", "text", "number"] = "list"
    is_required: bool = True
    most_lines: int = 0
    most_chars: int = 0
    separator: str = "; "
    """Joins its lines where they share one."""
    aliases: tuple[str, ...] = ()
    """Other names that a model may use for it."""
    lasts: bool = False
    """Whether a line of the summary before stays true here; else it is kept only where there is nothing new."""
    check: str = ""
    """What stands before each of its lines, behind the bullet."""
    weight: int = 1
    """How much it matters when a summary must shrink; the lightest goes first."""
    always: tuple[LineSource, ...] = ()
    newest: tuple[tuple[str, LineSource], ...] = ()
    """Sources of lines that may be cut to the newest, each with the noun under which the others are counted."""
    behind: tuple[LineSource, ...] = ()


class ParseProblem(Struct, frozen=True):
    """Something in a text that its form does not have, in a sentence."""

    field: str
    what: str


_BREAK = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
_UNSEEN = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ufeff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_NOTHING = frozenset(
    ("none", "na", "nil", "null", "nothing", "nothingyet", "unknown", "tbd", "无", "暂无", "没有", "未知")
)
_BULLET = re.compile(
    r"\s*+(?:[-*+]\s++|[•‣◦▪▫●○■□·–—➤➢]\s*+|\(?\d{1,3}[.)]\s++|[（(]?\d{1,3}[、．）]\s*+|[①-⑳]\s*+)"
)
_FENCE = re.compile(r"(?m)^(?:```|~~~).*$\n?")
_SCRATCH = re.compile(r"(?ms)^<(think|thinking|analysis|scratchpad)>.*?</\1>")
_LONE_TAG = re.compile(r"(?m)^</?[\w-]+>$\n?")
_WORD = re.compile(r"[^\W_]+")


def tidy(text: str) -> str:
    """The text with one kind of line break, and without control characters and trailing white space."""
    text = _UNSEEN.sub("", _BREAK.sub("\n", text))
    if not text.isascii():
        text = _SURROGATE.sub("\ufffd", text)
    return "\n".join(line.rstrip() for line in text.split("\n")).strip()


def one_line(text: str) -> str:
    return " ".join(tidy(text).split())


def clipped(text: str, most: int) -> str:
    """At most `most` characters of it, in one line: two thirds from its beginning, the rest from its end."""
    text = one_line(text)
    if len(text) <= most:
        return text
    head = most * 2 // 3
    return f"{text[:head].rstrip()} … {text[len(text) - (most - head) :].lstrip()}"


def is_nothing(text: str) -> bool:
    """Whether a field that says only this says nothing."""
    return match_key(text) in _NOTHING or not _WORD.search(text)


def visible_texts(lines: Iterable[SummaryLine]) -> list[str]:
    """The texts that a field shows: none where all they say is that there is nothing."""
    texts = [text for line in lines if (text := tidy(line.text))]
    return [] if len(texts) == 1 and is_nothing(texts[0]) else texts


def model_lines(texts: Iterable[str]) -> SummaryLines:
    """Texts that were read out of a model's answer, as lines."""
    lines = [SummaryLine(text, by="model") for text in texts]
    return tuple(SummaryLine(text, by="model") for text in visible_texts(lines))


def match_key(name: str) -> str:
    """What is compared of a heading or key: letters and digits, without case, number, `and` or decoration."""
    words = _WORD.findall(unicodedata.normalize("NFKC", name).casefold())
    kept = [word for word in words if word != "and"]
    while len(kept) > 1 and kept[0].isdecimal():
        kept.pop(0)
    return "".join(kept)


def without_bullet(text: str) -> str:
    """The text without the one bullet or number that opens it."""
    bullet = _BULLET.match(text)
    return text[bullet.end() :] if bullet else text


def has_bullet(text: str) -> bool:
    return _BULLET.match(text) is not None


def unwrapped(text: str) -> str:
    """The text without fences, tags on lines of their own, a model's scratch work and common indentation."""
    text = _SCRATCH.sub("", tidy(dedent(tidy(text))))
    return _LONE_TAG.sub("", _FENCE.sub("", text))
