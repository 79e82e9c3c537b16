"""The edit engine against a naive reference, on texts with every ending and every script."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.tools.files.line_diff import LineChange, line_changes, unified_diff
from holdfast.tools.files.replacements import (
    AppliedReplacements,
    FailedReplacement,
    TextReplacement,
    apply_replacements,
    rewritten,
    share_lines,
)
from holdfast.tools.files.text_encoding import split_lines, unify_line_endings

PIECES = ["a", "b", "ab", "\t", " ", "漢字", "🙂", "é", "\f", "\u2028", "\r", "x = 1", ""]
ENDINGS = ["\n", "\r\n"]

line = st.lists(st.sampled_from(PIECES), max_size=4).map("".join)
"""A carriage return at the end of a line would be part of its ending."""
rows = st.lists(line.map(lambda text: text.rstrip("\r")), max_size=9)


@st.composite
def texts(draw, endings=ENDINGS):
    ended = [row + draw(st.sampled_from(endings)) for row in draw(rows)]
    return "".join(ended) + draw(line).rstrip("\r")


@st.composite
def works(draw, endings=ENDINGS):
    """A text and replacements of which most stand somewhere in it."""
    text = draw(texts(endings))
    edits, now = [], unify_line_endings(text)
    for _ in range(draw(st.integers(1, 4))):
        if now and draw(st.integers(0, 9)):
            first = draw(st.integers(0, len(now) - 1))
            old = now[first : draw(st.integers(first + 1, min(len(now), first + 12)))]
        else:
            old = draw(line) or "absent"
        new = draw(st.one_of(line, texts(["\n"])))
        every = draw(st.booleans())
        edits.append(TextReplacement(old, new, every))
        now = now.replace(old, new) if every else now.replace(old, new, 1)
    return text, edits


def tokens(text):
    """A text as its characters; `\\r\\n` is one of them, and reads as a line feed."""
    out = []
    for char in text:
        if char == "\n" and out and out[-1] == "\r":
            out[-1] = "\r\n"
        else:
            out.append(char)
    return out


def reference(text, edits, ending):
    """The same by brute force, one character after the other; None where an edit does not fit."""
    now = tokens(text)
    for edit in edits:
        old, new = [t.replace("\r\n", "\n") for t in tokens(edit.old_string)], tokens(edit.new_string)
        plain = [t.replace("\r\n", "\n") for t in now]
        places = [i for i in range(len(now)) if plain[i : i + len(old)] == old]
        if not places or (len(places) > 1 and not edit.replace_all):
            return None
        out, here = [], 0
        for place in places:
            if place >= here:
                out += [*now[here:place], *(ending if t in ("\n", "\r\n") else t for t in new)]
                here = place + len(old)
        now = [*out, *now[here:]]
    return "".join(now)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS, ids=["lf", "crlf"])
@given(st.data())
def test_the_engine_does_what_brute_force_does(ending, data):
    text, edits = data.draw(works([ending]))
    done = apply_replacements(text, edits)
    # A text without any line has no ending of its own.
    own = ending if ending in text else "\n"
    wanted = reference(text, edits, own)
    assert (None if isinstance(done, FailedReplacement) else done.text) == wanted


def makes_an_ending(work):
    """Whether a carriage return may come to stand before a line feed: that is an ending which no line had."""
    text, edits = work
    is_lone = "\r" in text.replace("\r\n", "")
    return any("\r" in edit.new_string or (is_lone and "\n" in edit.new_string) for edit in edits)


@pytest.mark.slow
@given(works().filter(lambda work: not makes_an_ending(work)))
def test_with_mixed_endings_lines_that_stay_keep_theirs(work):
    text, edits = work
    done = apply_replacements(text, edits)
    wanted = reference(text, edits, "\n")
    if isinstance(done, FailedReplacement):
        assert wanted is None
        return
    assert wanted is not None
    assert unify_line_endings(done.text) == unify_line_endings(wanted)
    lines, here, place = split_lines(text), 0, 0
    for first, last in [*done.touched, (len(lines), len(lines))]:
        kept = "".join(lines[here:first])
        assert kept in done.text[place:]
        place += done.text[place:].index(kept) + len(kept)
        here = max(here, last)


@pytest.mark.slow
@given(works())
def test_changes_and_touched_lines_tell_what_happened(work):
    text, edits = work
    done = apply_replacements(text, edits)
    if isinstance(done, FailedReplacement):
        return
    old, new = split_lines(unify_line_endings(text)), split_lines(unify_line_endings(done.text))
    assert patched(old, new, done.changes) == new
    assert done.count >= len(edits)
    for change in done.changes:
        span = (change.first, change.last) if change.last > change.first else (change.first, change.first + 1)
        assert any(a <= span[1] and span[0] <= b for a, b in done.touched)


def patched(old, new, changes):
    """The new lines, made of the old ones and the changes."""
    out, here = [], 0
    for change in changes:
        assert change.last > change.first or change.new_last > change.new_first
        out += old[here : change.first]
        assert len(out) == change.new_first
        out += new[change.new_first : change.new_last]
        here = change.last
    return out + old[here:]


@given(st.lists(st.sampled_from("abcd"), max_size=14), st.lists(st.sampled_from("abcd"), max_size=14))
def test_line_changes_are_right_and_the_shortest(old, new):
    changes = line_changes(old, new)
    assert patched(old, new, changes) == new
    assert sum(c.last - c.first + c.new_last - c.new_first for c in changes) == distance(old, new)
    assert patched(old, new, line_changes(old, new, most=2)) == new


def distance(old, new):
    """Lines to add or take away, by the plain table."""
    row = list(range(len(new) + 1))
    for i, a in enumerate(old, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(new, 1):
            last, row[j] = row[j], last if a == b else 1 + min(row[j], row[j - 1])
    return row[-1]


def test_a_diff_of_large_texts_is_bounded():
    rng = random.Random(3)
    old = [f"{rng.randrange(50)}\n" for _ in range(30_000)]
    new = [f"{rng.randrange(50)}\n" for _ in range(30_000)]
    changes = line_changes(old, new)
    assert len(changes) == 1
    assert patched(old, new, changes) == new


def test_a_diff_reads_as_everyone_knows_it():
    old, new = ["a\n", "b\n", "c\n", "d\n", "e"], ["a\n", "B\n", "c\n", "d\n", "e\n", "f\n"]
    assert unified_diff(old, new, line_changes(old, new), context=1) == [
        "@@ -1,5 +1,6 @@",
        " a",
        "-b",
        "+B",
        " c",
        " d",
        "-e",
        "\\ No newline at end of file",
        "+e",
        "+f",
    ]
    assert unified_diff([], ["x\n"], line_changes([], ["x\n"])) == ["@@ -0,0 +1 @@", "+x"]


@pytest.mark.parametrize(
    ("text", "old", "lines"),
    [("aaa", "aa", [1, 1]), ("x\ny\nx\n", "x", [1, 3]), ("x\ny", "z", []), ("a\r\nb", "a\r", [])],
    ids=["overlapping", "twice", "absent", "half an ending"],
)
def test_what_does_not_fit_once_is_a_misfit(text, old, lines):
    done = apply_replacements(text, [TextReplacement(old, "new")])
    assert isinstance(done, FailedReplacement)
    assert (done.edit, done.places, done.lines) == (0, len(lines), lines)


def test_a_misfit_names_its_edit_and_nothing_is_applied():
    done = apply_replacements("one\ntwo\n", [TextReplacement("one", "1"), TextReplacement("three", "3")])
    assert isinstance(done, FailedReplacement)
    assert (done.edit, done.text) == (1, "1\ntwo\n")


def test_later_edits_see_what_earlier_ones_wrote():
    done = apply_replacements(
        "one\r\ntwo\r\n", [TextReplacement("one", "a\nb"), TextReplacement("b\ntwo", "c")]
    )
    assert isinstance(done, AppliedReplacements)
    assert done.text == "a\r\nc\r\n"
    assert done.touched == [(0, 2)]
    assert done.changes == [LineChange(0, 2, 0, 2)]


def test_replacing_all_of_a_large_file_tells_every_line():
    text = "".join(f"row {n} needle\n" for n in range(20_000))
    done = apply_replacements(text, [TextReplacement("needle", "pin", replace_all=True)])
    assert isinstance(done, AppliedReplacements)
    assert done.count == 20_000
    assert done.text == text.replace("needle", "pin")
    assert len(done.touched) == 20_000


def test_a_rewrite_takes_the_endings_of_what_it_replaces():
    assert rewritten("a\r\nb\r\n", "x\ny\nz") == "x\r\ny\r\nz"
    assert rewritten("a\r\nb\nc\r\n", "a\nnew\nb\nc\n") == "a\r\nnew\r\nb\nc\r\n"
    assert rewritten("a\n", "x\r\ny\n") == "x\ny\n"
    assert rewritten("", "x\r\ny\n") == "x\r\ny\n"


spans = st.lists(st.integers(0, 30), max_size=8).map(
    lambda edges: [(a, b) for a, b in zip(sorted(edges)[::2], sorted(edges)[1::2], strict=False)]
)


@given(spans, spans)
def test_spans_share_lines_where_one_reaches_into_another(one, other):
    met = any(max(a, c) < min(b, d) or a < c == d < b or c < a == b < d for a, b in one for c, d in other)
    assert share_lines(one, other) == met
