"""The money of a session: sums by hand, and the same dollars wherever they are shown."""

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from holdfast.errors import NotFound
from holdfast.events import (
    AssistantReplied,
    Folded,
    FoldedRun,
    FoldNote,
    LogStarted,
    Rewound,
    SystemSet,
    UsageReported,
)
from holdfast.gateway.accounting import measure_session
from holdfast.messages import Text, Usage
from holdfast.models.catalogue import ModelEntry, Price, request_cost
from holdfast.packing.profile import CODE
from holdfast.store import MemoryStore
from holdfast.viewer.answers import timeline_of
from holdfast.viewer.history import RequestHistory, elsewhere_in
from holdfast.viewer.library import SessionLibrary
from holdfast.viewer.money import KINDS, bill_requests, fixed_prices, measure_history, money_of
from holdfast.views import path
from support.logs import AgentWork, chained, result, step, user
from support.packing_runs import counter
from viewer.session_samples import keep, long_work
from viewer.test_history import BASES, LOOKUP, SEEDS

MODEL = "house/large"
PRICES = {
    MODEL: ModelEntry(
        name=MODEL,
        price=Price(input=4.0, output=20.0, cache_read=0.4, cache_write=5.0),
        cache_seconds=300,
        cache_minimum=100,
    ),
    "house/plain": ModelEntry(name="house/plain", price=Price(input=1.0, output=2.0)),
    "house/free": ModelEntry(name="house/free", price=Price(input=0.0, output=0.0)),
}


def history(entries, basis="list", lookup=PRICES.get):
    return RequestHistory(basis, CODE, counter(), lookup, entries)


def money(events, basis="list", lookup=PRICES.get, prices=None):
    entries = chained(events)
    made = history(entries, basis, lookup)
    made.elsewhere += elsewhere_in(entries, path(entries))
    return money_of(made, prices or lookup)


def reply(usage=None, model=MODEL, text="ok"):
    return AssistantReplied((Text(text),), model, usage)


WORK = [
    LogStarted(origin="import"),
    user("go"),
    reply(Usage(1_000_000, 100_000, 0, 1_000_000)),
    UsageReported(Usage(500_000, 10_000), MODEL, "summary"),
    UsageReported(Usage(200_000, 10_000), MODEL, "task l0"),
    user("on"),
    reply(Usage(2_000_000, 50_000, 1_000_000, 600_000)),
]


def test_every_kind_has_its_tokens_and_its_dollars():
    found = money(WORK)
    assert found["tokens"] == {
        "reads": [0, 1_000_000],
        "writes": [1_000_000, 600_000],
        "plain": [0, 400_000],
        "output": [100_000, 50_000],
        "summaries": [0, 510_000],
        "rewritten": [0, 0],
    }
    assert found["dollars"]["reads"] == [0, pytest.approx(0.4)]
    assert found["dollars"]["writes"] == [5.0, pytest.approx(3.0)]
    assert found["dollars"]["plain"] == [0, pytest.approx(1.6)]
    assert found["dollars"]["output"] == [2.0, pytest.approx(1.0)]
    assert found["dollars"]["summaries"] == [None, pytest.approx(2.2)]
    assert found["totals"]["all"] == pytest.approx(7 + 6 + 2.2)
    assert found["totals"]["session"] == pytest.approx(15.2 + 1.0), "with the sub-agent's"
    assert (found["others"]["requests"], found["others"]["dollars"]) == (1, pytest.approx(1.0))
    assert found["reported"] == {"requests": 2, "dollars": pytest.approx(13.0)}
    assert found["estimated"] == {"requests": 0, "dollars": None}


def test_prices_of_another_model_are_for_the_same_tokens():
    found = money(WORK, prices=fixed_prices("house/plain", PRICES.get))
    assert found["tokens"] == money(WORK)["tokens"]
    assert found["totals"]["all"] == pytest.approx(3.0 + 0.3 + 0.5 + 0.02)
    with pytest.raises(NotFound, match="no model `house/none` with a price"):
        fixed_prices("house/none", PRICES.get)


def test_a_model_without_a_price_has_no_dollars_and_a_free_one_none_to_pay():
    unknown = money([LogStarted(origin="import"), user("go"), reply(Usage(1_000), "mystery")])
    assert (unknown["unpriced"], unknown["totals"]["all"], unknown["totals"]["session"]) == (1, None, None)
    assert unknown["tokens"]["plain"] == [1_000]
    free = money([LogStarted(origin="import"), user("go"), reply(None, "house/free")])
    assert (free["unpriced"], free["totals"]["all"]) == (0, 0)
    assert money([LogStarted(origin="import")])["totals"]["all"] is None


def test_an_estimate_is_told_apart_from_what_was_reported():
    long = SystemSet("word " * 400)
    found = money([LogStarted(origin="import"), long, user("go"), reply(), user("on"), reply(Usage(900, 9))])
    assert found["is_reported"] == [0, 1]
    assert (found["reported"]["requests"], found["estimated"]["requests"]) == (1, 1)
    assert found["tokens"]["writes"][0] > 400, "the first request writes all of it"
    assert found["tokens"]["plain"] == [0, 900]


def test_usage_of_a_summary_is_not_taken_for_that_of_the_reply_before_it():
    summary = UsageReported(Usage(500_000, 10_000), MODEL, "a summary")
    found = money([LogStarted(origin="import"), user("go"), reply(), summary])
    assert found["is_reported"] == [0]
    assert found["tokens"]["summaries"] == [510_000], "at the last request, since none came after it"


def test_a_beginning_below_the_minimum_of_the_cache_is_not_read_from_it():
    first = [LogStarted(origin="import"), user("go"), reply()]
    second = [user("word " * 300), reply(), user("on"), reply()]
    reads = money([*first, *second])["tokens"]["reads"]
    assert reads[:2] == [0, 0], "few tokens in common"
    assert reads[2] > 300


def folded_work(gap=1.0):
    """Two results of 400 lines; a fold makes a note of the first, so that the second has another place."""
    events = [
        LogStarted(origin="live"),
        SystemSet("word " * 300),
        user("look"),
        step("looking", ("c1", "Read", {"file_path": "a.py"})),
        result("c1", "\n".join(f"line {number} of a.py" for number in range(400))),
        step("more", ("c2", "Read", {"file_path": "b.py"})),
        result("c2", "\n".join(f"line {number} of b.py" for number in range(400))),
        step("read both"),
    ]
    events = [replace(e, model=MODEL) if isinstance(e, AssistantReplied) else e for e in events]
    first = chained(events)[3].id
    note = FoldNote(first, first, "[note] a.py was read", "")
    fold = Folded("pressure", (FoldedRun(first, first, "gone"),), (note,))
    entries = chained([*events, fold, user("second"), replace(step("done"), model=MODEL)])
    return [replace(e, at=float(at) + gap * (at >= 8)) for at, e in enumerate(entries)]


def test_what_a_fold_moved_is_written_again():
    found = history(folded_work(), "pack")
    blocks = [placed.block for placed in found.window(4)]
    same = found.requests[3].same_blocks
    assert [block.kind for block in blocks[same:]] == ["note", "assistant", "result", "assistant", "user"]
    moved = blocks[same : same + 3]
    """The reply to the request before, and what the user said then, are new."""
    *_, last = bill_requests(measure_history(found), PRICES.get)
    assert last.rewritten == sum(block.tokens for block in moved)
    assert last.usage.cache_write == sum(block.tokens for block in blocks[same:])
    assert last.rewritten_dollars == pytest.approx(last.rewritten * 5.0 / 1_000_000)
    before = bill_requests(measure_history(found), PRICES.get)[:-1]
    assert [bill.rewritten for bill in before] == [0, 0, 0]


def test_a_fold_costs_nothing_where_the_cache_was_gone_or_never_there():
    cold = history(folded_work(gap=10_000), "pack")
    assert bill_requests(measure_history(cold), PRICES.get)[-1].rewritten == 0
    warm = measure_history(history(folded_work(), "pack"))
    assert bill_requests(warm, fixed_prices("house/plain", PRICES.get))[-1].rewritten == 0


def test_rewritten_tokens_are_counted_as_the_provider_counts():
    found = history(folded_work(), "pack")
    measured = measure_history(found)
    again = measured.again[-1]
    assert again > 1_000
    last = found.requests[-1]
    usage = Usage(last.tokens * 3, 10, last.common * 3, 0)
    reported = [*found.requests[:-1], replace(last, usage=usage, is_reported=True)]
    bill = bill_requests(replace(measured, requests=reported), PRICES.get)[-1]
    assert bill.rewritten == again * 3
    assert bill.rewritten_dollars == pytest.approx(again * 3 * 4.0 / 1_000_000), "as plain input"
    lost = replace(last, usage=Usage(last.tokens, 0, last.tokens - 5), is_reported=True)
    measured = replace(measured, requests=[*found.requests[:-1], lost])
    assert bill_requests(measured, PRICES.get)[-1].rewritten == 5, "never more than was not read"


@settings(max_examples=40, deadline=None)
@given(SEEDS, BASES)
def test_the_dollars_are_those_of_the_timeline(seed, basis):
    events = [
        replace(event, model="claude-opus-4-5") if isinstance(event, AssistantReplied) else event
        for event in AgentWork(seed, steps=12).events
    ]
    entries = chained(events)
    found = RequestHistory(basis, CODE.scaled_to(4_000), counter(), LOOKUP, entries)
    answer = money_of(found, LOOKUP)
    timeline = timeline_of(found)["dollars"]
    for number, dollars in enumerate(timeline):
        parts = [answer["dollars"][kind][number] for kind in KINDS if kind != "summaries"]
        assert sum(parts) == pytest.approx(dollars, abs=1e-8)
        written = answer["dollars"]["writes"][number] + answer["dollars"]["plain"][number]
        assert 0 <= answer["dollars"]["rewritten"][number] <= written + 1e-8
    own = {kind: total for kind, total in answer["totals"]["dollars"].items() if kind in KINDS}
    assert sum(total or 0 for total in own.values()) == pytest.approx(answer["totals"]["all"])
    assert sum(timeline) == pytest.approx(answer["totals"]["all"] - (own["summaries"] or 0))


def test_the_total_is_that_of_the_list_of_sessions_and_of_gateway_stats():
    """With a branch that was left, whose requests were paid for all the same."""
    started, *work = long_work(12, 2)
    started = replace(started, source="gateway", origin="live", meta={"gateway": {"mode": "watch"}})
    entries = chained([started, *work, Rewound()])
    left = [entry for entry in entries if isinstance(entry.event, AssistantReplied)][8]
    entries[-1] = replace(entries[-1], parent=left.parent)
    on_path = path(entries)
    made = history(on_path, lookup=LOOKUP)
    made.elsewhere += elsewhere_in(entries, on_path)
    found = money_of(made, LOOKUP)
    assert found["elsewhere"]["requests"] == 4
    stats = measure_session(entries, LOOKUP)
    assert stats.sums.requests == 12
    assert found["totals"]["session"] == pytest.approx(stats.sums.dollars)
    assert found["totals"]["all"] < stats.sums.dollars


def test_the_library_gives_the_money_of_a_session():
    store = MemoryStore()
    id_ = keep(store, "sample", long_work())
    library = SessionLibrary([store], LOOKUP, lambda *_: CODE)
    assert library.money(id_)["totals"]["session"] == pytest.approx(library.figures(id_).dollars)
    usages = [e.event.usage for e in library._log(id_).entries() if isinstance(e.event, AssistantReplied)]
    other = sum(request_cost(LOOKUP("claude-haiku-4-5"), usage) for usage in usages)
    assert library.money(id_, "claude-haiku-4-5")["totals"]["session"] == pytest.approx(other)
    assert library.money(id_, shown="preview")["reported"]["requests"] == 0
