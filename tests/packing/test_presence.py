"""Which lines of a file a text shows: told by numbers, by counting, or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.line_ranges import covers_range, merge_ranges
from holdfast.packing.presence import (
    lines_read,
    lines_written,
    read_range,
    written_content,
)
from holdfast.tool_use import ToolUse

READ = ToolUse("read", "Read", "a.py")


def listing(first: int, last: int, separator: str = "→") -> str:
    return "\n".join(f"{n:6}{separator}word {n}" for n in range(first, last + 1))


@pytest.mark.parametrize("separator", ["→", "\t", "| ", ":"])
def test_numbers_tell_the_lines(separator):
    found = lines_read(READ, listing(7, 12, separator))
    assert found.spans == ((7, 12),)
    assert found.known_by == "number"
    assert found.words()[9] == "word 9"


def test_numbers_that_are_out_of_order_or_few_are_the_files_own():
    logged = "10:30 start\n10:31 go on\n10:35 stop\n10:36 end\n"
    assert (lines_read(READ, logged).known_by, lines_read(READ, logged).spans) == ("count", ((1, 4),))
    table = "\n".join(["name", "a", "b", "c", "d", "e", "1→x", "2→y"])
    assert (lines_read(READ, table).known_by, lines_read(READ, table).spans) == ("count", ((1, 8),))
    assert lines_read(READ, "404: not found").spans == ()


def test_what_a_shell_prints_has_no_numbers_of_ours():
    shell = ToolUse("read", "Bash", "a.csv", command="sed -n '50,53p' a.csv", first=50, last=53)
    assert lines_read(shell, "1|x\n2|y\n3|z\n4|z\n").spans == ((50, 53),)


def test_a_relative_path_of_another_folder_is_nobodys():
    shell = ToolUse("read", "Bash", "a.py", command="cd sub && cat a.py")
    assert lines_read(shell, "one\ntwo\nthree\nfour\n").spans == ()


def test_of_a_shortened_listing_the_lines_that_are_left():
    whole = lines_read(READ, listing(1, 9))
    left = whole.still_in("     1→word 1\n     2→wo\n[… 5 lines left out]\n     8→word 8")
    assert (left.spans, left.is_open) == (((1, 1), (8, 8)), False)
    assert whole.still_in(listing(4, 9)).is_open
    assert lines_read(READ, "a\nb\nc\nd").still_in("a\nb").spans == ()


def test_lines_that_are_only_counted_are_compared_with_nothing():
    """A tool's own head above them would shift them all, and look like a change."""
    assert lines_read(READ, "a\nb\nc\nd").words() == {}


@pytest.mark.parametrize(
    ("content", "lines"),
    [("", {}), ("a", {1: "a"}), ("a\n", {1: "a"}), ("a\n\nb\n", {1: "a", 2: "", 3: "b"})],
)
def test_a_written_text_has_the_lines_that_its_file_has(content, lines):
    assert lines_written(content).lines == lines
    assert lines_written(content).end == len(lines)


def test_only_a_text_that_is_the_whole_file_was_written():
    assert written_content({"file_path": "a", "file_text": "x"}) == "x"
    assert written_content({"content": "x", "mode": "append"}) is None
    assert written_content({"content": "x", "mode": "overwrite"}) == "x"
    assert written_content({"content": ["x"]}) is None


@pytest.mark.parametrize(
    ("use", "text", "span"),
    [
        (READ, listing(3, 9), (3, 9)),
        (READ, "plain\ntext", (0, 0)),
        (ToolUse("read", "Read", "a.py", first=10, last=29), "plain\ntext", (10, 29)),
        (ToolUse("read", "Read", "a.py", last=29), "plain\ntext", (1, 29)),
        (ToolUse("read", "Read", "a.py", first=10), "", (10, 0)),
        (ToolUse("read", "Read", "a.py", first=10, last=29), listing(11, 30), (11, 30)),
    ],
)
def test_the_range_of_a_read(use, text, span):
    assert read_range(use, text) == span


@given(st.sets(st.integers(1, 60)), st.integers(1, 60), st.integers(1, 60))
def test_merged_spans_cover_what_their_lines_do(lines, first, last):
    spans = merge_ranges((n, n) for n in lines)
    assert {n for a, b in spans for n in range(a, b + 1)} == lines
    assert first > last or covers_range(spans, first, last) is (lines >= set(range(first, last + 1)))
