"""What a log cost, as a view over its entries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.agents.spending import ModelSpending, measure_spending
from holdfast.events import AssistantReplied, Folded, LogStarted, UsageReported, UserSaid
from holdfast.messages import Text, Usage
from holdfast.models.catalogue import ModelEntry, Price, load_catalogue, model_lookup, request_cost
from support.logs import chained

LARGE = ModelEntry(name="house/large", price=Price(input=2.0, output=10.0, cache_read=0.2, cache_write=2.5))
SMALL = ModelEntry(name="house/small", price=Price(input=1.0, output=4.0))
LOOKUP = model_lookup(load_catalogue(), [("house/large", LARGE), ("house/small", SMALL)])


def replied(model, *usage):
    return AssistantReplied((Text("Yes."),), model, Usage(*usage) if usage else None)


def spent(*events, **meta):
    return measure_spending(chained([LogStarted(meta=meta), *events]), LOOKUP)


def test_replies_and_summaries_of_one_model_are_added_up():
    found = spent(
        UserSaid((Text("Hi."),)),
        replied("large", 1_000_000, 0),
        UsageReported(Usage(500_000, 100_000), "house/large", "summary"),
        replied("small", 1_000_000, 0),
    )
    assert [(one.model, one.requests, round(one.dollars, 6)) for one in found.models] == [
        ("house/large", 2, 4.0),
        ("house/small", 1, 1.0),
    ]
    assert found.total.usage == Usage(2_500_000, 100_000)
    assert round(found.total.dollars, 6) == 5.0


def test_what_is_not_known_is_counted_as_such():
    found = spent(replied("large"), replied("nobody/knows", 1_000, 10), replied("", 1_000))
    assert [(one.model, one.unreported, one.unpriced, one.is_priced) for one in found.models] == [
        ("house/large", 1, 0, False),
        ("nobody/knows", 0, 1, False),
        ("unknown", 0, 1, False),
    ]
    assert found.total.dollars == 0.0


def test_a_model_is_found_by_the_names_that_providers_answer_with():
    catalogue = load_catalogue()
    known = next(entry for entry in catalogue.models.values() if entry.price)
    lookup = model_lookup(catalogue)
    for name in (known.name, known.model, f"{known.model}-20260315", f"{known.model}-2026-03-15"):
        assert lookup(name) is not None, name
        assert lookup(name).price == known.price
    assert lookup(f"{known.model}-tiny") is None, "a longer name may be another model"
    assert lookup("") is None


def test_what_a_fork_brought_along_was_paid_elsewhere():
    events = (UserSaid((Text("Hi."),)), replied("large", 1_000_000), replied("large", 500_000))
    assert spent(*events, copied=2).total.usage.prompt == 500_000
    assert spent(*events).total.usage.prompt == 1_500_000
    assert spent(*events, copied="x").total.requests == 2


def test_folds_are_counted_by_what_they_took_off_view():
    found = spent(
        Folded("pressure", tokens_before=100, tokens_after=40),
        Folded("manual", tokens_before=10, tokens_after=12),
    )
    assert (found.folds, found.folded) == (2, 60)


USAGES = st.builds(
    lambda plain, read, write, out: Usage(plain + read + write, out, read, write),
    *[st.integers(0, 10**6)] * 4,
)


@pytest.mark.slow
@given(st.lists(USAGES))
def test_the_sum_is_the_sum_of_the_bills(usages):
    found = spent(*(replied("large", u.prompt, u.completion, u.cache_read, u.cache_write) for u in usages))
    total = found.total
    assert abs(total.dollars - sum(request_cost(LARGE, usage) for usage in usages)) < 1e-9 * max(
        1.0, total.dollars
    )
    assert total.usage.prompt == sum(usage.prompt for usage in usages)
    nothing_cached = sum(request_cost(LARGE, Usage(usage.prompt, usage.completion)) for usage in usages)
    assert abs(total.uncached - nothing_cached) < 1e-9 * max(1.0, nothing_cached)
    assert total.requests == len(usages)


def test_nothing_asked_is_nothing_spent():
    assert spent().models == ()
    assert spent().total == ModelSpending("total")
