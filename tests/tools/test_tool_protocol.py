"""One protocol and one envelope, shown on a tool of three lines."""

import asyncio
from typing import Annotated

import msgspec
import pytest
from msgspec import Meta, Struct

from holdfast.messages import Image, Text
from holdfast.packing.rendering.digests import unwrap
from holdfast.tools.envelope import Envelope, ToolError, build_result
from holdfast.tools.tool import Tool, TypedTool, prompt_beside
from holdfast.tools.workspace import Workspace


class Halves(Struct, forbid_unknown_fields=True):
    number: Annotated[int, Meta(description="What to halve.")]


async def halve(arguments: Halves, workspace: Workspace):
    if arguments.number % 2:
        raise ToolError("CONFLICT", f"{arguments.number} is odd", hint="Give an even number")
    half = arguments.number // 2
    return build_result(Envelope(status="success", text=f"half: {half}", data={"half": half}), str(half))


TOOL: Tool = TypedTool("Halve", Halves, "Halves a number.", halve, is_read_only=True)


@pytest.fixture
def workspace(tmp_path):
    return Workspace([tmp_path])


def test_the_definition_comes_from_the_typed_arguments():
    assert TOOL.definition.name == "Halve"
    assert TOOL.definition.description == "Halves a number."
    assert TOOL.definition.schema["properties"] == {
        "number": {"type": "integer", "description": "What to halve."}
    }


def test_what_the_model_reads_is_apart_from_what_the_person_sees(workspace):
    result = asyncio.run(TOOL.run({"number": 8}, workspace))
    assert result.parts == (Text("half: 4"),)
    assert result.shown == "4"
    assert result.envelope.data == {"half": 4}
    assert not result.is_error


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ({"number": 3}, "CONFLICT", "CONFLICT: 3 is odd. Give an even number."),
        ({}, "INVALID_PARAM", "INVALID_PARAM: Halve needs the argument `number`. It takes `number`."),
    ],
    ids=["its own", "arguments"],
)
def test_a_mistake_of_the_model_is_an_error_envelope(workspace, arguments, code, text):
    result = asyncio.run(TOOL.run(arguments, workspace))
    assert result.is_error
    assert result.envelope.error is not None
    assert result.envelope.error.code == code
    assert result.parts == (Text(text),)
    assert result.envelope.context == {"tool": "Halve"}
    assert result.envelope.data == {}


def test_an_envelope_is_one_that_digests_recognise(workspace):
    result = asyncio.run(TOOL.run({"number": 3}, workspace))
    unwrapped = unwrap(msgspec.json.encode(result.envelope).decode())
    assert unwrapped is not None
    assert unwrapped.head[0] == "status: error"
    assert "CONFLICT" in unwrapped.head[1]


def test_pictures_stand_behind_the_text():
    picture = Image("image/png", data="AAAA")
    assert build_result(Envelope(status="success", text="a picture"), "", picture).parts == (
        Text("a picture"),
        picture,
    )


def test_a_prompt_is_read_from_the_file_beside_the_module(tmp_path):
    (tmp_path / "halve.md").write_text("\nHalves 数.\n", "utf-8")
    assert prompt_beside(str(tmp_path / "halve.py")) == "Halves 数."
