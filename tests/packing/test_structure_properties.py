"""Any text has a structure, at a cost that grows with its length and no faster."""

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_structure import BASH, CODE, DOCKER, GIT_DIFF, GREP, PYTEST, READ

from holdfast.events import AssistantReplied, ToolReturned
from holdfast.messages import ToolCall, joined_text
from holdfast.packing.structure import structure_of
from holdfast.recordings import read_recordings
from holdfast.tool_use import ToolUse, recognise
from support.shared import recording_files

USES = [BASH, READ, GREP, ToolUse("glob", "Glob"), ToolUse("ls", "LS"), ToolUse("edit", "Edit", path="a.go")]
PIECES = [line for text in (GIT_DIFF, PYTEST, DOCKER, CODE) for line in text.split("\n")]
PIECES += [
    "Traceback (most recent call last):",
    '  File "/app/a.py", line 3, in f',
    "ValueError: x",
    "    at f (/app/a.js:1:2)",
    "panic: x",
    "goroutine 1 [running]:",
    "\t/app/a.go:3 +0x1",
    "thread 'main' panicked at a.rs:1:1:",
    "stack backtrace:",
    "   1: app::f",
    "=== RUN   TestA",
    "--- PASS: TestA",
    "| a | b |",
    "|---|---|",
    "a  b",
    "-----",
    "a.py:1:x",
    "12:x",
    "12-x",
    "--",
    "src:",
    "  1→def f():",
    '{"a": 1}',
    "*** Begin Patch",
    "*** Update File: a",
    "@@",
]
TEXTS = st.one_of(
    st.text(max_size=300),
    st.lists(st.sampled_from(PIECES), max_size=60).map("\n".join),
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=30)), max_size=40).map("\n".join),
)


@given(TEXTS, st.sampled_from(USES))
def test_any_text_has_a_structure(text, use):
    check(text.split("\n"), use)


def check(lines, use):
    structure = structure_of(lines, use)
    assert len(structure.bonus) == len(lines)
    for line in structure.anchors:
        way = [line]
        while way[-1] in structure.anchors:
            way.append(structure.anchors[way[-1]])
            assert 0 <= way[-1] < len(lines)
            assert len(way) <= len(lines), "a circle"
    assert structure_of(tuple(lines), use) == structure


LONG = {
    "same": ["the same line of text"],
    "rules": ["a  b", "----", "c  d", "x"],
    "frames": ["    at f (/app/a.js:1:2)", ""],
    "matches": ["a.py", "12:x", "--"],
    "hunks": ["@@ -1,900000 +1,900000 @@", "+a", " b"],
    "classes": ["class A {", "  load(a, b) {", "  }"],
    "panics": ["goroutine 1 [running]:", "main.f()", "\t/app/a.go:1 +0x1"],
}


@pytest.mark.slow
@pytest.mark.parametrize("rows", LONG.values(), ids=LONG)
def test_many_lines_take_linear_time(rows):
    lines = [rows[n % len(rows)] for n in range(200_000)]
    assert len(structure_of(lines, BASH).bonus) == len(lines)


@pytest.mark.parametrize("part", ["x", " ", "a(", "[", "a-1", "= ", ": ", "| ", "at ", "\x1b["])
def test_one_giant_line_takes_linear_time(part):
    giant = part * (1_000_000 // len(part))
    for use in (BASH, READ, GREP):
        assert len(structure_of(["first", giant, "last"], use).bonus) == 3


@pytest.mark.parametrize("file", recording_files())
def test_recorded_results_have_structures(file):
    results = 0
    for recording in islice(read_recordings(file), 12):
        uses: dict[str, ToolUse] = {}
        for event in (recorded.event for recorded in recording.events):
            if isinstance(event, AssistantReplied):
                uses |= {part.id: recognise(part) for part in event.parts if isinstance(part, ToolCall)}
            elif isinstance(event, ToolReturned):
                lines = joined_text(event.parts).split("\n")
                check(lines, uses.get(event.call_id, BASH))
                results += 1
    assert results > 0
