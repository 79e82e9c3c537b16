"""Schemas from typed arguments, and arguments from what models write."""

import json
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct

from holdfast.tools.envelope import ToolError
from holdfast.tools.tool import decode_arguments, json_schema


class Change(Struct, forbid_unknown_fields=True):
    old: Annotated[str, Meta(description="Text to replace.")]
    new: str = ""


class Changes(Struct, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="Which file.", min_length=1)]
    changes: Annotated[list[Change], Meta(description="In order.")]
    first: Change | None = None
    count: Annotated[int, Meta(ge=1, le=9)] = 1
    sort: Literal["name", "time"] = "name"
    deep: bool = False


def test_a_schema_stands_alone_and_carries_the_descriptions():
    schema = json_schema(Changes)
    assert "$ref" not in json.dumps(schema)
    assert "title" not in schema
    assert schema["type"] == "object"
    assert schema["required"] == ["path", "changes"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["path"]["description"] == "Which file."
    changes = schema["properties"]["changes"]
    assert changes["description"] == "In order."
    assert changes["items"]["properties"]["old"]["description"] == "Text to replace."
    assert schema["properties"]["sort"]["enum"] == ["name", "time"]
    assert schema["properties"]["count"] | {"default": 1} == {
        "type": "integer",
        "minimum": 1,
        "maximum": 9,
        "default": 1,
    }


def test_a_type_that_contains_itself_is_a_programmers_mistake():
    with pytest.raises(AssertionError, match="contains itself"):
        json_schema(Nested)


class Nested(Struct):
    inner: "Nested | None" = None


def test_arguments_are_read_as_models_write_them():
    read = decode_arguments(
        Changes, {"path": "a", "changes": [{"old": "x"}], "count": "5", "deep": "true", "first": None}, "Edit"
    )
    assert read == Changes("a", [Change("x")], count=5, deep=True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "Edit needs the argument `path`"),
        ({"path": None, "changes": []}, "Edit needs the argument `path`"),
        ({"path": "a", "changes": [], "colour": 1}, "Edit has no argument `colour`"),
        ({"path": "a", "changes": [{"new": "x"}]}, "Edit needs the argument `old` in `changes[0]`"),
        ({"path": 5, "changes": []}, "`path` of Edit is wrong: expected `str`, got `int`"),
        ({"path": "a", "changes": [], "count": 12}, "`count` of Edit is wrong: expected `int` <= 9"),
        ({"path": "a", "changes": [], "sort": "size"}, "`sort` of Edit is wrong: invalid enum value 'size'"),
    ],
    ids=["empty", "null", "unknown", "nested", "type", "range", "choice"],
)
def test_a_wrong_argument_gets_a_sentence_that_names_it(arguments, said):
    with pytest.raises(ToolError) as caught:
        decode_arguments(Changes, arguments, "Edit")
    assert caught.value.code == "INVALID_PARAM"
    assert caught.value.message == said
    assert "`path`, `changes`; optional: `first`" in caught.value.hint


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@given(
    st.dictionaries(
        st.sampled_from(["path", "changes", "first", "count", "sort", "x"]), json_values, max_size=6
    )
)
def test_whatever_a_model_writes_is_read_or_refused(arguments):
    try:
        read = decode_arguments(Changes, arguments, "Edit")
    except ToolError:
        return
    assert read.path
    assert 1 <= read.count <= 9
