"""What a request costs: cached tokens at their own price, long prompts at another, unknown prices as unknown."""

import pytest

from holdfast.messages import Usage
from holdfast.models.catalogue import LongPromptPrice, ModelEntry, Price, load_catalogue, request_cost

PRICE = Price(input=2.0, output=10.0, cache_read=0.2, cache_write=2.5)


def test_every_kind_of_token_has_its_price():
    usage = Usage(1_000_000, 100_000, cache_read=600_000, cache_write=300_000)
    assert request_cost(ModelEntry(price=PRICE), usage) == pytest.approx(
        0.1 * 2 + 0.6 * 0.2 + 0.3 * 2.5 + 0.1 * 10
    )


def test_without_a_price_for_the_cache_it_is_billed_as_input():
    price = Price(input=2.0, output=10.0)
    assert request_cost(ModelEntry(price=price), Usage(1_000_000, cache_read=900_000)) == pytest.approx(2.0)


def test_a_long_prompt_is_billed_whole_at_the_higher_price():
    entry = ModelEntry(price=PRICE, beyond=LongPromptPrice(input=4.0, output=20.0, tokens=200_000))
    assert request_cost(entry, Usage(200_000)) == pytest.approx(0.4)
    assert request_cost(entry, Usage(300_000, 100_000)) == pytest.approx(1.2 + 2.0)


def test_searches_are_billed_and_without_their_price_the_request_has_none():
    usage = Usage(1_000_000, searches=3)
    assert request_cost(ModelEntry(price=PRICE, search_price=10.0), usage) == pytest.approx(2.03)
    assert request_cost(ModelEntry(price=PRICE), usage) is None
    for name in ("anthropic/claude-opus-5-5", "openai/gpt-6-luna"):
        entry = load_catalogue().models[name]
        assert entry.search
        assert request_cost(entry, usage) > request_cost(entry, Usage(1_000_000))


def test_an_unknown_price_is_not_nothing():
    assert request_cost(ModelEntry(), Usage(1_000)) is None


def test_every_priced_model_of_the_catalogue_can_be_billed():
    priced = [entry for entry in load_catalogue().models.values() if entry.price]
    assert priced
    assert all((request_cost(entry, Usage(1_000, 100, 500, 100)) or 0) > 0 for entry in priced)
