"""What must hold of every ledger: random work on files with real content, held against the files themselves."""

import re
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.errors import ContextOverflow
from holdfast.events import AssistantReplied
from holdfast.messages import Message, SystemMessage, Text, ToolCall
from holdfast.packing.layers import Cut, Pack
from holdfast.packing.log_walk import fold_if_due
from holdfast.packing.pack import pack
from holdfast.packing.presence import STATES
from holdfast.packing.profile import BUILT_IN, CODE
from holdfast.packing.visibility import TextVisibility, Visibility, visibility_of
from holdfast.packing.window import Window
from support.file_work import PATHS, FileWork
from support.logs import AgentWork, chained, strings_in
from support.packing_runs import counter, pack_each_request

TRIED = {
    **BUILT_IN,
    "excerpts": replace(CODE, name="excerpts", excerpt_ratio=0.35, fold_to_ratio=0.55, first_sight_ratio=0.1),
}
SEEDS = st.integers(0, 2**32 - 1)
BUDGETS = st.sampled_from([2_000, 5_000, 16_000])
RANGES = [(0, 0), (1, 3), (1, 60), (7, 7), (12, 0), (20, 45), (40, 500)]

_NUMBER = re.compile(r" *\d+→")


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(TRIED)), SEEDS, BUDGETS)
def test_what_is_called_resident_is_the_file_as_it_is_and_stands_in_the_pack(profile, seed, budget):
    work = FileWork(seed)
    for at, packed, found in looks(work, profile, budget):
        files, shown = work.versions[at], lines_in(packed.messages)
        for path in PATHS:
            for first, last in RANGES:
                if found.is_visible(path, first, last):
                    wanted = files[path][max(first, 1) - 1 : last or None]
                    assert wanted
                    assert [row for row in wanted if row not in shown] == []


def looks(work: FileWork, profile: str, budget: int) -> Iterator[tuple[int, Pack, Visibility]]:
    """The ledger after every event, also while calls still run, with the pack that could be made there."""
    window = Window(TRIED[profile].scaled_to(budget), counter())
    try:
        for at, entry in enumerate(chained(work.events)):
            if isinstance(entry.event, AssistantReplied):
                fold_if_due(window)
            window.add(entry)
            if window.view().total <= window.profile.hard_limit:
                yield at, pack(window.view()), visibility_of(window.view())
    except ContextOverflow:
        return


def lines_in(messages: tuple[Message, ...]) -> set[str]:
    """Every line that a model would read, with and without a number before it."""
    lines: set[str] = set()
    for message in messages:
        for part in () if isinstance(message, SystemMessage) else message.parts:
            texts = [part.text] if isinstance(part, Text) else []
            texts += strings_in(part.arguments) if isinstance(part, ToolCall) else []
            lines.update(line for text in texts for line in text.split("\n"))
    return lines | {_NUMBER.sub("", line, count=1) for line in lines}


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(TRIED)), SEEDS, BUDGETS, st.booleans())
@example("code", 46, 5_000, False)
def test_states_and_sizes_agree_with_the_cuts(profile, seed, budget, on_files):
    work = FileWork(seed) if on_files else AgentWork(seed, steps=14)
    try:
        for request in pack_each_request(chained(work.events), TRIED[profile].scaled_to(budget)):
            found = visibility_of(request.window.view())
            assert found == visibility_of(request.window.view()), "looking changes nothing"
            assert sum(row.tokens for row in found.rows) <= request.pack.tokens
            for row in found.rows:
                cuts = [c for c in request.pack.cuts if c.entry == row.entry and c.what == row.call]
                assert_state(row, cuts)
            assert_every_result_has_its_row(found, request.window)
    except ContextOverflow:
        return


def assert_state(row: TextVisibility, cuts: list[Cut]) -> None:
    assert row.tokens <= row.size
    if row.part == "argument":
        # A note may keep every line of it and is a digest all the same: nothing says that none is missing.
        assert row.state in ("resident", "stale", "digest") or row.tokens < row.size
        return
    gone = [c for c in cuts if c.rule.endswith("-gone")]
    if row.state == "resident":
        assert (cuts, row.tokens) == ([], row.size)
    elif row.state == "gone":
        assert (sum(c.before for c in gone), row.tokens) == (row.size, 0)
        assert gone
    elif row.state == "clipped":
        assert {c.rule.rsplit("-", 1)[-1] for c in cuts} <= {"sight", "clipped", "picture"}
        assert cuts
    elif row.state in ("digest", "stub"):
        assert cuts
    if cuts and not gone:
        assert row.size - row.tokens == sum(c.before - c.after for c in cuts)
    if len(cuts) == 1 and cuts[0].before:
        assert cuts[0].id == row.id or row.id == row.entry


def assert_every_result_has_its_row(found: Visibility, window: Window) -> None:
    entries = [e for step in window.transcript.steps for e in step.result_entries.values()]
    assert sorted(row.entry for row in found.rows if row.part == "result") == sorted(entries)


@pytest.mark.slow
def test_the_work_is_of_every_kind():
    """Or the properties would hold of nothing."""
    states: Counter[str] = Counter()
    answers: Counter[tuple[str, bool]] = Counter()
    for seed in range(12):
        work = FileWork(seed)
        for profile in ("code", "excerpts", "review"):
            for _, _, found in looks(work, profile, 5_000):
                states.update(row.state for row in found.rows)
                for path in PATHS:
                    answers[profile, found.is_visible(path)] += 1
                    spans = found.visible_lines(path)
                    states["several spans"] += len(spans) > 1
                    states["clipped lines"] += any(
                        r.lines for r in found.rows if r.path == path and r.state == "clipped"
                    )
    assert all(states[name] > 20 for name in (*STATES, "several spans", "clipped lines")), states
    assert all(answers[key] > 20 for key in [("code", True), ("code", False), ("excerpts", True)]), answers
