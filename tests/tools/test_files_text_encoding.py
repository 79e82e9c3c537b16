"""Encodings: nothing is lost between bytes and text, and guesses are said to be guesses."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.line_ranges import covers_range, merge_ranges, missing_ranges
from holdfast.tools.envelope import ToolError
from holdfast.tools.files.line_diff import (
    LineChange,
    describe_ranges,
    shift_ranges,
)
from holdfast.tools.files.text_encoding import (
    Encoding,
    decode,
    detect_encoding,
    encode,
    encoding_named,
    split_lines,
    unify_line_endings,
)

words = st.sampled_from(
    ["plain", "naïve", "größer", "漢字", "🙂", "\r\n", "\n", "\t", "\x0c", "\u2028", "“q”"]
)
texts = st.lists(words, max_size=12).map("".join)


@given(st.one_of(st.binary(max_size=200), texts.map(str.encode)))
def test_whatever_is_taken_for_text_comes_back_byte_for_byte(raw):
    encoding = detect_encoding(raw)
    if encoding is not None:
        assert encode(decode(raw, encoding, "f"), encoding, "f") == raw


@given(texts, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]))
def test_unicode_is_always_recognised(text, name):
    raw = text.encode(name)
    encoding = detect_encoding(raw)
    assert encoding is not None
    assert decode(raw, encoding, "f") == text
    assert not encoding.is_guess


@pytest.mark.parametrize("cut", range(1, 4))
def test_a_sample_may_end_inside_a_character(cut):
    raw = ("a" * 100 + "🙂").encode()[:-cut]
    assert detect_encoding(raw, is_whole=False) == Encoding("utf-8")
    assert detect_encoding(raw) == Encoding("cp1252", is_guess=True) or detect_encoding(raw) == Encoding(
        "latin-1", is_guess=True
    )


def test_a_damaged_utf_16_file_is_no_text():
    assert detect_encoding(codecs.BOM_UTF16_LE + b"a\0b") is None
    assert detect_encoding(b"\xff\xd8\xff\xe0\0\x10JFIF") is None


def test_an_encoding_that_does_not_fit_is_said():
    with pytest.raises(ToolError, match="cannot be read as"):
        decode(b"\x81\xff", encoding_named("shift-jis", b""), "f")
    assert encoding_named("utf-16", codecs.BOM_UTF16_BE) == Encoding("utf-16-be", codecs.BOM_UTF16_BE)
    assert encoding_named("utf-16", b"") == Encoding("utf-16-le")
    assert encoding_named("UTF8", codecs.BOM_UTF8) == Encoding("utf-8", codecs.BOM_UTF8)
    assert encoding_named("latin1", b"") == Encoding("latin-1")


@given(texts)
def test_lines_end_at_line_feeds(text):
    lines = split_lines(text)
    assert "".join(lines) == text
    assert len(lines) == text.count("\n") + (not text.endswith("\n") if text else 0)
    assert all(line.count("\n") == 1 and line.endswith("\n") for line in lines[:-1])
    assert "\r\n" not in unify_line_endings(text)


sets = st.sets(st.integers(1, 20))


def spans_of(numbers):
    return merge_ranges((n, n) for n in numbers)


def lines_in(spans):
    return {n for first, last in spans for n in range(first, last + 1)}


@given(sets, st.integers(1, 20), st.integers(1, 20))
def test_spans_are_sets_of_lines(numbers, first, last):
    spans = spans_of(numbers)
    assert lines_in(spans) == numbers
    assert lines_in(missing_ranges(spans, 20)) == set(range(1, 21)) - numbers
    if first <= last:
        assert covers_range(spans, first, last) == (set(range(first, last + 1)) <= numbers)


@st.composite
def edits(draw):
    """Changes of a text of twenty lines, in order, and how many lines it has then."""
    changes, here, shift = [], 0, 0
    while here < 20 and draw(st.booleans()):
        first = draw(st.integers(here, 20))
        last = draw(st.integers(first, 20))
        new = draw(st.integers(0 if last > first else 1, 4))
        changes.append(LineChange(first, last, first + shift, first + shift + new))
        shift += new - (last - first)
        here = last + 1
    return changes, 20 + shift


@given(sets, edits())
def test_what_was_shown_moves_along_with_ones_own_edits(numbers, edited):
    changes, total = edited
    marked = [n in numbers for n in range(1, 21)]
    for change in reversed(changes):
        marked[change.first : change.last] = [True] * (change.new_last - change.new_first)
    assert lines_in(shift_ranges(spans_of(numbers), changes, total)) == {
        n for n, is_known in enumerate(marked, 1) if is_known
    }


def test_spans_are_said_shortly():
    assert describe_ranges([(3, 3)]) == "line 3"
    assert describe_ranges([(3, 5), (9, 9)]) == "lines 3-5, 9"
    assert describe_ranges([(n, n) for n in range(1, 30, 2)]).endswith("13, 15 and 7 more")
