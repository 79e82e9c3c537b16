"""The account of kept lines: a cut of what is gone says how much of it stands in a note, and follows the notes."""

from collections import defaultdict

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.errors import ContextOverflow
from holdfast.events import (
    AssistantReplied,
    Entry,
    Folded,
    FoldedRun,
    FoldNote,
    KeptLines,
    ToolReturned,
    UserSaid,
)
from holdfast.messages import Image, Text, joined_text
from holdfast.packing.layers import Block, Cut
from holdfast.packing.lines.excerpts import parse_ranges
from holdfast.packing.lines.passages import RESULT, SAID, USER, step_passages, user_passages
from holdfast.packing.pack import pack
from holdfast.packing.profile import BUILT_IN, CODE
from holdfast.packing.window import Window
from holdfast.views.transcript import Step
from support.file_work import FileWork
from support.logs import PIXEL, AgentWork, chained, result, step, user
from support.packing_runs import Request, counter, pack_each_request

TRIED = {**BUILT_IN, "excerpts": replace(CODE, name="excerpts", excerpt_ratio=0.3, fold_to_ratio=0.55)}


# What is true of every pack


def quoted_by(window: Window) -> dict[tuple[str, str, str], int]:
    """Tokens of the lines that notes keep, by entry, call and kind of text, each line found in its note."""
    items = {item.entry: item for item in window.transcript.items}
    found: dict[tuple[str, str, str], int] = defaultdict(int)
    for note, block in window.view().notes.values():
        shown = joined_text(block.messages[0].parts).split("\n")
        for kept in note.kept:
            item = items[kept.step]
            told = step_passages(item) if isinstance(item, Step) else user_passages(item)
            lines = next(p.lines for p in told if p.source.place[1:] == (kept.call, kept.part))
            rows = [lines[number] for number in parse_ranges(kept.lines)]
            assert set(rows) <= set(shown)
            part = kept.part if kept.part in (RESULT, SAID, USER) else "call"
            found[kept.step, kept.call, part] += counter().text("\n".join(rows))
    return found


def assert_account(request: Request) -> None:
    """The cuts of everything gone, and of every user message that a fold shortened, against the notes."""
    window, quoted = request.window, quoted_by(request.window)
    by_entry: dict[str, list[Cut]] = defaultdict(list)
    for cut in request.pack.cuts:
        assert 0 <= cut.after <= cut.before
        by_entry[cut.entry].append(cut)
    for item in window.transcript.items:
        if isinstance(item, Step):
            if window.view().levels[item.number][0] == "gone":
                assert_step(item, by_entry, quoted)
        elif item.entry in window.view().hidden or item.entry in window.view().displays:
            shown = [m.parts for m in window.view().blocks[item.position].messages]
            left = sum(
                counter().part(s)
                for parts in shown
                for s, p in zip(parts, item.message.parts, strict=True)
                if s != p
            )
            assert_stands(by_entry[item.entry], left + quoted.pop((item.entry, "", USER), 0))
    assert not quoted, "lines are kept of what is gone or shortened, and of nothing else"


def assert_step(item: Step, by_entry: dict[str, list[Cut]], quoted: dict[tuple[str, str, str], int]) -> None:
    own = by_entry[item.entry]
    texts = [c for c in own if c.rule == "text-gone"]
    assert_stands(texts, quoted.pop((item.entry, "", SAID), 0))
    calls = [c for c in own if c.rule == "call-gone"]
    for call_id, cut in zip(item.calls, calls, strict=True):
        assert_stands([cut], quoted.pop((item.entry, call_id, "call"), 0))
    for call_id, entry in item.result_entries.items():
        assert_stands(by_entry[entry], quoted.pop((item.entry, call_id, RESULT), 0))


def assert_stands(cuts: list[Cut], tokens: int) -> None:
    """Records of a document may take more than it did; a cut never says so."""
    assert sum(c.after for c in cuts) == min(tokens, sum(c.before for c in cuts)), (cuts, tokens)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(sorted(TRIED)),
    st.integers(0, 2**32),
    st.sampled_from([2_000, 4_000, 9_000]),
    st.booleans(),
)
@example("code", 3, 4_000, False)
@example("excerpts", 5, 9_000, True)
def test_every_pack_says_what_notes_keep_of_what_is_gone(profile, seed, budget, on_files):
    work = FileWork(seed) if on_files else AgentWork(seed, steps=16)
    try:
        for request in pack_each_request(chained(work.events), TRIED[profile].scaled_to(budget)):
            assert_account(request)
    except ContextOverflow:
        return


# A log that is folded again and again


def long_work() -> list:
    """Every tenth step is asked for by a new message; what an early part needs is named again much later."""
    events = []
    for i in range(140):
        if i % 10 == 0:
            pasted = "\n".join(f"setting_{i}_{j} = value_{j * 7}" for j in range(40))
            events.append(user(f"Look at part {i}, and never touch api_{i}.py.\n{pasted}"))
        noise = "\n".join(f"plain text of no use in row {i} {j}" for j in range(30))
        telling = f"error: part_{i} needs module_{i}.settings\n  in src/parts/part_{i}.py, line {i}"
        events += [
            step(f"Run part {i} with flag_{i} set.", (f"c{i}", "Bash", {"command": f"run --part {i} now"})),
            result(f"c{i}", f"{noise}\n{telling}\n{noise}", "Bash"),
        ]
    return events


@pytest.mark.slow
def test_the_account_follows_fold_after_fold():
    folds, kept, lost = 0, 0, 0
    before: dict[str, int] = {}
    for request in pack_each_request(chained(long_work()), CODE.scaled_to(16_000)):
        assert_account(request)
        folds += len(request.folds)
        stands = {c.entry: c.after for c in request.pack.cuts if c.rule == "bash-gone"}
        lost += any(before[entry] and not stands[entry] for entry in before)
        kept = max(kept, sum(tokens > 0 for tokens in stands.values()))
        before = stands
    assert folds >= 3
    assert kept > 10, "results of which lines stand in a note"
    assert lost, "a later fold let go of lines that an earlier one kept, and the cuts say so"


@pytest.mark.slow
def test_lines_of_users_and_of_calls_are_accounted_for_as_well():
    rules = {"call-gone": 0, "text-gone": 0}
    from_users = 0
    for request in pack_each_request(chained(long_work()), CODE.scaled_to(12_000)):
        quoted = quoted_by(request.window)
        from_users += any(part == USER for _, _, part in quoted)
        for rule in rules:
            rules[rule] += any(c.after for c in request.pack.cuts if c.rule == rule)
    assert all(rules.values()), rules
    assert from_users, "notes keep lines of user messages that were cut"


@pytest.mark.slow
def test_a_fold_renders_only_what_it_lowers_or_quotes_otherwise():
    before: list[Block] = []
    stayed = 0
    for request in pack_each_request(chained(long_work()), CODE.scaled_to(16_000)):
        lowered = [n for f in request.folds for run in f.runs for n in numbers(request.window, run)]
        for item in request.window.transcript.steps if request.folds else ():
            if item.position < len(before) and item.number not in lowered:
                old, new = before[item.position], request.window.view().blocks[item.position]
                assert (old is new) == (old == new), "nothing is rendered that reads as it did"
                stayed += old is new and not new.messages
        before = list(request.window.view().blocks)
    assert stayed > 50, "steps that were gone before a fold and of which it changed nothing"


def numbers(window: Window, run: FoldedRun) -> range:
    first, last = (window.transcript.items[window.view().position(entry)] for entry in (run.first, run.last))
    return range(first.number, last.number + 1)


# Notes made by hand


def window_of(*events: object) -> Window:
    return Window(CODE.scaled_to(100_000), counter(), chained(events))


def fold(window: Window, *notes: FoldNote, **more: object) -> None:
    runs = tuple(FoldedRun(note.first, note.last, "gone") for note in notes)
    window.add(Entry("efold", "test", 0, None, Folded("manual", runs=runs, notes=notes, **more)))


def note_of(window: Window, first: int, last: int, *kept: tuple[int, str, str, str], users: bool = False):
    """A note for items by their positions, with lines kept as (position, call, part, lines)."""
    items = window.transcript.items
    lines = tuple(KeptLines(items[at].entry, *rest) for at, *rest in kept)
    span = items[first].entry, items[last].entry
    return FoldNote(*span, f"[holdfast: items {first}-{last}]", "", users, lines)


def after(window: Window) -> list[tuple[str, int]]:
    return [(cut.rule, cut.after) for cut in pack(window.view()).cuts]


def tokens(*lines: str) -> int:
    return counter().text("\n".join(lines))


def rows(word: str, count: int = 9) -> list[str]:
    return [f"the {word} in row {number} is number {number * number}" for number in range(count)]


def test_each_text_of_several_has_its_own_lines():
    said, told, more = rows("word"), rows("result"), rows("rest")
    reply = AssistantReplied(
        (Text("\n\n" + "\n".join(said[:4])), Text("\n".join(said[4:])), *step("", ("c", "Bash", {})).parts)
    )
    returned = ToolReturned(
        "c", "Bash", (Text("\n".join(told)), Image("image/png", PIXEL), Text("\n".join(more)))
    )
    window = window_of(user("go"), reply, returned)
    fold(window, note_of(window, 1, 1, (1, "", "said", "3-4"), (1, "c", "result", "0,8-10")))
    assert after(window) == [
        ("text-gone", tokens(said[3])),
        ("text-gone", tokens(said[4])),
        ("call-gone", 0),
        ("bash-gone", tokens(told[0], told[8])),
        ("bash-gone", 0),
        ("bash-gone", tokens(more[0], more[1])),
    ]


def test_lines_of_a_document_belong_to_the_text_that_it_is():
    records = ",".join(f'{{"name":"part_{n}","path":"src/part_{n}.py"}}' for n in range(30))
    returned = ToolReturned("c", "Bash", (Text(""), Text(f"[{records}]")))
    window = window_of(user("go"), step("", ("c", "Bash", {"command": "list"})), returned)
    (lines,) = [p.lines for p in step_passages(window.transcript.steps[0]) if p.source.part == RESULT]
    assert len(lines) > 20
    fold(window, note_of(window, 1, 1, (1, "c", "result", "0,20")))
    assert after(window)[1:] == [("bash-gone", 0), ("bash-gone", tokens(lines[0], lines[20]))]


def test_lines_of_arguments_are_part_of_their_call():
    content = rows("content")
    arguments = {"file_path": "src/app.py", "content": "\n".join(content)}
    window = window_of(user("go"), step("", ("w", "Write", arguments)), result("w", "written", "Write"))
    fold(window, note_of(window, 1, 1, (1, "w", "call", "0"), (1, "w", "0", "2-3")))
    shown = tokens("Write file_path = src/app.py") + tokens(content[2], content[3])
    assert after(window) == [("call-gone", shown), ("write-gone", 0)]


def test_a_shortened_message_counts_what_is_left_in_its_place_and_in_a_note():
    said = [f"the user said this in row {number}, with some more words" for number in range(200)]
    window = window_of(user("\n".join(said)), step("", ("c", "Bash", {})), result("c", "ok", "Bash"))
    entry = window.transcript.items[0].entry
    note = note_of(window, 1, 1, (0, "", "user", "90-91"))
    fold(window, note, pastes=(entry,), paste_cap=200)
    left = counter().part(pack(window.view()).messages[0].parts[0])
    assert 0 < left <= 200
    assert after(window)[0] == ("paste", left + tokens(said[90], said[91]))
    fold(window, note_of(window, 0, 1, (0, "", "user", "7"), users=True))
    assert after(window)[0] == ("user-gone", tokens(said[7]))


def two_steps() -> tuple[Window, list[str]]:
    told = rows("result")
    returned = [UserSaid((Text("go"),))]
    for call in "ab":
        returned += [step("", (call, "Bash", {})), result(call, "\n".join(told), "Bash")]
    return window_of(*returned), told


def results(window: Window) -> list[int]:
    return [tokens for rule, tokens in after(window) if rule == "bash-gone"]


def test_cuts_follow_the_notes_that_replace_each_other():
    window, told = two_steps()
    fold(window, note_of(window, 1, 1, (1, "a", "result", "2")))
    assert results(window) == [tokens(told[2])]
    fold(window, note_of(window, 2, 2, (1, "a", "result", "5"), (2, "b", "result", "6")))
    assert results(window) == [tokens(told[2]) + tokens(told[5]), tokens(told[6])], "lines in two notes"
    fold(window, note_of(window, 1, 2, (2, "b", "result", "0-1")))
    assert results(window) == [0, tokens(told[0], told[1])]


def test_lines_that_no_note_shows_do_not_count():
    window, told = two_steps()
    unknown = KeptLines("enowhere", "a", "result", "0")
    note = note_of(window, 1, 1, (1, "a", "result", "8-20"), (1, "z", "result", "0"), (1, "a", "7", "0"))
    fold(window, replace(note, kept=(*note.kept, unknown)))
    assert results(window) == [tokens(told[8])]
    fold(window, replace(note_of(window, 1, 2, (1, "a", "result", "0")), first="enowhere"))
    assert results(window) == [tokens(told[8])], "a note that is off the path is not shown"
