"""Values are found where they stand, and a splice changes nothing else."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.gateway.json_spans import SpanError, list_spans, object_spans, span_at, spliced

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
LAYOUTS = st.sampled_from(
    [{}, {"separators": (",", ":")}, {"indent": 2}, {"ensure_ascii": False}, {"separators": (" , ", "\n:\t")}]
)


def texts_with_paths(value: object, path: tuple = ()) -> list[tuple]:
    found = [path] if isinstance(value, str) else []
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return found + [deeper for step, inner in steps for deeper in texts_with_paths(inner, (*path, step))]


def value_at(value, path: tuple):
    for step in path:
        value = value[step]
    return value


@given(st.dictionaries(st.text(), VALUES) | st.lists(VALUES), LAYOUTS, st.data())
def test_every_text_is_found_and_replaced_alone(value, layout, data) -> None:
    text = json.dumps(value, **layout).encode()
    for path in texts_with_paths(value):
        start, end = span_at(text, path)
        assert json.loads(text[start:end]) == value_at(value, path)
    paths = texts_with_paths(value)
    if not paths:
        return
    chosen = data.draw(st.lists(st.sampled_from(paths), unique=True, min_size=1))
    changed = spliced(text, [(span_at(text, path), b'"new"') for path in chosen])
    after = json.loads(changed)
    for path in paths:
        assert value_at(after, path) == ("new" if path in chosen else value_at(value, path))
    kept = spliced(changed, [(span_at(changed, path), text[slice(*span_at(text, path))]) for path in chosen])
    assert kept == text


def test_spans_of_lists_and_objects() -> None:
    text = b' {"a" : [1, "two"] , "b":{}} '
    assert {key: text[slice(*span)] for key, span in object_spans(text).items()} == {
        "a": b'[1, "two"]',
        "b": b"{}",
    }
    assert [text[slice(*span)] for span in list_spans(text, object_spans(text)["a"])] == [b"1", b'"two"']


SPACE = st.text(" \t\r\n", max_size=2)
ODD_TEXTS = [r'"\""', r'"\\"', r'"\u0000"', r'"\ud83d\ude00"', r'"\/é}]{[:,"', '"\x7f"', '""', '"\u2028"']
ODD_NUMBERS = ["-0", "1.0", "1e5", "-1E-7", "1.0000000000000000000001", "123456789012345678901234567890"]
SCALARS = st.sampled_from([*ODD_TEXTS, *ODD_NUMBERS, "null", "true", "false"])


def written(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Lists and objects as a client may write them, with keys in odd escapes, and some of them twice."""
    padded = st.tuples(SPACE, inner, SPACE).map("".join)
    keys = st.tuples(SPACE, st.sampled_from([*ODD_TEXTS, '"a"', r'"\u0061"']), SPACE).map("".join)
    pairs = st.tuples(keys, padded).map(":".join)
    lists = st.lists(padded, max_size=4).map(lambda values: f"[{','.join(values)}]")
    return lists | st.lists(pairs, max_size=4).map(lambda values: f"{{{','.join(values)}}}")


@given(st.recursive(SCALARS, written, max_leaves=12), SPACE, SPACE)
def test_a_value_is_found_as_any_reader_reads_it_or_not_at_all(text, before, after) -> None:
    """Two keys that are one, however they are escaped, are an error wherever a path leads through them."""
    whole = (before + text + after).encode()
    value = json.loads(whole)
    for path in texts_with_paths(value):
        try:
            start, end = span_at(whole, path)
        except SpanError:
            assert has_key_twice(whole)
        else:
            assert json.loads(whole[start:end]) == value_at(value, path)


def has_key_twice(text: bytes) -> bool:
    found: list[bool] = []
    json.loads(text, object_pairs_hook=lambda pairs: found.append(len(dict(pairs)) < len(pairs)))
    return any(found)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (b'{"a": 1}', ("b",)),
        (b"[1]", (1,)),
        (b'{"a": 1, "a": 22}', ("a",)),
        (b'{"a": 2, "a": 2, "b": 2}', ("b",)),
        (b'{"a": "x"', ("a",)),
        (b"[1]", ("a",)),
        (b"", ("a",)),
    ],
)
def test_what_does_not_add_up_is_an_error(text, path) -> None:
    with pytest.raises(SpanError):
        span_at(text, path)
