"""The bill of a recording: what two requests share, by token, and what that is worth in each price table."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.lab.bill import Bill, PrefixTracker, cached_tokens, request_price
from holdfast.lab.policy import ModelCall
from holdfast.lab.scored_message import MessageCounter, ScoredCall, ScoredMessage
from holdfast.packing.counting.tokens import CharEstimate
from holdfast.prices import PriceTable
from holdfast.tokenizers import load_tokenizer

O200K = load_tokenizer("o200k_base")
CACHE = PriceTable("cache", read=0.1, write=1.25, output=5.0, life_seconds=300, minimum_tokens=4)
NONE = PriceTable("none", read=1.0, write=1.0, output=5.0, life_seconds=0, minimum_tokens=0)


class Letters:
    """A vocabulary that can be counted by hand: every character is a token."""

    name = "letters"

    def count(self, text: str) -> int:
        return len(text)

    def ids(self, text: str) -> list[int]:
        return list(map(ord, text))


def new_bill(*tables: PriceTable, tokenizer=None) -> Bill:
    tokenizer = tokenizer or Letters()
    return Bill(MessageCounter(tokenizer), tokenizer, tables or (CACHE,))


def user(text: str) -> ScoredMessage:
    return ScoredMessage("user", text)


# By hand: each token is a letter, and `user` has four.


def test_the_first_request_is_written_whole():
    bill = new_bill()
    charged = bill.charge([user("abcdef")], at=0.0)
    assert (charged.tokens, charged.common, charged.moved_tokens, charged.moved_bytes) == (10, 0, 0, 0)
    assert charged.cached == {"cache": 0}
    assert bill.dollars == {"cache": 12.5}
    assert bill.uncached == {"cache": 10}


def test_an_appended_message_is_written_and_the_rest_read():
    bill = new_bill()
    bill.charge([user("abcdef")], at=0.0)
    charged = bill.charge([user("abcdef"), ScoredMessage("tool", "xy")], at=10.0)
    assert (charged.tokens, charged.common, charged.moved_tokens, charged.moved_bytes) == (16, 10, 0, 0)
    assert bill.dollars["cache"] == pytest.approx(12.5 + 0.1 * 10 + 1.25 * 6)
    assert bill.uncached["cache"] == 10 + 6


def test_a_change_inside_a_message_keeps_what_stands_before_it():
    bill = new_bill()
    bill.charge([user("abcdef"), user("zz")], at=None)
    charged = bill.charge([user("abcXef"), user("zz")], at=None)
    assert (charged.tokens, charged.common, charged.moved_tokens) == (16, 7, 9)
    assert charged.moved_bytes == 9
    assert charged.cached["cache"] == 7


def test_a_change_of_a_call_keeps_its_name_and_the_head_of_its_arguments():
    before = ScoredMessage("assistant", "ok", (ScoredCall("read", '{"path":"a"}', "1"),))
    after = ScoredMessage("assistant", "ok", (ScoredCall("read", '{"path":"b"}', "1"),))
    bill = new_bill()
    bill.charge([before], at=None)
    assert bill.charge([after], at=None).common == len("assistant" + "ok" + "read" + '{"path":"')


def test_ids_of_calls_are_not_sent():
    before = ScoredMessage("assistant", "ok", (ScoredCall("read", "{}", "1"),))
    after = ScoredMessage("assistant", "ok", (ScoredCall("read", "{}", "2"),))
    bill = new_bill()
    bill.charge([before, ScoredMessage("tool", "text", answers="1")], at=None)
    charged = bill.charge([after, ScoredMessage("tool", "text", answers="2")], at=None)
    assert charged.common == charged.tokens
    assert charged.moved_bytes == 0


def test_moved_bytes_are_utf8():
    bill = new_bill()
    bill.charge([user("aé漢字")], at=None)
    charged = bill.charge([user("aé")], at=None)
    assert (charged.moved_tokens, charged.moved_bytes) == (2, 6)


def test_half_a_surrogate_pair_is_billed_like_any_text():
    bill = new_bill(tokenizer=O200K)
    bill.charge([user("a\ud800b")], at=None)
    charged = bill.charge([user("a\ud800c")], at=None)
    assert charged.common > 0
    assert charged.moved_bytes == 1


def test_the_cache_lives_as_long_as_its_table_says_and_each_use_renews_it():
    bill = new_bill()
    request = [user("abcdef")]
    cached = [bill.charge(request, at).cached["cache"] for at in (0.0, 300.0, 600.0, 901.0, 902.0)]
    assert cached == [0, 10, 10, 0, 10]


def test_without_a_clock_the_cache_is_warm():
    bill = new_bill()
    request = [user("abcdef")]
    cached = [bill.charge(request, at).cached["cache"] for at in (0.0, None, 10_000.0, 20_000.0)]
    assert cached == [0, 10, 10, 0]


@pytest.mark.parametrize(("minimum", "cached"), [(10, 10), (11, 0)])
def test_a_prefix_below_the_minimum_is_not_cached(minimum, cached):
    table = PriceTable("t", read=0.1, write=1.25, output=5.0, life_seconds=300, minimum_tokens=minimum)
    bill = new_bill(table)
    bill.charge([user("abcdef")], at=0.0)
    assert bill.charge([user("abcdef"), user("")], at=0.0).cached["t"] == cached


def test_prices_of_a_request():
    assert request_price(CACHE, 100, 60) == pytest.approx(0.1 * 60 + 1.25 * 40)
    assert request_price(CACHE, 3, 0) == 3  # too short to be cached, so nothing is written
    assert request_price(CACHE, 4, 0) == 5
    assert request_price(NONE, 100, 0) == 100
    no_cache = PriceTable("x", read=0.1, write=1.25, output=5.0, life_seconds=0, minimum_tokens=0)
    assert request_price(no_cache, 100, 0) == 100


def test_a_table_without_a_cache_has_no_hits():
    assert cached_tokens(NONE, 50, 0.0) == 0
    assert cached_tokens(NONE, 50, None) == 0


def test_model_calls_are_billed_without_a_cache():
    bill = new_bill(CACHE, NONE)
    bill.charge([user("abcdef")], at=0.0, calls=[ModelCall(100, 7), ModelCall(10, 0)])
    assert bill.dollars == {"cache": 12.5 + 110 + 35, "none": 10 + 110 + 35}
    assert bill.uncached == {"cache": 10, "none": 10}


def test_a_reference_costs_the_request_again_and_the_fetched_text():
    bill = new_bill(CACHE, NONE)
    bill.ref_charge(fetched_tokens=20, request_tokens=100)
    assert bill.ref_dollars == {"cache": 10 + 25, "none": 120}
    bill.ref_charge(fetched_tokens=5, request_tokens=3)
    assert bill.ref_dollars == {"cache": 35 + 1.25 * 8, "none": 120 + 8}
    bill.ref_charge(fetched_tokens=1, request_tokens=2)
    assert bill.ref_dollars == {"cache": 45 + 3, "none": 128 + 3}
    assert bill.dollars == {"cache": 0, "none": 0}


def test_an_empty_request_costs_nothing_and_leaves_no_prefix():
    bill = new_bill()
    bill.charge([user("abcdef")], at=0.0)
    assert bill.charge([], at=1.0).tokens == 0
    assert bill.charge([user("abcdef")], at=2.0).common == 0


def test_the_bill_keeps_no_hold_on_a_list_that_the_policy_goes_on_changing():
    bill = new_bill()
    request = [user("abcdef")]
    bill.charge(request, at=None)
    request[0] = user("uvwxyz")
    assert bill.charge(request, at=None).common == 4


def test_equal_messages_are_not_encoded_again():
    class Counting(Letters):
        encoded = 0

        def ids(self, text: str) -> list[int]:
            self.encoded += 1
            return super().ids(text)

    tokenizer = Counting()
    bill = new_bill(tokenizer=tokenizer)
    request = []
    for number in range(50):
        request.append(user(f"message {number}"))
        bill.charge(list(request), at=None)
    assert tokenizer.encoded == 0


def test_an_estimate_of_tokens_shares_whole_tokens_of_characters():
    bill = new_bill(tokenizer=CharEstimate())
    bill.charge([user("abcdefghij"), user("x")], at=None)
    charged = bill.charge([user("abcdefgXij"), user("x")], at=None)
    assert charged.common == 1 + 7 // 4
    assert charged.tokens == 1 + 3 + 1 + 1
    assert charged.moved_bytes == 3 + 4 + 1


# Against the plain definition: encode everything, then compare.


WORDS = [
    "user",
    "assistant",
    " user",
    "a",
    " a",
    "ab",
    "\n",
    "\n\n",
    " ",
    "漢",
    "é",
    "🙂",
    "{}",
    '{"a":',
    "1",
    "<|im_end|>",
]
texts = st.lists(st.sampled_from(WORDS), max_size=5).map("".join)
calls = st.lists(st.builds(ScoredCall, texts, texts, st.sampled_from(["", "1", "2"])), max_size=2).map(tuple)
messages = st.builds(ScoredMessage, st.sampled_from(["user", "assistant", "tool"]), texts, calls)
histories = st.lists(messages, max_size=6)


@st.composite
def changed(draw, history):
    """The history with something cut, replaced or put in: requests mostly resemble the one before."""
    start = draw(st.integers(0, len(history)))
    end = draw(st.integers(start, len(history)))
    return [*history[:start], *draw(st.lists(messages, max_size=2)), *history[end:]]


@st.composite
def runs(draw):
    requests = [draw(histories)]
    for _ in range(draw(st.integers(1, 4))):
        requests.append(draw(st.one_of(changed(requests[-1]), histories)))
    return requests


def stream(request):
    return [token for said in request for text in said.texts for token in O200K.ids(text)]


def shared(one, other):
    return next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


@pytest.mark.slow
@given(runs())
def test_the_common_prefix_is_that_of_the_whole_token_streams(requests):
    trail = PrefixTracker(MessageCounter(O200K), O200K)
    steps = [trail.follow(request) for request in requests]
    assert [step.tokens for step in steps] == [len(stream(request)) for request in requests]
    for (before, after), step in zip(pairwise(requests), steps[1:], strict=True):
        assert step.common == shared(stream(before), stream(after))
        assert step.moved_tokens == len(stream(before)) - step.common
        assert 0 <= step.moved_bytes <= sum(len(t.encode()) for said in before for t in said.texts)
        if after[: len(before)] == before:
            assert step.moved_bytes == 0


@pytest.mark.slow
@settings(max_examples=40)
@given(runs())
def test_an_estimate_never_shares_more_than_there_is(requests):
    trail = PrefixTracker(MessageCounter(CharEstimate()), CharEstimate())
    steps = [trail.follow(request) for request in requests]
    for before, after in pairwise(steps):
        assert 0 <= after.common <= min(before.tokens, after.tokens)


def test_a_stream_has_no_seams_between_texts():
    trail = PrefixTracker(MessageCounter(O200K), O200K)
    trail.follow([ScoredMessage("user", ""), ScoredMessage("assistant", "x")])
    assert trail.follow([ScoredMessage("user", "assistant")]).common == 2


@pytest.mark.slow
@settings(max_examples=50)
@given(runs(), st.lists(st.none() | st.floats(0, 1000), min_size=5, max_size=5))
def test_a_cache_saves_and_never_costs_more_than_its_writes(requests, times):
    bill = new_bill(CACHE, NONE, tokenizer=O200K)
    for request, at in zip(requests, times, strict=False):
        charged = bill.charge(request, at)
        assert 0 <= charged.cached["cache"] <= charged.common <= charged.tokens
    total = bill.dollars["none"]
    assert 0.1 * total - 1e-9 <= bill.dollars["cache"] <= 1.25 * total + 1e-9
    assert bill.uncached["cache"] <= bill.uncached["none"] == total
