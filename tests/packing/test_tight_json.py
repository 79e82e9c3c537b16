"""Tight JSON is the whole document: shorter, on one line, and had back from it to the letter."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.messages import Json
from holdfast.packing.counting.tokens import compact_json
from holdfast.packing.lines.weights import built_in_vectors
from holdfast.packing.rendering.first_sight import reduce_new_result
from holdfast.packing.rendering.shorter_json import DEEPEST_TIGHT, tight_json, written_tight
from holdfast.tool_use import ToolUse
from support.json_tables import has_own_table, loosened
from support.packing_runs import counter


def orders(count: int = 40) -> list[Json]:
    return [
        {
            "id": 1000 + n,
            "customer": {"name": f"customer {n}", "city": "Bonn"},
            "paid": n % 3 > 0,
            "tags": [n],
        }
        for n in range(count)
    ]


def undone(text: str) -> str:
    """What a tight document was, keys in their order."""
    return compact_json(loosened(json.loads(text)))


def test_the_keys_of_a_table_are_written_once():
    assert tight_json(json.dumps({"orders": orders(3)})) == (
        '{"orders":{"columns":["id","customer.name","customer.city","paid","tags"],"rows":'
        '[[1000,"customer 0","Bonn",false,[0]],[1001,"customer 1","Bonn",true,[1]],'
        '[1002,"customer 2","Bonn",true,[2]]]}}'
    )


def test_a_table_within_a_table_is_one_too():
    shops = [{"shop": f"shop {n}", "orders": orders(5)} for n in range(4)]
    tight = tight_json(json.dumps(shops))
    assert tight is not None
    assert tight.count('"customer.name"') == 4
    assert undone(tight) == compact_json(shops)


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([{"id": 1}, {"id": 2}], id="too few"),
        pytest.param([{"id": 1, "name": "a"}] * 3 + [{"name": "b", "id": 2}], id="another order"),
        pytest.param([{"id": 1, "name": "a"}] * 3 + [{"id": 2}], id="a key missing"),
        pytest.param([{"id": 1, "name": "a"}] * 3 + [[1, "a"]], id="not all objects"),
        pytest.param([{"version.id": 1, "name": "a"}] * 4, id="a dot in a key"),
        pytest.param([{"user": {"name": "a"}}] * 3 + [{"user": {}}], id="an object that is empty"),
        pytest.param([{"user": {"name": "a"}}] * 3 + [{"user": "a"}], id="an object that is none"),
        pytest.param([{}] * 4, id="nothing in them"),
        pytest.param([[1, 2]] * 4, id="no objects"),
    ],
)
def test_rows_that_would_not_come_back_stay_as_they_are(rows):
    assert tight_json(json.dumps(rows)) == compact_json(rows)


def test_an_object_whose_keys_have_dots_is_a_cell():
    rows = [{"number": n, "labels": {"app.kind": "web"}} for n in range(5)]
    tight = tight_json(json.dumps(rows))
    assert tight is not None
    assert tight.startswith('{"columns":["number","labels"],"rows":[[0,{"app.kind":"web"}]')
    assert undone(tight) == compact_json(rows)


def test_a_table_that_would_be_longer_is_none():
    rows = [{"a rather long name of a setting": dict.fromkeys("abcdefghijklmno", 1)}] * 3
    assert tight_json(json.dumps(rows)) == compact_json(rows)


@pytest.mark.parametrize(
    "own",
    [
        pytest.param({"columns": ["a"], "rows": [[1], [2], [3]]}, id="a table"),
        pytest.param({"rows": 24, "columns": 80}, id="a screen"),
        pytest.param({"answer": [{"columns": [], "rows": []}]}, id="within"),
    ],
)
def test_a_document_that_has_such_tables_of_its_own_is_refused(own):
    assert tight_json(json.dumps({"own": own, "orders": orders()})) is None
    assert written_tight(own) == compact_json(own)


def test_columns_and_rows_beside_other_keys_are_keys_like_any():
    document = {"columns": 2, "rows": orders(4), "more": False}
    tight = tight_json(json.dumps(document))
    assert tight is not None
    assert undone(tight) == compact_json(document)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"id": 1, "id": 2}', id="a key twice"),
        pytest.param('[{"a": {"id": 1, "\\u0069d": 2}}]', id="a key twice, spelled otherwise"),
        pytest.param('{"share": 0.12345678901234567890123}', id="more digits than a float has"),
        pytest.param('{"share": 5e-400}', id="smaller than a float"),
        pytest.param('{"share": 1e-99999999999999999999}', id="smaller than any number"),
        pytest.param('{"share": 1e400}', id="larger than a float"),
        pytest.param('{"number": ' + "7" * 5000 + "}", id="longer than any number"),
        pytest.param('{"name": "\\ud800"}', id="half a letter"),
        pytest.param('{"name": "\ud800"}', id="half a letter as it is"),
        pytest.param('{"share": NaN}', id="no number"),
        pytest.param('{"a": 1} {"b": 2}', id="two documents"),
        pytest.param("[" * 100_000, id="no end"),
        pytest.param("[" * 2000 + "]" * 2000, id="deeper than a stack"),
        pytest.param("[" * (DEEPEST_TIGHT + 1) + "]" * (DEEPEST_TIGHT + 1), id="deeper than anybody reads"),
        pytest.param("7", id="a number"),
        pytest.param("", id="nothing"),
    ],
)
def test_what_cannot_be_had_back_is_refused(text):
    assert tight_json(text) is None


def test_numbers_of_any_length_come_back():
    rows = [{"number": 2**64 + n, "negative": -(10**40), "share": n / 7, "price": 12.5} for n in range(5)]
    tight = tight_json(json.dumps(rows).replace("12.5", "12.50"))
    assert tight is not None
    assert json.loads(undone(tight)) == rows


def test_what_is_nested_deep_but_not_too_deep_is_tight():
    deep: Json = orders(3)
    for _ in range(DEEPEST_TIGHT - 4):
        deep = {"inner": deep}
    tight = tight_json(json.dumps(deep))
    assert tight is not None
    assert undone(tight) == compact_json(deep)


def test_how_full_the_stack_is_changes_nothing():
    text = json.dumps({"orders": orders(4)})

    def far_down(left: int) -> str | None:
        return far_down(left - 1) if left else tight_json(text)

    assert far_down(400) == tight_json(text)


class Watched(list[Json]):
    """A list that knows how often it was gone through."""

    times = 0

    def __iter__(self):
        self.times += 1
        return super().__iter__()


def test_a_list_in_lists_that_are_no_tables_is_not_gone_through_again_for_each():
    inmost = Watched([1])
    rows: Json = inmost
    for n in range(8):
        rows = [{"a": rows}, {"a": n}, {"b": n}]
    assert written_tight(rows) == compact_json(rows)
    assert 0 < inmost.times < 5


@pytest.mark.slow
@pytest.mark.parametrize(
    "document",
    [
        pytest.param([{"id": n, "name": f"name {n}"} for n in range(100_000)], id="many rows"),
        pytest.param({f"key {n}": {"id": n} for n in range(50_000)}, id="many keys"),
        pytest.param([{f"key {n}": n for n in range(2_000)} for _ in range(5)], id="many columns"),
        pytest.param([{"id": n} if n % 2 else [n] for n in range(20_000)], id="many of no shape"),
    ],
)
def test_a_large_document_comes_back(document):
    tight = tight_json(json.dumps(document))
    assert tight is not None
    assert undone(tight) == compact_json(document)


KEYS = st.sampled_from(["id", "name", "columns", "rows", "a.b", "a", "b", "", ".", '"', "ключ"])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=6,
)
SHAPES = st.recursive(
    st.just(None), lambda inner: st.dictionaries(KEYS, inner, min_size=1, max_size=3), max_leaves=6
)


def filled(draw: st.DrawFn, shape: Json, cells: st.SearchStrategy[Json]) -> Json:
    if shape is None:
        return draw(cells)
    return {key: filled(draw, inner, cells) for key, inner in shape.items()}


@st.composite
def tables(draw: st.DrawFn, cells: st.SearchStrategy[Json] = VALUES) -> Sequence[Json]:
    """Rows of one shape, sometimes with one that differs among them."""
    shape = draw(SHAPES)
    rows = [filled(draw, shape, cells) for _ in range(draw(st.integers(0, 4)))]
    if draw(st.booleans()):
        rows.insert(draw(st.integers(0, len(rows))), draw(VALUES))
    return rows


DOCUMENTS = st.one_of(tables(), tables(tables()), st.dictionaries(KEYS, st.one_of(tables(), VALUES)))


@pytest.mark.slow
@given(DOCUMENTS)
def test_every_document_is_had_back_and_never_longer(document):
    text = json.dumps(document)
    tight = tight_json(text)
    if has_own_table(document):
        assert tight is None
        return
    assert tight is not None
    assert "\n" not in tight
    assert len(tight) <= len(compact_json(document))
    assert undone(tight) == compact_json(document)
    assert tight_json(json.dumps(document, indent=1, ensure_ascii=False)) == tight


def test_first_sight_shows_the_whole_document_where_it_fits_so():
    text = json.dumps(orders(60))
    size = counter().text(text)
    shown = reduce_new_result(
        ToolUse("other", "list_orders"), text, size * 2 // 3, counter(), built_in_vectors("learned")
    )
    head, tight = shown.split("\n")
    assert "keys written once" in head
    assert undone(tight) == compact_json(json.loads(text))
    assert counter().text(shown) <= size * 2 // 3


def test_first_sight_never_rewrites_json_of_several_lines():
    text = json.dumps(orders(60), indent=1)
    shown = reduce_new_result(
        ToolUse("other", "list_orders"), text, 2000, counter(), built_in_vectors("learned")
    )
    assert "a part of a JSON document" in shown
    assert '"columns"' not in shown
