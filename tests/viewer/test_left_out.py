"""Search in what a request left out: all that the window does not show, and nothing from after it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.events import BoundarySeen, Folded, FoldedRun, FoldNote, LogStarted
from holdfast.packing.profile import CODE
from holdfast.viewer.answers import message_text
from holdfast.viewer.left_out import MOST_TEXTS, search_left_out
from holdfast.views.transcript import Step
from support.logs import AgentWork, chained, result, step, user
from viewer.test_history import BASES, SEEDS, history

LINES = "\n".join(f"line {number} of the file" for number in range(400))
WORK = [
    LogStarted(origin="live"),
    user("Look for the Heron in it."),
    step("looking", ("c1", "Read", {"file_path": "a.py"})),
    result("c1", f"{LINES}\nhere is a heron,\tand another HERON\n{LINES}"),
    step("more", ("c2", "Read", {"file_path": "b.py"})),
    result("c2", "nothing"),
    step("no heron in b.py"),
    user("Good."),
    step("done"),
]


def searched(events, number, words, basis="pack", first=0):
    return search_left_out(history(chained(events), basis), number, words, first)


def folded(level, *notes):
    ids = [entry.id for entry in chained(WORK)]
    run = FoldedRun(ids[2], ids[4], level, 100)
    made = [FoldNote(ids[2], ids[4], note, "") for note in notes]
    return [*WORK[:-1], Folded("pressure", (run,), tuple(made)), WORK[-1]]


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_what_the_window_shows_in_full_is_not_listed(number):
    assert searched(WORK, number, "heron")["total"] == 0


def test_a_text_that_a_note_replaced_is_listed_with_the_note():
    found = searched(folded("gone", "[note] two files were read"), 4, "heron")
    [row] = found["rows"]
    assert (row["kind"], row["tool"], row["step"], row["matches"]) == ("result", "Read", 1, 2)
    assert (row["presence"], row["where"]) == ("note", "in the note of steps 1 to 2")
    assert row["entry"] == chained(WORK)[3].id
    before, match, after = row["excerpt"]
    assert (before[-10:], match, after[:14]) == ("here is a ", "heron", ", and another ")
    shown = history(chained(folded("gone", "[note] two files were read")), "pack").window(4)[row["block"]]
    assert message_text(shown.block.message) == "[note] two files were read"


def test_a_shortened_text_is_listed_if_a_match_was_cut():
    events = folded("digest")
    [row] = searched(events, 4, "heron")["rows"]
    assert (row["presence"], row["step"]) == ("shortened", 1)
    assert searched(events, 4, "line 0 of the file")["rows"][0]["matches"] == 1, "of two, one is shown"
    assert searched(events, 4, "looking")["total"] == 0


def test_what_came_before_the_clients_compaction_is_listed():
    events = [*WORK[:7], BoundarySeen("compacted", summary="both were read"), *WORK[7:]]
    rows = searched(events, 4, "HERON", "list")["rows"]
    assert [(row["kind"], row["step"]) for row in rows] == [("assistant", 3), ("result", 1), ("user", 0)]
    assert {row["presence"] for row in rows} == {"summary"}


@pytest.mark.parametrize("words", ["", "  ", "no such words"])
def test_nothing_is_found_where_nothing_is_sought_or_there(words):
    assert searched(folded("gone", "[note]"), 4, words) == {"number": 4, "total": 0, "first": 0, "rows": []}


def test_rows_come_in_parts_the_newest_first():
    events = [LogStarted(origin="import")]
    for number in range(MOST_TEXTS + 30):
        events += [user(f"do {number}"), step(f"did {number}")]
    events += [BoundarySeen("compacted"), user("go"), step("done")]
    last = MOST_TEXTS + 31
    found = searched(events, last, "did", "list")
    assert (found["total"], len(found["rows"])) == (MOST_TEXTS + 30, MOST_TEXTS)
    rest = searched(events, last, "did", "list", MOST_TEXTS)["rows"]
    assert [row["step"] for row in [*found["rows"], *rest]] == list(range(MOST_TEXTS + 30, 0, -1))


@settings(max_examples=40, deadline=None)
@given(SEEDS, BASES, st.sampled_from(["error", "上下文", "TEST_", "a", '"']), st.data())
def test_window_and_left_out_have_every_match_and_nothing_later(seed, basis, words, data):
    entries = chained(AgentWork(seed, steps=14).events)
    whole = history(entries, basis, CODE.scaled_to(4_000))
    number = data.draw(st.integers(1, len(whole.requests)))
    asked = next(at for at, entry in enumerate(entries) if entry.id == whole.requests[number - 1].entry)
    answer = search_left_out(whole, number, words)
    cut = history(entries[: asked + 1], basis, CODE.scaled_to(4_000))
    assert answer == search_left_out(cut, number, words)
    listed = {row["entry"] for row in answer["rows"]}
    shown = {}
    for placed in whole.window(number):
        block = placed.block
        shown[block.entry] = shown.get(block.entry, "") + message_text(block.message).casefold()
    for item in whole.transcript(number).items:
        results = item.results if isinstance(item, Step) else {}
        originals = [(item.entry, item.message)]
        originals += [(item.result_entries[id_], message) for id_, message in results.items()]
        for entry, message in originals:
            matches = message_text(message).casefold().count(words.casefold())
            if matches and entry not in listed:
                assert shown[entry].count(words.casefold()) >= matches
