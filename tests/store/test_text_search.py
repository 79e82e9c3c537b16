"""Patterns that nobody has checked: found, refused with a hint, and never hanging."""

import pytest

from holdfast.errors import InputError
from holdfast.store.text_search import OVERLAP, WINDOW, grep_lines


def lines_matching(pattern: str, *lines: str) -> list[int]:
    return [match.line for match in grep_lines(pattern, lines).found]


def test_lines_are_numbered_and_the_line_feed_is_not_part_of_them() -> None:
    assert lines_matching(r"^b$", "a\n", "b\n", "b") == [2, 3]
    assert lines_matching(r"b\s", "b\n") == []
    found = grep_lines("b+", ["abb\n"], first=7).found[0]
    assert (found.line, found.start, found.end) == (7, 1, 3)


@pytest.mark.parametrize(
    "pattern", ["(", "[", "*a", "a{2,1}", "(?P<n", "\\", "a**", "(?z)", "a{99999999999}"]
)
def test_an_invalid_pattern_is_an_input_error_with_a_hint(pattern: str) -> None:
    with pytest.raises(InputError, match="not a regular expression") as caught:
        grep_lines(pattern, ["a"])
    assert caught.value.hint


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "(a*)*b",
        "(?:a|aa)+$",
        "(a?){30}a{30}",
        "((ab)*c?)*d",
        r"(\w+\s?)*!",
        "(?P<n>x+)+y",
        "(.*a){20}",
        "(a{1,30}){1,30}b",
        "(?:(?:a+))+b",
        "(a+)+?$",
        "(a+){,}b",
    ],
)
def test_a_repeat_of_what_varies_is_refused(pattern: str) -> None:
    with pytest.raises(InputError, match="repeats something that varies"):
        grep_lines(pattern, ["a" * 40 + "!"])


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (r"def \w+\(.*\):", "def f(x, y):"),
        (r"(error|warning): .+", "error: no"),
        (r"(?i)ERROR", "an error"),
        (r"^\s*(\w+)\s*=\s*(.*)$", "  a = b"),
        (r"(ab){3}", "ababab"),
        (r"(\.\d+)?x", "1.5x"),
        (r"[(+*]+", "(*+"),
        (r"\(a+\)+", "(aa))"),
        (r"[]a]+", "]"),
        (r"a{2,}", "aa"),
        (r"(?=.*b)a", "a b"),
        (r"(?<!x)y+", "y"),
        (r"[[a]b", "[b"),
        (r"{x}", "{x}"),
        ("文", "上下文"),
        (r"a++b", "aab"),
        (r"(?x) a  # ) +", "a"),
    ],
)
def test_ordinary_patterns_are_not_refused(pattern: str, line: str) -> None:
    assert lines_matching(pattern, "nothing here", line) == [2]


def test_a_pattern_may_not_be_a_book() -> None:
    with pytest.raises(InputError, match="characters"):
        grep_lines("a" * 5000, ["a"])


def test_in_a_very_long_line_matches_are_found_anywhere() -> None:
    for place in (0, WINDOW - 2, WINDOW * 3 + 17, 200_000):
        line = "." * place + "needle=42;" + "." * (210_000 - place)
        found = grep_lines(r"needle=\d+", [line]).found
        assert [(m.start, m.end) for m in found] == [(place, place + 9)]


def test_limits_hold_only_for_patterns_with_repeats() -> None:
    long = "x" * (OVERLAP * 3)
    line = "." * (WINDOW - OVERLAP) + long + "." * 9000
    assert lines_matching(long, line) == [1]
    assert lines_matching("^y+", "." * WINDOW + "yy" + "." * WINDOW) == []


def test_a_slow_pattern_stops_between_lines_and_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.store.text_search.SECONDS", -1.0)
    matches = grep_lines("a", ["a", "a", "a"])
    assert (len(matches.found), matches.stopped) == (1, 1)
