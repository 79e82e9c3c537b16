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
