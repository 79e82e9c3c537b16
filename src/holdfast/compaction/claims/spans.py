"""Parts of a line of prose: code in backticks, quotations, sentences, and what is left when a part is taken out.

Rule: nothing is cut inside a code span or a quotation; what is left reads as a line, or there is nothing left.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

Span = tuple[int, int]

_CODE = re.compile(r"(?<!`)(`{1,3})([^`\n]+)\1(?!`)")
_QUOTED = re.compile(
    r"“[^“”]*”|「[^「」]*」|『[^『』]*』|«[^«»]*»|(?<!\w)\"[^\"\n]*\"(?!\w)|(?<!\w)'[^'\n]*'(?!\w)"
)
_END = re.compile(r"[.!?](?=\s|$)|[。！？；]|;(?=\s|$)|\n")
_BETWEEN = re.compile(r",\s+(?:and\s+|or\s+)?|\s+(?:and|or)\s+|[，、]")
_ASIDE = re.compile(r"(?<!\s)\s*+[(（][^()（）]*[)）]")
_LABEL = re.compile(r"[^.,;:：。，；]{1,60}[:：]\s*")
_WORD = re.compile(r"[\u3040-\u9fff]|[^\W\d_]{2,}")
_TRAILING = " \t\n,;，；、&–—-"
_CONNECTING = frozenset("and or with in at of to from by for the a".split())


def code_spans(text: str) -> list[tuple[int, int, str]]:
    """Beginning, end and code of every span in backticks."""
    return [(found.start(), found.end(), found[2]) for found in _CODE.finditer(text)]


def quoted_spans(text: str) -> list[Span]:
    """What stands in quotation marks or backticks."""
    found = [(at.start(), at.end()) for at in (*_CODE.finditer(text), *_QUOTED.finditer(text))]
    return sorted(found)


def sentences(text: str) -> Iterator[Span]:
    """Sentences, and clauses that a semicolon parts, with the mark that ends each."""
    sheltered = quoted_spans(text)
    start = 0
    for end in _END.finditer(text):
        if not any(first <= end.start() < last for first, last in sheltered):
            yield start, end.end()
            start = end.end()
    if text[start:].strip():
        yield start, len(text)


def pruned(text: str, spans: Sequence[Span]) -> str:
    """The text without the clauses that hold one of the spans; empty where that leaves nothing sensible."""
    kept = []
    for first, last in sentences(text):
        inside = [(max(s, first) - first, min(e, last) - first) for s, e in spans if s < last and e > first]
        sentence = text[first:last]
        kept.append(_without(sentence, inside) if inside else sentence)
    return _sensible("".join(kept), text)


def blanked(text: str, spans: Iterable[Span]) -> str:
    """The text with spaces for the spans, every place unmoved."""
    for start, end in spans:
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def _without(sentence: str, spans: list[Span]) -> str:
    """A sentence without the asides and list items that hold a span; empty where the span is no such part."""
    for aside in reversed([*_ASIDE.finditer(sentence)]):
        inside = [span for span in spans if aside.start() <= span[0] and span[1] <= aside.end()]
        if inside:
            sentence = sentence[: aside.start()] + sentence[aside.end() :]
            gone = aside.end() - aside.start()
            spans = [
                (s - gone, e - gone) if s >= aside.end() else (s, e) for s, e in spans if (s, e) not in inside
            ]
    return _without_items(sentence, spans) if spans else sentence


def _without_items(sentence: str, spans: list[Span]) -> str:
    label = _LABEL.match(sentence)
    start = label.end() if label and all(s >= label.end() for s, _ in spans) else 0
    items = _items(sentence, start)
    kept = [item for item in items if not any(s < item[1] and e > item[0] for s, e in spans)]
    gone = [item for item in items if item not in kept]
    # An item goes by itself only if it is a mere name: what says more says it about its neighbours too.
    if (
        not kept
        or not gone
        or any(_WORD.search(blanked(sentence, spans)[first:last]) for first, last in gone)
    ):
        return ""
    end = re.search(r"[.!?。！？；;\n]*\s*$", sentence)
    return (
        sentence[:start] + ", ".join(sentence[first:last] for first, last in kept) + (end[0] if end else "")
    )


def _items(sentence: str, start: int) -> list[Span]:
    """The parts between commas and `and`, of what stands behind the label."""
    sheltered = quoted_spans(sentence)
    body = re.search(r"[.!?。！？；;\n]*\s*$", sentence)
    end = body.start() if body else len(sentence)
    items: list[Span] = []
    for between in _BETWEEN.finditer(sentence, start, end):
        if not any(first <= between.start() < last for first, last in sheltered):
            items.append((start, between.start()))
            start = between.end()
    return [*items, (start, end)]


def _sensible(left: str, before: str) -> str:
    """What is left, if it still says something; a label without what it announces does not."""
    left = _undangled(left)
    if left.endswith((":", "：")):
        return ""
    label = _LABEL.match(left)
    said = left[label.end() :] if label else left
    words = _WORD.findall(said)
    whole = before.strip() == left
    return left if whole or len(words) > 1 or (words and re.search(r"[./_`\d]", said)) else ""


def _undangled(text: str) -> str:
    """The text without the words and marks at its end that lead to nothing."""
    while True:
        text = text.strip().rstrip(_TRAILING)
        last = text[-8:].split()[-1:]
        if not last or last[0].lower() not in _CONNECTING:
            return text
        text = text[: -len(last[0])]
