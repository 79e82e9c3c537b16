"""Where the dollars go: reads, first writes, rewrites and summaries, and that they are all there is."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import astuple

from holdfast.lab.aggregate import build_rows
from holdfast.lab.bill import Bill
from holdfast.lab.policy import ModelCall
from holdfast.lab.results import DollarParts, Score
from holdfast.lab.scored_message import ScoredCall, ScoredMessage
from lab.test_cost import CACHE, NONE, O200K, new_bill, runs, user

READ, WRITE = CACHE.read, CACHE.write


def paid(bill: Bill) -> tuple[float, ...]:
    return pytest.approx(astuple(bill.parts["cache"]))


def tool(text: str, answers: str = "1") -> ScoredMessage:
    return ScoredMessage("tool", text, answers=answers)


def called(arguments: str, id_: str = "1") -> ScoredMessage:
    return ScoredMessage("assistant", "", (ScoredCall("read", arguments, id_),))


# By hand: each token is a letter, and `user` and `tool` have four.


def test_what_is_appended_is_a_first_write_and_the_rest_a_read():
    bill = new_bill()
    bill.charge([user("abcdef")], at=None)
    bill.charge([user("abcdef"), tool("xy")], at=None)
    assert paid(bill) == (READ * 10, WRITE * (10 + 6), 0, 0)


def test_what_is_appended_is_new_even_if_it_was_said_before():
    bill = new_bill()
    bill.charge([user("again")], at=None)
    bill.charge([user("again"), user("again")], at=None)
    assert paid(bill) == (READ * 9, WRITE * 18, 0, 0)


def test_a_message_that_moved_is_written_again():
    """A window that rolls: the first message goes, and all behind it are written once more."""
    bill = new_bill()
    bill.charge([user("abcdef"), tool("xy")], at=None)
    bill.charge([tool("xy"), tool("new", "2")], at=None)
    assert paid(bill) == (0, WRITE * (16 + 7), WRITE * 6, 0)


def test_a_note_is_written_again_as_far_as_its_lines_were_sent():
    bill = new_bill()
    bill.charge([user("goal"), tool("one\nlines\nthree")], at=None)
    bill.charge([user("goal"), user("[gone]\nlines\n")], at=None)
    sent = 8 + 4 + len("one\nlines\nthree")
    # `user` and the text have 17 tokens, of which none is common; 5 of 11 characters are a line that was sent.
    again = round(17 * 5 / 11)
    assert paid(bill) == (READ * 8, WRITE * (sent + 17 - again), WRITE * again, 0)


def test_a_result_in_another_form_is_written_again_and_a_new_result_is_not():
    bill = new_bill()
    bill.charge([called("{}"), tool("many lines")], at=None)
    bill.charge([called("{}"), tool("[cleared]"), called("{}", "2"), tool("many lines", "2")], at=None)
    first, cleared = len("assistantread{}"), len("tool[cleared]")
    new = first + len("toolmany lines")
    # `tool` is common too: a prefix ends at a token.
    assert paid(bill) == (READ * (first + 4), WRITE * 2 * new, WRITE * (cleared - 4), 0)


def test_what_a_cold_cache_lost_is_written_again():
    bill = new_bill()
    bill.charge([user("abcdef")], at=0.0)
    bill.charge([user("abcdef"), user("xy")], at=10_000.0)
    assert paid(bill) == (0, WRITE * 16, WRITE * 10, 0)


def test_after_a_request_that_failed_all_is_written_again():
    bill = new_bill()
    bill.charge([user("abcdef")], at=None)
    bill.charge([], at=None)
    bill.charge([user("abcdef"), user("xy")], at=None)
    assert paid(bill) == (0, WRITE * 16, WRITE * 10, 0)


def test_model_calls_are_summaries():
    bill = new_bill()
    bill.charge([user("abcdef")], at=None, calls=[ModelCall(100, 7), ModelCall(1, 0)])
    assert paid(bill) == (0, WRITE * 10, 0, 101 + 7 * CACHE.output)


@settings(max_examples=50)
@given(runs(), st.lists(st.none() | st.floats(0, 1000), min_size=5, max_size=5))
def test_parts_are_never_negative_and_add_up(requests, times):
    bill = new_bill(CACHE, NONE, tokenizer=O200K)
    for request, at in zip(requests, times, strict=False):
        bill.charge(request, at, [ModelCall(3, 1)])
    for table, dollars in bill.dollars.items():
        parts = astuple(bill.parts[table])
        assert min(parts) >= -1e-9
        assert sum(parts) == pytest.approx(dollars)
    assert bill.parts["none"].reads == 0


def score(policy: str, recording: str, parts: DollarParts, project: str = "p") -> Score:
    dollars = sum(astuple(parts))
    return Score(recording, project, policy, 9, requests=1, dollars={"t": dollars}, parts={"t": parts})


def test_parts_of_a_row_add_up_to_its_dollars():
    whole, half = DollarParts(4, 3, 1), DollarParts(1, 1, 1, 1)
    scores = [
        score("everything", "a", whole),
        score("everything", "b", half, "q"),
        score("x", "a", half),
        score("x", "b", DollarParts(2, 0, 1, 1), "q"),
        score("x", "without a baseline", DollarParts(9, 9, 9, 9)),
    ]
    rows = {row.policy: row for row in build_rows(scores, {}, draws=2)}
    # By project, then the mean of both: (1/8 + 2/4) / 2 and so on.
    assert astuple(rows["x"].parts["t"]) == pytest.approx((0.3125, 0.0625, 0.1875, 0.1875))
    for row in rows.values():
        assert sum(astuple(row.parts["t"])) == pytest.approx(row.dollars["t"].mean)


def test_every_action_with_older_needs_counts_the_same():
    scores = [
        Score("a", "p", "x", 9, older_span=1.0, older_actions=1),
        Score("b", "q", "x", 9, older_span=0.5, older_actions=3),
        Score("c", "q", "x", 9),
    ]
    [row] = build_rows(scores, {}, draws=2)
    assert row.older == pytest.approx(2.5 / 4)
    assert build_rows(scores[2:], {}, draws=2)[0].older is None
