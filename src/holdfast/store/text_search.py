"""Finding lines in a text, by words or by a regular expression that nobody has checked.

Rule: text and query are split into words in the same way, and only words of a query reach an index. Every CJK
character is a word of its own, since such text has no spaces.

No pattern may hang the caller. Python's `re` cannot be interrupted, so a pattern that can take exponential time
is refused (a repeat of something that itself varies, such as `(a+)+`), lines longer than `WINDOW` are searched in
overlapping windows, and the time is checked between windows. A pattern of many `.*` can still take seconds in one
window; and in a line longer than a window, a match longer than `OVERLAP` may be missed and `$` also matches at
the end of a window. Patterns without repeats have no such limits.
"""

import re
import time
import unicodedata
import warnings
from collections.abc import Iterator, Sequence

from msgspec import Struct

from holdfast.errors import InputError

_CJK = re.compile(
    "[\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
_WORD = re.compile(r"[^\W_]+")
_PIECE = re.compile(r'"([^"]*)"|(\S+)')
MAX_PHRASES = 40
"""More add nothing to a ranking, and an FTS5 expression may not be nested deeper than 256."""

WINDOW = 2_000
OVERLAP = 200
SECONDS = 5.0
MAX_PATTERN = 1_000
MANY = 10
"""A repeat of at least this many counts as unbounded: 2 to the 10th is the last harmless power."""
_COUNT = re.compile(r"\{(\d*)(,?)(\d*)\}")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)


def segmented(text: str) -> str:
    """The text with spaces around each CJK character, for an index that splits at spaces."""
    return text if text.isascii() else _CJK.sub(r" \g<0> ", text)


def phrases(query: str) -> list[str]:
    """Each word of a query, or each part in double quotes, as words that must follow each other."""
    found: dict[str, None] = {}
    for quoted, word in _PIECE.findall(unicodedata.normalize("NFC", query)):
        words = _WORD.findall(segmented(quoted or word))
        if words:
            found[" ".join(words)] = None
    return list(found)[:MAX_PHRASES]


def folded(text: str) -> str:
    """Words of a text without case and accents, each between spaces, so that a phrase is a substring."""
    if not text.isascii():
        text = "".join(
            c for c in unicodedata.normalize("NFKD", segmented(text)) if not unicodedata.combining(c)
        )
        text = unicodedata.normalize("NFC", text)
    return f" {' '.join(_WORD.findall(text.lower()))} "


def count_phrases(text: str, wanted: list[str]) -> int:
    """How many of the phrases (already folded) the text contains."""
    words = folded(text)
    return sum(phrase in words for phrase in wanted)


def folded_phrases(query: str) -> list[str]:
    """The phrases of a query, ready for `score`."""
    return [folded(phrase) for phrase in phrases(query)]


class TextMatch(Struct, frozen=True):
    """Where a line matches: its number, and the characters of the first match, as a slice."""

    line: int
    start: int
    end: int


class TextMatches(Struct, frozen=True):
    """`stopped` is the last line searched if time ran out, else 0."""

    found: tuple[TextMatch, ...]
    stopped: int = 0


def grep_lines(pattern: str, lines: Sequence[str], first: int = 1) -> TextMatches:
    """The lines that match. `first` is the number of the first line given."""
    compiled, varies = _compiled(pattern)
    deadline = time.monotonic() + SECONDS
    found: list[TextMatch] = []
    for number, line in enumerate(lines, first):
        text = line.removesuffix("\n")
        for start, end in _windows(len(text)) if varies else [(0, len(text))]:
            match = compiled.search(text, start, end)
            if match:
                found.append(TextMatch(number, match.start(), match.end()))
                break
        if time.monotonic() > deadline:
            return TextMatches(tuple(found), stopped=number)
    return TextMatches(tuple(found))


def _windows(length: int) -> Iterator[tuple[int, int]]:
    for start in range(0, max(length - OVERLAP, 1), WINDOW - OVERLAP):
        yield start, min(start + WINDOW, length)


def _compiled(pattern: str) -> tuple[re.Pattern[str], bool]:
    if len(pattern) > MAX_PATTERN:
        raise InputError(f"the pattern has {len(pattern)} characters; {MAX_PATTERN} are the limit")
    try:
        with warnings.catch_warnings():
            # `re` warns of `[[` and the like, which may mean something else in a later Python.
            warnings.simplefilter("ignore", FutureWarning)
            compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise InputError(
            f"`{pattern}` is not a regular expression: {error}",
            hint="put a backslash before a character that means itself: \\( \\[ \\* \\?",
        ) from None
    return compiled, _varies(pattern)


def _varies(pattern: str) -> bool:
    """Whether a valid pattern has a repeat or a choice; InputError if one is inside a repeat."""
    groups = [False]
    inner = False
    at = 0
    while at < len(pattern):
        step, times, fixed = _token(pattern, at)
        char = pattern[at]
        if times is not None:
            if inner and times >= MANY:
                raise InputError(
                    f"`{pattern}` repeats something that varies, which can take forever",
                    hint="write [abc]+ for (a|b|c)+, or leave out the outer repeat",
                )
            groups[-1] = groups[-1] or inner or not fixed
            inner = False
        elif char == "(":
            groups.append(False)
            inner = False
        elif char == ")":
            # Verbose patterns and conditions may close more groups than this simple reading has seen opened.
            inner = groups.pop() if len(groups) > 1 else groups[0]
            groups[-1] = groups[-1] or inner
        else:
            groups[-1] = groups[-1] or char == "|"
            inner = False
        at += step
    return any(groups)


def _token(pattern: str, at: int) -> tuple[int, float | None, bool]:
    """Length of the token at `at`; for a repeat also its maximum, and whether the count is fixed."""
    char = pattern[at]
    times: float | None = None
    fixed = False
    step = 1
    if char == "\\":
        return 2, None, False
    if char == "[" and (match := _CLASS.match(pattern, at)):
        return match.end() - at, None, False
    if char == "(" and pattern[at + 1 : at + 2] == "?":
        return 3, None, False
    if char in "*+?":
        times = 1 if char == "?" else float("inf")
    elif char == "{" and (match := _COUNT.match(pattern, at)) and match[0] != "{}":
        times = float(match[3] or "inf") if match[2] else float(match[1])
        fixed, step = not match[2], match.end() - at
    if times is not None and pattern[at + step : at + step + 1] in ("?", "+"):
        step += 1
    return step, times, fixed
