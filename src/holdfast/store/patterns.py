"""Regular expressions over lines, for patterns that nobody has checked.

Rule: no pattern may hang the caller. Python's `re` cannot be interrupted, so what can take exponential time is
refused (a repeat of something that itself varies, such as `(a+)+`), lines longer than `WINDOW` are searched in
overlapping windows, and the clock is read between windows. A pattern of many `.*` can still take seconds in one
window; and in a line longer than a window, a match longer than `OVERLAP` may be missed and `$` also matches at a
window's end. Patterns without repeats have no such limits.
"""

import re
import time
import warnings
from collections.abc import Iterator, Sequence

from msgspec import Struct

from holdfast.errors import InputError

WINDOW = 2_000
OVERLAP = 200
SECONDS = 5.0
MAX_PATTERN = 1_000
MANY = 10
"""A repeat of at least so many counts as unbounded: 2 to the 10th is the last harmless power."""

_COUNT = re.compile(r"\{(\d*)(,?)(\d*)\}")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)


class Match(Struct, frozen=True):
    """Where a line matches: its number, and the characters of the first match, as a slice."""

    line: int
    start: int
    end: int


class Matches(Struct, frozen=True):
    """`stopped` is the last line looked at if time ran out, else 0."""

    found: tuple[Match, ...]
    stopped: int = 0


def grep(pattern: str, lines: Sequence[str], first: int = 1) -> Matches:
    """The lines that match. `first` is the number of the first line given."""
    compiled, varies = _compiled(pattern)
    deadline = time.monotonic() + SECONDS
    found: list[Match] = []
    for number, line in enumerate(lines, first):
        text = line.removesuffix("\n")
        for start, end in _windows(len(text)) if varies else [(0, len(text))]:
            match = compiled.search(text, start, end)
            if match:
                found.append(Match(number, match.start(), match.end()))
                break
        if time.monotonic() > deadline:
            return Matches(tuple(found), stopped=number)
    return Matches(tuple(found))


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
    """Whether a valid pattern holds a repeat or a choice; InputError if one stands inside a repeat."""
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
                    hint="write [abc]+ for (a|b|c)+, or leave the outer repeat away",
                )
            groups[-1] = groups[-1] or inner or not fixed
            inner = False
        elif char == "(":
            groups.append(False)
            inner = False
        elif char == ")":
            # Verbose patterns and conditions may close more than this simple reading has seen opened.
            inner = groups.pop() if len(groups) > 1 else groups[0]
            groups[-1] = groups[-1] or inner
        else:
            groups[-1] = groups[-1] or char == "|"
            inner = False
        at += step
    return any(groups)


def _token(pattern: str, at: int) -> tuple[int, float | None, bool]:
    """Length of the token at `at`; for a repeat also how often at most, and whether always as often."""
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
