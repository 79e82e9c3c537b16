"""What was saved is counted once, and what it would have cost unchanged is estimated near the truth."""

import pytest

from gateway.caching_provider import MODEL, caching_provider, run_agent
from gateway.gateway_server import LOOKUP, gateway_before
from holdfast.events import AssistantReplied, Entry, LogStarted, Noted
from holdfast.gateway.accounting import (
    RequestAccount,
    SessionAccount,
    TrafficSums,
    add_up,
    compare_arms,
    measure_requests,
    measure_session,
    read_requests,
)
from holdfast.gateway.conversations import GATEWAY, MODE, REQUEST
from holdfast.log import Log
from holdfast.messages import Text, Usage
from holdfast.models.catalogue import request_cost
from holdfast.store import MemoryStore

OPUS = LOOKUP(MODEL)
assert OPUS is not None
assert OPUS.price is not None


def ran(tmp_path, *, agent: dict[str, int] | None = None, **settings) -> tuple[SessionAccount, list[Usage]]:
    """The account of a session, and what the provider reported for it."""
    store = MemoryStore()
    with (
        caching_provider() as (url, cache),
        gateway_before(url, store, files=tmp_path / str(settings), **settings) as gateway,
    ):
        run_agent(gateway, 24, **(agent or {}))
    (log,) = [info.head.id for info in store.logs() if info.head.source == GATEWAY]
    account = measure_session(Log.open(store, log).entries(), LOOKUP)
    assert account is not None
    return account, cache.usages


def paid(usages: list[Usage]) -> float:
    return sum(request_cost(OPUS, usage) or 0 for usage in usages)


def test_in_watch_the_dollars_before_are_those_paid(tmp_path) -> None:
    account, usages = ran(tmp_path)
    sums = account.sums
    assert (account.client, account.models, account.mode) == ("my-agent/1.2", (MODEL,), "watch")
    assert sums.requests == 24
    assert sums.usage.prompt == sum(usage.prompt for usage in usages)
    assert sums.usage.cache_read == sum(usage.cache_read for usage in usages) > 0
    assert sums.dollars == pytest.approx(paid(usages)) == pytest.approx(sums.dollars_before)
    assert (sums.removed, sums.not_sent, sums.unpriced, sums.unreported) == (0, 0, 0, 0)


@pytest.mark.slow
def test_in_safe_the_estimate_is_what_the_same_session_costs_unchanged(tmp_path) -> None:
    account, usages = ran(tmp_path, mode="safe")
    _, unchanged = ran(tmp_path)
    sums = account.sums
    assert sums.dollars == pytest.approx(paid(usages))
    assert sums.dollars_before == pytest.approx(paid(unchanged), rel=0.01)
    assert sums.dollars < sums.dollars_before / 2
    # Each token once: five large results were sent, and the last prompt lacks just what was removed.
    assert sums.removed == pytest.approx(unchanged[-1].prompt - usages[-1].prompt, rel=0.01)
    assert sums.not_sent > 5 * sums.removed


@pytest.mark.slow
def test_a_fold_that_breaks_the_cache_counts_against_us(tmp_path) -> None:
    agent = {"large_every": 1, "lines": 60}
    account, usages = ran(tmp_path, agent=agent, mode="fold", budget=16_000)
    _, unchanged = ran(tmp_path, agent=agent)
    sums = account.sums
    assert sums.folds > 0
    assert sums.dollars == pytest.approx(paid(usages))
    assert sums.dollars_before == pytest.approx(paid(unchanged), rel=0.05)


def one(**fields) -> RequestAccount:
    return RequestAccount(model=MODEL, **fields)


def cost(*requests: RequestAccount) -> TrafficSums:
    return add_up(sums for _, sums in measure_requests(requests, LOOKUP))


def dollars(read: int = 0, write: int = 0, plain: int = 0, output: int = 0) -> float:
    price = OPUS.price
    whole = read * price.read + write * price.write + plain * price.input + output * price.output
    return whole / 1_000_000


def test_what_is_removed_now_would_have_been_written_and_later_read() -> None:
    first = one(usage=Usage(1_000, 10, 0, 1_000), removed=5_000, removed_now=5_000)
    second = one(usage=Usage(1_500, 10, 1_000, 500), removed=5_000)
    assert cost(first).dollars_before == pytest.approx(dollars(write=6_000, output=10))
    both = cost(first, second).dollars_before - cost(first).dollars_before
    assert both == pytest.approx(dollars(read=6_000, write=500, output=10))


def test_a_cache_that_was_lost_would_have_been_lost_unchanged_too() -> None:
    first = one(usage=Usage(1_000, 0, 0, 1_000))
    lost = one(usage=Usage(1_000, 0, 0, 1_000), removed=2_000)
    half = one(usage=Usage(1_000, 0, 500, 500), removed=2_000)
    assert cost(first, lost).dollars_before == pytest.approx(dollars(write=4_000))
    assert cost(first, half).dollars_before == pytest.approx(dollars(read=1_500, write=2_500))


def test_without_a_cache_in_use_nothing_would_have_been_written() -> None:
    request = one(usage=Usage(1_000, 0), removed=2_000, removed_now=2_000)
    assert cost(request).dollars_before == pytest.approx(dollars(plain=3_000))


@pytest.mark.parametrize("ours", [{"is_folded": True}, {"retry": "whole"}])
def test_where_we_broke_the_cache_it_would_have_been_read_unless_it_was_cold(ours) -> None:
    first = one(at=1.0, usage=Usage(1_000, 0, 0, 1_000))
    second = one(at=2.0, usage=Usage(1_100, 0, 1_000, 100))
    broken = one(at=3.0, usage=Usage(700, 0, 0, 700), removed=500, removed_now=500, **ours)
    cold = one(at=99_999.0, usage=Usage(700, 0, 0, 700), removed=500, removed_now=500, **ours)
    so_far = cost(first, second).dollars_before
    assert cost(first, second, broken).dollars_before - so_far == pytest.approx(
        dollars(read=1_100, write=100)
    )
    assert cost(first, second, cold).dollars_before - so_far == pytest.approx(dollars(write=1_200))


def test_an_extra_turn_would_not_have_been_made() -> None:
    first = one(usage=Usage(1_000, 10, 0, 1_000), removed=300, removed_now=300)
    extra = one(usage=Usage(1_200, 10, 1_000, 200), removed=300, extra_turn=True, retrievals=1)
    found = cost(first, extra)
    assert found.dollars_before - cost(first).dollars_before == pytest.approx(dollars(write=200))
    assert found.dollars > cost(first).dollars + dollars(write=200)
    assert (found.extra_turns, found.retrievals) == (1, 1)


def test_what_has_no_price_or_usage_is_counted_and_not_free() -> None:
    unknown = RequestAccount(model="nobody/knows", usage=Usage(1_000, 10))
    found = cost(unknown, one(), one(status=529), one(usage=Usage(1_000)))
    assert (found.requests, found.unpriced, found.unreported, found.priced) == (4, 1, 1, 2)
    assert found.dollars == pytest.approx(dollars(plain=1_000))


def entries_of(*events, **meta) -> list[Entry]:
    started = LogStarted(source=GATEWAY, meta={GATEWAY: meta})
    return [Entry(f"e{n}", "l1", n, None, event, at=float(n)) for n, event in enumerate((started, *events))]


def replied(prompt: int | None) -> AssistantReplied:
    return AssistantReplied((Text("Yes."),), MODEL, None if prompt is None else Usage(prompt))


def test_replies_of_the_client_and_remarks_without_a_reply_are_no_usage() -> None:
    entries = entries_of(
        replied(None),
        replied(100),
        Noted(REQUEST, "safe", {"status": 200, "removed": 7, "removed_now": 9, "model": MODEL}),
        Noted(REQUEST, "safe", {"status": 400}),
        replied(200),
        replied(300),
        Noted(REQUEST, "safe", {"status": 200, "retrievals": "many", "extra_turn": 1}),
        replied(400),
    )
    found = [(r.usage.prompt if r.usage else None, r.status, r.removed_now) for r in read_requests(entries)]
    assert found == [(100, 200, 7), (None, 400, 0), (200, 200, 0), (300, 200, 0), (400, 200, 0)]


def test_a_session_that_was_switched_off_says_why_and_keeps_its_arm() -> None:
    off = Noted(MODE, "watch", {"settled": True, "why": "the provider took a request only as it came"})
    entries = entries_of(off, mode="safe", client="c/1", control=False)
    account = measure_session(entries, LOOKUP)
    assert account is not None
    assert (account.mode, account.switched_off) == ("safe", off.data["why"])
    assert account.is_drawn
    again = measure_session(entries_of(off, Noted(MODE, "fold", {}), mode="safe"), LOOKUP)
    assert again is not None
    assert (again.mode, again.switched_off) == ("fold", "")


def test_a_log_of_another_source_has_no_account() -> None:
    assert measure_session([Entry("e", "l1", 0, None, LogStarted())], LOOKUP) is None
    assert measure_session([], LOOKUP) is None


def test_arms_hold_only_sessions_that_chance_drew() -> None:
    def session(**meta) -> SessionAccount:
        found = measure_session(entries_of(replied(1_000), **meta), LOOKUP)
        assert found is not None
        return found

    changed, continued = session(mode="safe"), session(mode="safe", continued=True)
    control, watched = session(mode="watch", control=True), session(mode="watch")
    assert compare_arms([changed, continued, watched]) is None
    arms = compare_arms([changed, continued, control, watched])
    assert arms is not None
    assert (arms.control.sessions, arms.changed.sessions) == (1, 1)
    assert arms.changed.dollars_per_session == pytest.approx(dollars(plain=1_000))
    assert not arms.are_enough
    many = compare_arms([changed, control] * 10)
    assert many is not None
    assert many.are_enough


@pytest.mark.parametrize(
    ("sums", "is_known"),
    [
        (TrafficSums(), False),
        (TrafficSums(requests=2, failed=2), True),
        (TrafficSums(requests=2, unpriced=1), True),
        (TrafficSums(requests=4, failed=1, unpriced=3), False),
        (TrafficSums(requests=4, failed=1, unpriced=1, unreported=1), True),
    ],
)
def test_a_failure_beside_answers_without_a_price_does_not_make_them_free(sums, is_known) -> None:
    assert sums.has_known_cost is is_known
