"""Records of a JSON document on one line: each is valid, says what its values are, and none is missing."""

import json
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from holdfast.messages import Json
from holdfast.packing.counting.tokens import compact_json
from holdfast.packing.lines.line_index import LONGEST_LINE, LogLineIndex
from holdfast.packing.lines.passages import PIECE, RESULT, SHORTEST, WHOLE, json_records, step_passages
from holdfast.packing.lines.weights import built_in_vectors
from holdfast.packing.rendering.shorter_json import DEEPEST_TIGHT
from holdfast.views.transcript import Transcript
from support.json_tables import has_own_table, loosened
from support.logs import chained, result, step


def records(document: Json) -> list[Json]:
    found = json_records(json.dumps(document))
    assert found is not None
    assert not any("\n" in record for record in found)
    return [json.loads(record) for record in found]


def leaves(value: Json, *keys: str) -> Iterator[tuple[str, ...]]:
    """Every scalar and every empty list or object as it is written, behind the keys that lead to it."""
    if isinstance(value, dict) and value:
        for key, field in value.items():
            yield from leaves(field, *keys, key)
    elif isinstance(value, list) and value:
        for row in value:
            yield from leaves(row, *keys)
    else:
        yield (*keys, compact_json(value))


def scalars(value: Json) -> list[Json]:
    if not isinstance(value, list | dict):
        return [value]
    return [
        scalar
        for inner in (value.values() if isinstance(value, dict) else value)
        for scalar in scalars(inner)
    ]


def issue(number: int, body: str = "") -> dict[str, Json]:
    person = {"login": f"someone{number}", "id": 7000 + number, "site_admin": False}
    return {
        "number": number,
        "title": f"Issue {number} of many",
        "state": "open",
        "user": person,
        "body": body,
    }


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("plain words and nothing else " * 9, id="prose"),
        pytest.param('{"id": 1}', id="short"),
        pytest.param(json.dumps(issue(1), indent=1), id="on many lines"),
        pytest.param("\n".join(json.dumps(issue(n)) for n in range(3)), id="one on each line"),
        pytest.param('{"half": "' + "a" * 100, id="cut off"),
        pytest.param('{"name": "\\ud800", "rest": "' + "a" * 100 + '"}', id="half a letter"),
        pytest.param('{"share": 1e400, "rest": "' + "a" * 100 + '"}', id="larger than a float"),
        pytest.param('{"number": ' + "7" * 5000 + "}", id="longer than any number"),
        pytest.param("[" * 100_000, id="no end"),
        pytest.param("[" * 900 + "]" * 900, id="nearly deeper than a stack"),
        pytest.param("[" * 2000 + "]" * 2000, id="deeper than a stack"),
    ],
)
def test_what_is_no_document_on_one_line_has_no_records(text):
    assert json_records(text) is None


def test_an_object_that_is_short_enough_is_one_record():
    assert records(issue(5, "words " * 100)) == [issue(5, "words " * 100)]


def test_a_table_within_a_record_has_its_keys_once():
    flights = [{"number": f"HAT{n}", "date": "2024-05-21", "price": 100 + n} for n in range(9)]
    (record,) = records({"reservation": "ZFA04Y", "flights": flights})
    assert record["flights"]["columns"] == ["number", "date", "price"]
    assert loosened(record)["flights"] == flights


def test_rows_are_records_below_the_keys_that_lead_to_them():
    document = {"data": {"issues": [issue(n) for n in range(30)]}, "total": 30}
    found = records(document)
    assert {"total": 30} in found
    assert {"data": {"issues": issue(17)}} in found
    assert len(found) == 31


def test_what_is_short_of_a_long_object_comes_first_and_together():
    big = {**issue(1), "labels": [f"a label with number {n}" for n in range(100)], "id": "issue-one"}
    first, *others = records(big)
    assert {"number": 1, "title": "Issue 1 of many", "id": "issue-one"}.items() <= first.items()
    assert all({*other} == {"labels"} for other in others)


def test_a_long_string_is_given_in_pieces_of_whole_lines():
    body = "\n".join(f"line {n} of what somebody wrote about it" for n in range(200))
    first, *pieces = records({"url": "https://example.org/issues/1", "body": body, "id": 77})
    assert first == {"url": "https://example.org/issues/1", "id": 77}
    assert "\n".join(piece["body"] for piece in pieces) == body
    assert all(len(piece["body"]) <= PIECE for piece in pieces)


def test_one_value_that_is_too_long_takes_no_other_with_it():
    found = records({"before": 1, "image": "A" * 9000, "after": "b"})
    assert {"before": 1, "after": "b"} in found
    assert {"image": "A" * 9000} in found


def test_what_has_no_keys_stands_with_its_neighbours():
    paths = [f"src/app/module_{n}.py" for n in range(50)]
    found = records({"files": paths, "rows": [[n, f"cell {n}", "x" * 90] for n in range(20)]})
    assert [path for record in found for path in record.get("files", ())] == paths
    assert 10 < sum("files" in record for record in found) < 25
    assert {"rows": [7, "cell 7", "x" * 90]} in found


def test_with_the_keys_above_it_a_record_can_still_be_quoted():
    assert WHOLE <= LONGEST_LINE, "of a longer line nothing is ever kept"
    rows = [{"id": f"row_{n}", "text": "w" * (WHOLE - 100 + n)} for n in range(100)]
    found = json_records(json.dumps({"a rather long name": {"and another one": rows}})) or []
    quotable = "\n".join(record for record in found if len(record) <= WHOLE)
    assert [row["id"] for row in rows if f'"{row["id"]}"' not in quotable] == []


def test_fields_are_put_together_up_to_the_limit():
    for size in range(20, 90):
        found = json_records(json.dumps({f"key {n:02}": "v" * size for n in range(99)})) or []
        assert WHOLE - size - 20 < max(map(len, found)) <= WHOLE


def test_a_key_said_twice_and_a_number_of_many_digits_do_no_harm():
    number, rest = "9" * 60, "a" * 100
    text = f'{{"id": 1, "id": 2, "number": {number}, "share": 5e-400, "rest": "{rest}"}}'
    assert json_records(text) == [f'{{"id":2,"number":{number},"share":0.0,"rest":"{rest}"}}']


def test_how_full_the_stack_is_changes_nothing():
    deep: Json = ["a word" * 3]
    for n in range(DEEPEST_TIGHT - 2):
        deep = {"inner": deep, "number": n, "text": "x" * 90}
    text = json.dumps(deep)

    def far_down(left: int) -> list[str] | None:
        return far_down(left - 1) if left else json_records.__wrapped__(text)

    assert far_down(0) is not None
    assert far_down(500) == far_down(0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "document",
    [
        pytest.param([{"id": n, "name": f"name {n}"} for n in range(100_000)], id="many rows"),
        pytest.param([*range(100_000)], id="many numbers"),
        pytest.param({f"key {n}": n for n in range(50_000)}, id="many keys"),
        pytest.param({f"key {n}": {"id": n, "text": "x" * 90} for n in range(50_000)}, id="many objects"),
        pytest.param({"log": "a line of a log\n" * 60_000}, id="many lines"),
    ],
)
def test_nothing_of_a_large_document_is_missing(document):
    found = json_records(json.dumps(document))
    assert found is not None
    assert max(map(len, found)) <= WHOLE
    if "log" not in document:
        values = json.loads(f"[{','.join(found)}]")
        assert sorted(scalars(values), key=str) == sorted(scalars(document), key=str)


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=30),
    st.text("ab c", min_size=60, max_size=PIECE - 2),
)
KEYS = st.one_of(st.sampled_from(["id", "columns", "rows", "a.b", "…"]), st.text(max_size=8))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=8), st.dictionaries(KEYS, inner, max_size=6)),
    max_leaves=30,
)
DOCUMENTS = st.one_of(st.lists(VALUES, max_size=9), st.dictionaries(KEYS, VALUES, max_size=9))


@pytest.mark.slow
@given(DOCUMENTS)
def test_every_value_stands_in_one_record_under_its_keys(document):
    assume(not has_own_table(document))
    text = json.dumps(document)
    found = json_records(text)
    if len(text) < SHORTEST:
        assert found is None
        return
    assert found is not None
    values = [loosened(json.loads(record)) for record in found]
    assert Counter(leaf for value in values for leaf in leaves(value)) == Counter(leaves(document))
    for record, value in zip(found, values, strict=True):
        assert "\n" not in record
        assert len(record) <= WHOLE or len([*leaves(value)]) == 1
    assert json_records(f"  {text}\n") == found


@given(st.lists(st.text('ab \\"', max_size=PIECE // 2), min_size=2, max_size=20).map("\n".join))
def test_the_pieces_of_a_string_are_the_string(text):
    found = records({"text": text, "other": "o" * WHOLE})
    assert "\n".join(record["text"] for record in found if "text" in record) == text


def passage(name: str, arguments: dict[str, Json], text: str):
    (item,) = Transcript(chained([step("", ("c1", name, arguments)), result("c1", text, name)])).items
    return next(one for one in step_passages(item) if one.source.part == RESULT)


def test_a_result_on_one_line_is_kept_by_its_records():
    text = json.dumps([issue(n) for n in range(20)])
    found = passage("list_issues", {}, text)
    assert found.source.has_records
    assert found.lines == json_records(text)


def test_a_line_that_is_a_record_already_is_a_line():
    text = compact_json(issue(1))
    found = passage("get_issue", {}, text)
    assert found.lines == [text]
    assert not found.source.has_records


def test_a_short_line_of_a_file_stays_byte_for_byte():
    text = json.dumps(issue(1))
    found = passage("Bash", {"command": "cat issue.json"}, text)
    assert found.lines == [text]
    assert not found.source.has_records
    assert passage(
        "Bash", {"command": "cat issues.json"}, json.dumps([issue(n) for n in range(50)])
    ).source.has_records


def test_lines_of_a_text_on_many_lines_are_its_own():
    text = json.dumps([issue(n) for n in range(20)], indent=1)
    found = passage("list_issues", {}, text)
    assert found.lines == text.split("\n")
    assert not found.source.has_records


def test_names_of_every_record_are_seen():
    text = json.dumps({"issues": [issue(n, "long text about it\n" * 200) for n in range(40)]})
    line_index = LogLineIndex(built_in_vectors("learned"))
    for item in Transcript(chained([step("", ("c1", "list_issues", {})), result("c1", text)])).items:
        line_index.note(item)
    assert {f"someone{n}" for n in range(40)} <= {*line_index.names}
