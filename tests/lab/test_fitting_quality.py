"""Figures of quality against their plain definitions, pair by pair and row by row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.lab.fit.examples import ExampleRows
from holdfast.lab.fit.regression import TENTH, area, held_by_best, judge_ranking
from holdfast.packing.lines.scoring import FIXED_TOKENS, LENGTH_POWER

row = st.tuples(
    st.sampled_from([0.0, 0.0, 0.25, 1.0]),
    st.sampled_from([1.0, 5.0]),
    st.integers(1, 60),
    st.integers(0, 2),
    st.integers(-4, 4),
)
recordings = st.lists(st.lists(row, min_size=1, max_size=12), min_size=1, max_size=3)


def block(rows) -> ExampleRows:
    uses, counts, sizes, folds, values = zip(*rows, strict=True)
    features = np.column_stack([np.ones(len(rows)), np.array(values)]).astype(np.float32)
    columns = (np.array(column, np.float32) for column in (uses, counts, sizes))
    return ExampleRows(features, *columns, np.array(folds, np.int32))


def scores(blocks) -> list:
    return [one.values[:, 1].astype(np.float64) for one in blocks]


def by_pairs(made) -> float | None:
    rows = [row for rows in made for row in rows]
    used = [row for row in rows if row[0]]
    unused = [row for row in rows if not row[0]]
    if not used or not unused:
        return None
    won = sum(u[1] * n[1] * (1 if u[4] > n[4] else 0.5 if u[4] == n[4] else 0) for u in used for n in unused)
    return won / sum(u[1] * n[1] for u in used for n in unused)


@pytest.mark.slow
@given(recordings)
def test_the_area_is_the_share_of_pairs_in_the_right_order(made):
    blocks = [block(rows) for rows in made]
    expected = by_pairs(made)
    found = area(blocks, scores(blocks))
    assert found == (None if expected is None else pytest.approx(expected, abs=1e-6))


def row_by_row(made) -> float | None:
    held = total = 0.0
    for rows in made:
        for fold in {row[3] for row in rows}:
            inside = [row for row in rows if row[3] == fold]
            inside.sort(key=lambda r: -(r[4] - LENGTH_POWER * np.log(np.float32(r[2] + FIXED_TOKENS))))
            room = TENTH * sum(r[1] * r[2] for r in inside)
            taken = 0.0
            for uses, counts, size, *_ in inside:
                taken += counts * size
                held += uses * counts * (taken <= room)
                total += uses * counts
    return held / total if total else None


@given(recordings)
def test_the_best_tenth_is_filled_fold_by_fold(made):
    blocks = [block(rows) for rows in made]
    expected = row_by_row(made)
    found = held_by_best(blocks, scores(blocks))
    assert found == (None if expected is None else pytest.approx(expected))


def test_the_best_tenth_holds_what_is_best_a_token():
    rows = [(1.0, 1.0, 5, 0, 2), (1.0, 1.0, 50, 0, 2), *[(0.0, 1.0, 5, 0, 0)] * 30]
    assert held_by_best([block(rows)], scores([block(rows)])) == 0.5


def test_both_kinds_of_weights_are_judged_on_the_same_rows():
    rows = [(1.0, 1.0, 2, 0, 1), *[(0.0, 5.0, 9, 0, -1)] * 9]
    good, bad = {"value": 1.0}, {"value": -1.0}
    found = judge_ranking("held", [block(rows), block(rows)], ("always", "value"), good, bad)
    assert (found.held_out, found.examples, found.used) == ("held", 20, 2)
    assert (found.curve, found.hand_curve, found.best, found.hand_best) == (1, 0, 1, 0)


def test_without_weights_or_rows_there_are_no_figures():
    rows = [(1.0, 1.0, 2, 0, 1), (0.0, 1.0, 2, 0, 1)]
    found = judge_ranking("held", [block(rows)], ("always", "value"), None, {})
    assert (found.curve, found.best, found.hand_curve) == (None, None, 0.5)
    empty = judge_ranking("held", [], ("always", "value"), {}, {})
    assert (empty.examples, empty.curve, empty.best) == (0, None, None)
