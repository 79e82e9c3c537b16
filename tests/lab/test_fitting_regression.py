"""Weights from rows: what made the numbers is found again, and nothing is made of nothing."""

import numpy as np
import pytest

from holdfast.lab.fit.examples import ExampleRows
from holdfast.lab.fit.regression import LARGEST_LABEL, fit_weights, regress

FEATURES = ("always", "yes", "amount", "never")
TRUE = {"always": -2.0, "yes": 1.2, "amount": -0.5, "never": 0.0}


def made(count=60_000, seed=1) -> ExampleRows:
    """Rows whose uses are drawn with known weights; `never` is the same everywhere."""
    chance = np.random.default_rng(seed)
    yes = chance.integers(0, 2, count)
    amount = np.log1p(chance.integers(0, 50, count))
    values = np.column_stack([np.ones(count), yes, amount, np.zeros(count)]).astype(np.float32)
    uses = chance.poisson(np.exp(values @ np.array(list(TRUE.values())))).astype(np.float32)
    ones = np.ones(count, np.float32)
    return ExampleRows(values, uses, ones, ones, np.zeros(count, np.int32))


def taken(rows: ExampleRows, where) -> ExampleRows:
    return ExampleRows(
        rows.values[where], rows.uses[where], rows.counts[where], rows.sizes[where], rows.folds[where]
    )


def test_known_weights_are_found_again():
    found = regress([made()], FEATURES)
    assert list(found) == list(FEATURES)
    for feature, weight in TRUE.items():
        assert found[feature] == pytest.approx(weight, abs=0.1), feature
    assert found["never"] == 0


def test_how_rows_are_divided_into_recordings_does_not_matter():
    rows = made(8_000)
    parts = [taken(rows, slice(0, 3_000)), taken(rows, slice(3_000, 3_000)), taken(rows, slice(3_000, None))]
    assert regress(parts, FEATURES) == regress([rows], FEATURES)


def test_a_row_that_stands_for_five_counts_as_five():
    rows = made()
    chosen = (rows.uses > 0) | (np.arange(len(rows)) % 5 == 0)
    counts = np.where(rows.uses > 0, 1, 5).astype(np.float32)
    sampled = taken(ExampleRows(rows.values, rows.uses, counts, rows.sizes, rows.folds), chosen)
    found, whole = regress([sampled], FEATURES), regress([rows], FEATURES)
    assert found["always"] == pytest.approx(whole["always"], abs=0.1)
    unweighted = regress([taken(rows, chosen)], FEATURES)
    assert unweighted["always"] > whole["always"] + 0.5


def test_what_everything_uses_does_not_rule_the_rest():
    rows = made(8_000)
    often = np.where(rows.uses > 0, rows.uses + 100, 0).astype(np.float32)
    capped = np.where(rows.uses > 0, LARGEST_LABEL, 0).astype(np.float32)
    one, other = (
        ExampleRows(rows.values, uses, rows.counts, rows.sizes, rows.folds) for uses in (often, capped)
    )
    assert regress([one], FEATURES) == regress([other], FEATURES)


@pytest.mark.parametrize("blocks", [[], [0], [0, 5]], ids=["no block", "no rows", "nothing used"])
def test_nothing_is_learned_from_nothing(blocks):
    rows = made(10)
    unused = ExampleRows(rows.values, rows.uses * 0, rows.counts, rows.sizes, rows.folds)
    assert regress([taken(unused, slice(0, count)) for count in blocks], FEATURES) == {}


def test_no_examples_no_weights():
    assert fit_weights([]) is None
