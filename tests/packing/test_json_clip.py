"""A clipped JSON document is still one: it parses, fits, keeps its shape, and invents nothing."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.messages import Json
from holdfast.packing.rendering.outliers import outlier_rows
from holdfast.packing.rendering.shorter_json import MARK, clip_json
from support.packing_runs import counter

COUNTER = counter()


def response(count: int = 60) -> dict[str, Json]:
    """What a service answers: a page of jobs, one of which failed."""
    jobs = [
        {"id": 100 + n, "name": f"job-{n}", "status": "done", "seconds": 20 + n % 7, "log": f"step {n} " * 30}
        for n in range(count)
    ]
    jobs[41] |= {"status": "failed", "error": "connection refused by db-2", "seconds": 22}
    return {"page": 1, "total": count, "jobs": jobs, "request_id": "r-7f3a", "next": None}


def clipped(value: Json, cap: int) -> Json:
    text = clip_json(json.dumps(value, indent=2), cap, COUNTER)
    assert text is not None
    assert COUNTER.text(text) <= cap
    return json.loads(text)


def test_a_small_document_stays_as_it_is():
    text = '{\n  "a": 1\n}'
    assert clip_json(text, 1000, COUNTER) == text


def test_a_response_keeps_its_keys_and_the_job_that_failed():
    out = clipped(response(), 500)
    assert list(out) == ["page", "total", "jobs", "request_id", "next"]
    assert (out["page"], out["total"], out["request_id"], out["next"]) == (1, 60, "r-7f3a", None)
    shown = [job["id"] for job in out["jobs"][:-1]]
    assert shown[:2] == [100, 101]
    assert 141 in shown
    assert {"id": 141, "status": "failed", "error": "connection refused by db-2"}.items() <= next(
        job for job in out["jobs"][:-1] if job["id"] == 141
    ).items()
    assert out["jobs"][-1].startswith(f"{MARK} {60 - len(shown)} more of 60")


def test_the_mark_says_which_rows_are_shown_where_it_is_not_the_first():
    rows = [{"n": n, "state": "ok", "text": "word " * 10} for n in range(50)]
    assert clipped(rows, 300)[-1].count("shown") == 0
    rows[30]["state"] = "lost"
    assert clipped(rows, 300)[-1].endswith(", 31")


def test_a_long_string_keeps_its_ends_and_its_length():
    text = "begin " + "middle " * 2000 + "end of it"
    out = clipped({"stdout": text, "code": 1}, 200)
    assert out["code"] == 1
    assert out["stdout"].startswith("begin ")
    assert out["stdout"].endswith("end of it")
    assert f"{len(text)} characters" in out["stdout"]


def test_telling_keys_stay_where_not_all_fit():
    wide = {f"field_{n}": "some value of no interest" for n in range(400)} | {"status": "failed", "id": 7}
    out = clipped(wide, 150)
    assert (out["status"], out["id"]) == ("failed", 7)
    assert out[MARK] == f"{402 - len(out) + 1} more of 402 keys {MARK}"


def test_a_key_that_looks_like_the_mark_is_kept():
    wide = {MARK: "mine", **{f"field_{n}": "a value" for n in range(300)}}
    out = clipped(wide, 100)
    assert out[MARK] == "mine"
    assert out[MARK * 2].endswith(f"more of 301 keys {MARK}")


def test_json_lines_become_a_list_of_rows():
    rows = [
        {"time": f"07:{n:02}", "level": "info", "message": f"request {n} served in time"} for n in range(50)
    ]
    rows[33] |= {"level": "error", "message": "request 33 refused"}
    text = "\n".join(map(json.dumps, rows)) + "\n"
    out = clip_json(text, 300, COUNTER)
    assert out is not None
    assert COUNTER.text(out) <= 300
    shown = json.loads(out)
    assert rows[33] in shown
    assert all(row in rows for row in shown[:-1])


def test_much_of_the_room_is_used():
    for cap in (300, 1000, 3000):
        text = clip_json(json.dumps(response(400)), cap, COUNTER)
        assert text is not None
        assert cap * 0.8 <= COUNTER.text(text) <= cap


@pytest.mark.parametrize(
    "text", ["", "no JSON", '{"a": ', "7", '"text"', '{"a": NaN}', "[1]\nx", "[" * 5000, "{}{}"]
)
def test_what_is_no_document_is_refused(text):
    assert clip_json(text, 1, COUNTER) is None


def test_a_shape_that_cannot_fit_is_refused():
    assert clip_json(json.dumps(response()), 3, COUNTER) is None


def test_deep_nesting_is_named_and_not_followed():
    deep: Json = "word " * 400
    for _ in range(60):
        deep = {"inner": deep, "note": "at this level"}
    text = json.dumps(deep)
    out = clip_json(text, 200, COUNTER)
    assert out is not None
    assert "object with 2 keys" in out
    assert COUNTER.text(out) <= 200
    json.loads(out)


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**9), 10**9),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.text('abc …\n"\\', min_size=60, max_size=400),
)
KEYS = st.one_of(st.sampled_from(["id", "error", "status", "path", MARK]), st.text(max_size=8))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=12), st.dictionaries(KEYS, inner, max_size=8)),
    max_leaves=40,
)
DOCUMENTS = st.one_of(st.lists(VALUES, max_size=40), st.dictionaries(KEYS, VALUES, max_size=30))


def leaves(value: Json) -> list[Json]:
    if isinstance(value, dict):
        return [leaf for field in value.values() for leaf in leaves(field)]
    if isinstance(value, list):
        return [leaf for row in value for leaf in leaves(row)]
    return [value]


def keys(value: Json) -> set[str]:
    if isinstance(value, dict):
        return {*value, *(key for field in value.values() for key in keys(field))}
    return {key for row in value for key in keys(row)} if isinstance(value, list) else set()


@pytest.mark.slow
@given(DOCUMENTS, st.integers(1, 400))
def test_what_is_clipped_parses_fits_and_stands_in_the_original(value, cap):
    text = json.dumps(value, ensure_ascii=False)
    out = clip_json(text, cap, COUNTER)
    if out is None:
        assert COUNTER.text(text) > cap
        return
    assert COUNTER.text(out) <= cap
    parsed = json.loads(out)
    assert type(parsed) is type(value)
    original = {(type(leaf), leaf) for leaf in leaves(value)}
    strings = [leaf for leaf in leaves(value) if isinstance(leaf, str)]
    for leaf in leaves(parsed):
        if (type(leaf), leaf) not in original:
            assert isinstance(leaf, str)
            assert MARK in leaf
            head, _, tail = leaf.partition(f"{MARK} [")
            if tail:
                rest = tail.partition(f"] {MARK}")[2]
                assert any(s.startswith(head) and s.endswith(rest) for s in strings)
    assert {key for key in keys(parsed) if set(key) != {MARK}} <= keys(value)
    assert clip_json(text, cap, COUNTER) == out


@pytest.mark.slow
def test_a_large_document_takes_linear_time():
    text = json.dumps([{"id": n, "name": f"n{n}", "tags": ["a", "b"]} for n in range(30_000)])
    out = clip_json(text, 2000, COUNTER)
    assert out is not None
    assert len(json.loads(out)) > 50


def test_a_number_far_from_the_others_stands_out():
    rows = [[f"part-{n}", f"{100 + n}K"] for n in range(20)]
    rows[13][1] = "7.5G"
    assert outlier_rows(rows) == {13}
    assert outlier_rows([[str(n * n)] for n in range(4)]) == set()
    assert outlier_rows([["ok" if n % 2 else "bad"] for n in range(20)]) == set(), "nothing is usual here"
