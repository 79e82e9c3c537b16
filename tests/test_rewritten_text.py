"""What is found in a rewritten text is redacted in the original, and nothing else is."""

import re
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.redaction.rewritten_text import (
    RewrittenText,
    escaped_lines_joined,
    lines_joined,
    outside_colours,
    percent_decoded,
    without_colours,
)
from holdfast.redaction.secret_rule import SecretSpan

PIECES = st.sampled_from(
    [
        *(
            "a",
            "B7",
            "x9Kq",
            "é",
            " ",
            "  ",
            "=",
            ".",
            "-",
            "+",
            '"',
            "'",
            "\\",
            "\n",
            "\r\n",
            "\\n",
            "\\\n",
            "\n+",
        ),
        *(
            "\x1b[31m",
            "\x1b[0m",
            "\x1b[",
            "\\u001b[1;32m",
            "\\e[K",
            "%3D",
            "%20",
            "%7B",
            "%",
            "%4",
            '" +\n"',
            "// ",
        ),
    ]
)
TEXTS = st.lists(PIECES, max_size=30).map("".join)
SPANS = st.tuples(st.integers(0, 60), st.integers(1, 60))
CODE = re.compile(r"(?:\x1b|\\(?:x1b|u001b|033|e))\[[0-9;]*[A-Za-z]")


def originals(text: str, rewritten: RewrittenText, span: tuple[int, int]) -> tuple[str, list[str]]:
    """A part of a rewritten text, and what it is in the original."""
    start = max(0, min(span[0], len(rewritten.text) - 1))
    end = min(start + span[1], len(rewritten.text))
    spans = rewritten.original_spans(SecretSpan(start, end, "test"))
    edges = [edge for one in spans for edge in (one.start, one.end)]
    assert edges == sorted(set(edges))
    assert all(0 <= edge <= len(text) for edge in edges)
    return rewritten.text[start:end], [text[one.start : one.end] for one in spans]


@settings(max_examples=300, deadline=None)
@given(TEXTS, SPANS)
def test_a_span_without_colours_has_the_same_characters_in_the_original(text, span):
    if rewritten := without_colours(text):
        found, parts = originals(text, rewritten, span)
        assert "".join(parts) == found
    assert (rewritten is not None) == (CODE.search(text) is not None)


@settings(max_examples=300, deadline=None)
@given(TEXTS, SPANS)
def test_a_decoded_span_is_the_decoded_original(text, span):
    if rewritten := percent_decoded(text):
        found, parts = originals(text, rewritten, span)
        assert unquote("".join(parts)) == unquote(found)


@pytest.mark.parametrize("join", [lines_joined, escaped_lines_joined])
@settings(max_examples=300, deadline=None)
@given(TEXTS, SPANS)
def test_a_span_of_joined_lines_has_the_same_characters_in_the_original(join, text, span):
    if rewritten := join(text):
        found, parts = originals(text, rewritten, span)
        assert "".join(parts) == found


@settings(max_examples=300, deadline=None)
@given(TEXTS, SPANS)
def test_colour_codes_are_cut_out_of_a_span_and_nothing_else(text, span):
    start = min(span[0], len(text))
    end = min(start + span[1], len(text))
    kept = "".join(text[one.start : one.end] for one in outside_colours(text, SecretSpan(start, end, "test")))
    codes = {at for code in CODE.finditer(text) for at in range(*code.span())}
    assert kept == "".join(text[at] for at in range(start, end) if at not in codes)


def test_only_the_lines_with_a_change_are_rewritten():
    text = "one\ntwo %3D\nthree\nfour %20\nfive\n"
    rewritten = percent_decoded(text)
    assert rewritten is not None
    assert rewritten.text == "\ntwo =\nfour  "
    assert percent_decoded("one\ntwo\n") is None
