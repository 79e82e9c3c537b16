"""A tool made from a function of your own: its schema comes from the annotations, its prompt from the docstring.

Rule: what cannot become a tool is refused where it is defined, in one sentence; what a call raises is an error that
the model reads.
"""

import asyncio
import copy
import inspect
import logging
import re
from collections.abc import Callable
from functools import update_wrapper
from typing import Annotated, Any, Generic, ParamSpec, TypeVar, get_type_hints, overload

import msgspec
from msgspec import Meta, Struct

from holdfast.errors import InputError
from holdfast.messages import Image, Json, Text, ToolDefinition, UserPart
from holdfast.tools.call import describe_exception
from holdfast.tools.envelope import ToolError, ToolResult, error_result, tool_result
from holdfast.tools.tool import decode_arguments, json_schema
from holdfast.tools.workspace import Workspace

P = ParamSpec("P")
R = TypeVar("R")

NOTHING = "(no output)"
"""What the model reads of a function that returned nothing."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_SECTION = re.compile(
    r"(args|arguments|parameters|returns?|yields?|raises?|examples?|notes?):?", re.IGNORECASE
)
_DESCRIBED = re.compile(r"\s*(?::param\s+)?`?(\w+)`?\s*(?:\([^)]*\))?\s*:\s+(.+)")

_log = logging.getLogger(__name__)


class FunctionTool(Generic[P, R]):
    """A function as a tool. It may still be called as the function that it is."""

    def __init__(
        self, function: Callable[P, R], *, name: str = "", description: str = "", is_read_only: bool = False
    ) -> None:
        self.function = function
        self.name = name or getattr(function, "__name__", "")
        self.is_read_only = is_read_only
        if not _NAME.fullmatch(self.name):
            raise InputError(
                f"`{self.name}` cannot be the name of a tool",
                hint="name it with `@tool(name=…)`: letters, digits, `_` and `-`, 64 at most",
            )
        said, about = split_docstring(inspect.getdoc(function) or "", _parameters(function))
        if not (description or said):
            raise InputError(
                f"the tool `{self.name}` does not say what it does",
                hint="write a docstring: the model reads it",
            )
        self._takes = _arguments_type(function, self.name, about)
        self.definition = ToolDefinition(self.name, description or said, _schema(self._takes, self.name))
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    async def run(self, arguments: dict[str, Json], _workspace: Workspace) -> ToolResult:
        try:
            given = decode_arguments(self._takes, arguments, self.name)
            return _result(await self._returned(given), self.name)
        except ToolError as error:
            return error_result(error, {"tool": self.name})

    async def _returned(self, given: Struct) -> object:
        named = {field: getattr(given, field) for field in given.__struct_fields__}
        call: Callable[..., Any] = self.function
        try:
            if inspect.iscoroutinefunction(call):
                return await call(**named)
            # In a thread, so that a slow function can be timed and the run be interrupted.
            return await asyncio.to_thread(call, **named)
        except ToolError:
            raise
        except Exception as error:
            _log.info("the tool %s raised", self.name, exc_info=True)
            raise ToolError("EXECUTION_ERROR", f"{self.name} failed: {describe_exception(error)}") from error


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...
@overload
def tool(
    *, name: str = "", description: str = "", is_read_only: bool = False
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...
def tool(
    function: Callable[P, R] | None = None,
    /,
    *,
    name: str = "",
    description: str = "",
    is_read_only: bool = False,
) -> FunctionTool[P, R] | Callable[[Callable[P, R]], FunctionTool[P, R]]:
    """Make a function a tool that an agent may call: `@tool`, or `@tool(is_read_only=True)`.

    The model reads the name, the docstring and the annotations. The docstring may describe the parameters, each in
    a line such as `path: where to look`. The function may be a coroutine; a plain one runs in a thread. What it
    returns is given to the model: a string as it is, pictures as pictures, anything else as JSON. An exception is
    given to the model as an error. Calls of tools that are read-only may run beside each other.
    """

    def made(function: Callable[P, R]) -> FunctionTool[P, R]:
        return FunctionTool(function, name=name, description=description, is_read_only=is_read_only)

    return made(function) if function is not None else made


def split_docstring(docstring: str, parameters: list[str]) -> tuple[str, dict[str, str]]:
    """What a docstring says of a function, and what of each parameter: in a line each, alone or in a section."""
    kept: list[str] = []
    about: dict[str, str] = {}
    last = ""
    for line in docstring.splitlines():
        found = _DESCRIBED.fullmatch(line)
        if found and found[1] in parameters:
            last = found[1]
            about[last] = found[2].strip()
        elif last and line.startswith((" ", "\t")) and line.strip() and not _SECTION.fullmatch(line.strip()):
            about[last] += f" {line.strip()}"
        else:
            last = ""
            kept.append(line)
    heading = re.compile(r"(args|arguments|parameters):?", re.IGNORECASE)
    said = [line for line in kept if not (heading.fullmatch(line.strip()) or set(line.strip()) == {"-"})]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(said)).strip(), about


def _parameters(function: Callable[..., Any]) -> list[str]:
    return list(inspect.signature(function).parameters)


def _arguments_type(function: Callable[..., Any], name: str, about: dict[str, str]) -> type[Struct]:
    """The parameters of a function as a class. Raises InputError where one cannot be told to a model."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except Exception as error:
        raise InputError(
            f"the annotations of the tool `{name}` cannot be read: {describe_exception(error)}",
            hint="define the types that they name before the tool",
        ) from error
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise InputError(
                f"the parameter `{parameter.name}` of the tool `{name}` cannot be given by name",
                hint="a tool's parameters are all named; take a list or a dict instead",
            )
        if parameter.name not in hints:
            raise InputError(
                f"the parameter `{parameter.name}` of the tool `{name}` has no type",
                hint=f"annotate it, such as `{parameter.name}: str`",
            )
        kind = hints[parameter.name]
        beside = [one for one in getattr(kind, "__metadata__", ()) if isinstance(one, str)]
        if words := about.get(parameter.name) or " ".join(beside):
            kind = Annotated[kind, Meta(description=words)]
        if parameter.default is parameter.empty:
            fields.append((parameter.name, kind))
        else:
            fields.append((parameter.name, kind, _default(parameter.default)))
    return msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True)


def _default(value: Any) -> Any:
    if isinstance(value, list | dict | set | bytearray):
        return msgspec.field(default_factory=lambda: copy.deepcopy(value))
    return value


def _schema(takes: type[Struct], name: str) -> dict[str, Json]:
    try:
        schema = json_schema(takes)
    except (TypeError, RuntimeError, AssertionError) as error:
        raise InputError(
            f"a parameter of the tool `{name}` has a type that no model can be told: {error}",
            hint="use str, int, float, bool, list, dict, Literal, an enum, a dataclass or a TypedDict",
        ) from error
    return {key: value for key, value in schema.items() if key != "title"}


def _result(value: object, name: str) -> ToolResult:
    """What a function returned, as the model reads it."""
    match value:
        case ToolResult():
            return value
        case None:
            return tool_result(NOTHING, NOTHING)
        case str():
            return tool_result(value or NOTHING, _first_line(value))
        case Text() | Image():
            return _of_parts([value])
        case [Text() | Image(), *_]:
            parts = [part for part in value if isinstance(part, Text | Image)]
            if len(parts) == len(value):
                return _of_parts(parts)
    try:
        text = msgspec.json.encode(value, enc_hook=_plain).decode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolError(
            "EXECUTION_ERROR", f"{name} returned a `{type(value).__name__}` that is no JSON: {error}"
        ) from error
    return tool_result(text, _first_line(text))


def _of_parts(parts: list[UserPart]) -> ToolResult:
    texts = "\n".join(part.text for part in parts if isinstance(part, Text))
    pictures = [part for part in parts if isinstance(part, Image)]
    return tool_result(texts or NOTHING, _first_line(texts), *pictures)


def _plain(value: Any) -> Any:
    """Objects with `model_dump` as JSON, and any other by its words."""
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) else str(value)


def _first_line(text: str) -> str:
    return text.partition("\n")[0][:200] or NOTHING
