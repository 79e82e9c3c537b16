"""Signs in the components themselves: that they hold the answers, or reach for what measures them.

Rule: pure, and a sign is no proof. A component that hides what it does is not seen here.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePath

import msgspec
from msgspec import Struct

from holdfast.messages import Json
from holdfast.pair.evaluation import listed
from holdfast.pair.folder import RESULTS
from holdfast.pair.suspicions import SampleRecord

LEAST_TEXT = 8
"""A shorter expected text may be in a program by chance."""
LEAST_NUMBER = 1_000
LEAST_ROWS, MOST_ROWS = 3, 100
"""So many samples with all their values side by side are a table of answers; the most that are looked for."""
ROW = 200
"""Characters on each side in which the values of one sample are side by side."""
_WORDS = re.compile(r"""["'`]([^"'`\n]{3,200})["'`]|(?<![\w.])(\d{4,}(?:\.\d+)?)(?![\w.])""")
_NAME = re.compile(r"[\w.-]+")
_PATTERN = re.compile(r"""["'`]([^"'`\s]*\*[^"'`\s]*)["'`]""")
_REACHES = re.compile(
    rf"""(?x) \b_getframe\b | \bcurrentframe\b | \binspect\.stack\b | \bf_(?:back|globals|locals)\b
    | \bsys\.modules\b | (?:import\s+|\[["'])__main__\b | \bgc\.get_\w+ | \b(?:settrace|setprofile|_exit)\b
    | \batexit\b | \b{RESULTS}\b | \b__eq__(?=\s*\([^)]*\)[^:\n]*:\s*return\s+True\b)"""
)


class ComponentFiles(Struct, frozen=True):
    """What is in the folder without the evaluation, its outputs and tests: programs by path, data that they name,
    and programs that could not be read."""

    sources: Mapping[str, str]
    data: Mapping[str, str] = {}
    unseen: tuple[str, ...] = ()


class NamedFiles(Struct, frozen=True):
    """The files that texts name, by their whole names or by a pattern such as `*.json`."""

    words: frozenset[str]
    patterns: frozenset[str]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "NamedFiles":
        words, patterns = set[str](), set[str]()
        for text in texts:
            words.update(word.rstrip(".") for word in _NAME.findall(text))
            patterns.update(one for one in _PATTERN.findall(text) if one.strip("*/."))
        return cls(frozenset(words), frozenset(patterns))

    def __contains__(self, path: str) -> bool:
        name = PurePath(path).name
        if name in self.words:
            return True
        return any(
            fnmatchcase(path if "/" in one else name, one)
            for one in (pattern.removeprefix("**/") for pattern in self.patterns)
        )


def unseen_components(files: ComponentFiles) -> Iterator[str]:
    if files.unseen:
        yield f"components that could not be looked at: {listed(files.unseen)}"


def reaching_components(sources: Mapping[str, str]) -> Iterator[str]:
    """Components that can look into the program that runs them, or write its results."""
    for path, text in sorted(sources.items()):
        if found := sorted({" ".join(one[0].split()) for one in _REACHES.finditer(text)}):
            yield f"`{path}` can reach what measures it: {listed(found)}"


def copied_answers(
    samples: Sequence[SampleRecord], files: ComponentFiles, answers: Collection[str] = ()
) -> Iterator[str]:
    """Components that name a file of `answers`, or that hold names of samples, what is expected of one sample only,
    or samples with all their values; also in data that a component names."""
    for path, text in sorted(files.sources.items()):
        named_files = NamedFiles.of([text])
        if named := [one for one in answers if one in named_files]:
            yield f"`{path}` names what the evaluation expects: {listed(named)}"
    marks = _marks(samples)
    for path, text in sorted({**files.sources, **files.data}.items()):
        words = {quoted or number for quoted, number in _WORDS.findall(text)}
        found = sorted({marks[word] for word in words if word in marks})
        if found and len(found) >= min(2, len(samples)):
            yield f"`{path}` holds names or expected values of samples: {listed(found)}"
        elif len(rows := [one.name for one in samples[:MOST_ROWS] if _has_row(text, one)]) >= LEAST_ROWS:
            yield f"`{path}` holds samples with what they expect: {listed(rows)}"


def _marks(samples: Sequence[SampleRecord]) -> dict[str, str]:
    """Texts that hardly stand in a program by chance, and the samples that they are of."""
    counts = Counter(_text(one.expected) for one in samples)
    marks: dict[str, str] = {}
    for one in samples:
        marks[one.name] = one.name
        if counts[_text(one.expected)] == 1:
            marks.update((mark, one.name) for mark in _distinctive(one.expected))
    return marks


def _has_row(text: str, sample: SampleRecord) -> bool:
    """Whether all that goes into a sample and what it expects stand side by side. One value that goes in is too
    little to say so."""
    given = [*_leaves(sample.given)]
    if len(given) < 2 or sample.expected is None:
        return False
    first, *others = sorted({*given, *_leaves(sample.expected)}, key=len, reverse=True)
    for one in re.finditer(_token(first), text):
        near = text[max(0, one.start() - ROW) : one.end() + ROW]
        if all(re.search(_token(other), near) for other in others):
            return True
    return False


def _token(value: str) -> str:
    return rf"(?<![\w.]){re.escape(value)}(?![\w.]*\w)"


def _leaves(value: Json) -> Iterator[str]:
    match value:
        case str() if value.strip():
            yield value
        case bool() | None:
            return
        case int() | float():
            yield str(value)
        case list():
            for one in value:
                yield from _leaves(one)
        case dict():
            for one in value.values():
                yield from _leaves(one)


def _distinctive(expected: Json) -> Iterator[str]:
    """Values that hardly stand in a program by chance."""
    match expected:
        case str() if len(expected) >= LEAST_TEXT:
            yield expected
        case bool() | None:
            return
        case int() | float() if abs(expected) >= LEAST_NUMBER:
            yield str(expected)
        case list():
            for one in expected:
                yield from _distinctive(one)
        case dict():
            for one in expected.values():
                yield from _distinctive(one)


def _text(value: Json) -> str:
    return msgspec.json.encode(value, order="sorted").decode()
