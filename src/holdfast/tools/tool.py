"""What a tool is: a name, a definition for the model, and a function from arguments to a result.

Rule: `run` answers every mistake of the model with an error envelope; what it raises is a defect of the tool or a
cancellation. A schema contains no `$ref`, since not every provider resolves them, and the error for a wrong
argument names it.
"""

import re
from collections.abc import Awaitable, Callable, Coroutine
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import msgspec
from msgspec import Struct

from holdfast.errors import describe_value
from holdfast.messages import Json, ToolDefinition
from holdfast.tools.envelope import ToolError, ToolResult, error_result, with_remark
from holdfast.tools.workspace import Workspace

_A = TypeVar("_A", bound=Struct)

_WHERE = re.compile(r" - at `\$\.?(.*)`$")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")
_MISSING = re.compile(r"Object missing required field `(.*)`")
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_REFERENCE = "#/$defs/"


def json_schema(takes: type[Struct]) -> dict[str, Json]:
    """The schema of a Struct, with every reference written out and without the names of our classes."""
    schemas, parts = msgspec.json.schema_components(
        [takes], ref_template=_REFERENCE + "{name}", schema_hook=_schema_of
    )
    written: dict[str, Json] = _written_out(schemas[0], parts, ())
    return written


def _schema_of(kind: Any) -> dict[str, Json]:
    """The schema of a type that msgspec does not know: a path, or a model of Pydantic, which is not imported."""
    if isinstance(kind, type) and issubclass(kind, PurePath):
        return {"type": "string"}
    if callable(own := getattr(kind, "model_json_schema", None)):
        schema: dict[str, Json] = own()
        return schema
    raise NotImplementedError


def _decoded(kind: Any, value: Any) -> Any:
    """A value of such a type. Raises ValueError in one sentence."""
    if isinstance(kind, type) and issubclass(kind, PurePath):
        if not isinstance(value, str):
            raise ValueError(f"expected a path, got {describe_value(value)}")
        return kind(value)
    try:
        return kind.model_validate(value)
    except ValueError as error:
        details: Any = getattr(error, "errors", None)
        first = details()[0] if details else {"msg": str(error)}
        place = ".".join(map(str, first.get("loc", ())))
        raise ValueError(f"{f'`{place}`: ' if place else ''}{first['msg']}") from None


def _written_out(node: Json, parts: dict[str, Json], above: tuple[str, ...]) -> Json:
    if isinstance(node, list | tuple):
        # A default may be a tuple; read back from a log as JSON it is a list.
        return [_written_out(item, parts, above) for item in node]
    if not isinstance(node, dict):
        return node
    if "$defs" in node:
        parts, node = parts | node["$defs"], {key: node[key] for key in node if key != "$defs"}
    name = str(node.get("$ref", "")).removeprefix(_REFERENCE)
    if name:
        assert name not in above, f"{name} contains itself and cannot be written out"
        meant = _written_out(parts[name], parts, (*above, name)) | node
        return {key: value for key, value in meant.items() if key not in ("$ref", "title")}
    return {key: _written_out(value, parts, above) for key, value in node.items()}


def decode_arguments(takes: type[_A], arguments: dict[str, Json], tool: str) -> _A:
    """Typed arguments. Where `null` is not allowed it is an argument not given, and `"5"` is a number: models write
    both."""
    nulls = [key for key, value in arguments.items() if value is None]
    kinds = {field.encode_name: field.type for field in msgspec.structs.fields(takes)} if nulls else {}
    left_out = [key for key in nulls if key not in kinds or not _takes_null(kinds[key])]
    given = {key: value for key, value in arguments.items() if key not in left_out}
    try:
        return msgspec.convert(given, takes, strict=False, dec_hook=_decoded)
    except msgspec.ValidationError as error:
        raise ToolError("INVALID_PARAM", _sentence(str(error), tool), hint=_hint(takes)) from None


def drop_unknown(takes: type[Struct], arguments: dict[str, Json]) -> tuple[dict[str, Json], list[str]]:
    """The arguments without fields that do not exist, at any depth, and the names of those that were dropped."""
    kept, dropped = deepcopy(arguments), list[str]()
    while True:
        try:
            msgspec.convert(kept, takes, strict=False)
        except msgspec.ValidationError as error:
            place = _WHERE.search(str(error))
            unknown = _UNKNOWN.fullmatch(str(error)[: place.start()] if place else str(error))
            if unknown is None:
                # Another mistake, which is for `decode_arguments` to say.
                return kept, dropped
            holder: Json = kept
            for key, index in _STEP.findall(place[1] if place else ""):
                holder = holder[int(index)] if index else holder[key]
            del holder[unknown[1]]
            dropped.append(unknown[1])
        else:
            return kept, dropped


def _takes_null(kind: Any) -> bool:
    try:
        msgspec.convert(None, kind)
    except msgspec.ValidationError:
        return False
    return True


def _sentence(message: str, tool: str) -> str:
    """msgspec's message about a wrong argument, as a sentence that names it."""
    place = _WHERE.search(message)
    text = message[: place.start()] if place else message
    within = f" in `{place[1]}`" if place and place[1] else ""
    if unknown := _UNKNOWN.fullmatch(text):
        return f"{tool} has no argument `{unknown[1]}`{within}"
    if missing := _MISSING.fullmatch(text):
        return f"{tool} needs the argument `{missing[1]}`{within}"
    where = place[1] if place and place[1] else "arguments"
    return f"`{where}` of {tool} is wrong: {text[:1].lower()}{text[1:]}"


def _hint(takes: type[Struct]) -> str:
    fields = msgspec.structs.fields(takes)
    needed = [f"`{f.encode_name}`" for f in fields if f.required]
    others = [f"`{f.encode_name}`" for f in fields if not f.required]
    text = "It takes " + ", ".join(needed) if needed else "It needs none"
    return f"{text}; optional: {', '.join(others)}" if others else text


@runtime_checkable
class Tool(Protocol):
    """**Contract:** read-only tools may run beside each other; others run alone, in the order of the calls."""

    @property
    def name(self) -> str: ...

    @property
    def definition(self) -> ToolDefinition: ...

    @property
    def is_read_only(self) -> bool: ...

    async def run(self, arguments: dict[str, Json], workspace: Workspace) -> ToolResult: ...


@dataclass(frozen=True)
class DefinedTool:
    """A tool made from its definition and a function that takes the arguments as the model wrote them."""

    definition: ToolDefinition
    run: Callable[[dict[str, Json], Workspace], Coroutine[Any, Any, ToolResult]]
    is_read_only: bool = False

    @property
    def name(self) -> str:
        return self.definition.name


@dataclass(frozen=True)
class TypedTool(Generic[_A]):
    """A tool made from a typed function: the schema comes from `takes`, the prompt from a Markdown file. With
    `ignores_unknown`, arguments that do not exist are ignored, and the model is told: models bring them from other
    agents.

    **Contract:** `work` raises `ToolError` for what the model should learn, and is cancelled like any coroutine.
    """

    name: str
    takes: type[_A]
    prompt: str
    work: Callable[[_A, Workspace], Awaitable[ToolResult]]
    is_read_only: bool = False
    ignores_unknown: bool = False

    @cached_property
    def definition(self) -> ToolDefinition:
        return ToolDefinition(self.name, self.prompt, json_schema(self.takes))

    async def run(self, arguments: dict[str, Json], workspace: Workspace) -> ToolResult:
        given, ignored = drop_unknown(self.takes, arguments) if self.ignores_unknown else (arguments, [])
        try:
            result = await self.work(decode_arguments(self.takes, given, self.name), workspace)
        except ToolError as error:
            return error_result(error, {"tool": self.name})
        if not ignored:
            return result
        names = ", ".join(f"`{name[:60]}`" for name in sorted(set(ignored)))
        return with_remark(result, f"({self.name} has no argument {names}, which was ignored.)")


def prompt_beside(module: str) -> str:
    """The prompt of a tool: the Markdown file beside its module, with the same name."""
    return Path(module).with_suffix(".md").read_text("utf-8").strip()
