"""A tool made from a function of your own: its schema comes from the annotations, its prompt from the docstring.

Rule: what cannot become a tool is refused where it is defined, in one sentence; what a call raises is an error that
the model reads.
"""

import asyncio
import copy
import inspect
import logging
import re
import threading
from base64 import b64decode
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial, update_wrapper
from typing import Annotated, Any, Generic, ParamSpec, TypeVar, get_type_hints, overload

import msgspec
from msgspec import Meta, Struct

from holdfast.errors import InputError, describe_value
from holdfast.messages import Image, Json, Text, ToolDefinition, UserPart
from holdfast.tools.call import describe_exception, without_surrogates
from holdfast.tools.envelope import PICTURES, ToolError, ToolResult, error_result, tool_result
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
        if not callable(function):
            raise InputError(
                f"{describe_value(function)} cannot be made a tool",
                hint="write `@tool` before a function, or `@tool(name=…)` for another name",
            )
        defined = _defined(function)
        self.function = function
        self.name = name or getattr(defined, "__name__", "")
        self.is_read_only = is_read_only
        if not (isinstance(self.name, str) and _NAME.fullmatch(self.name)) or self.name == "__call__":
            raise InputError(
                f"`{self.name}` cannot be the name of a tool",
                hint="name it with `@tool(name=…)`: letters, digits, `_` and `-`, 64 at most",
            )
        if inspect.isgeneratorfunction(defined) or inspect.isasyncgenfunction(defined):
            raise InputError(f"the tool `{self.name}` yields its results", hint="return them, as a list")
        parameters = _parameters(function, self.name)
        said, about = split_docstring(inspect.getdoc(defined) or "", [one.name for one in parameters])
        if not (isinstance(description or said, str) and (description or said).strip()):
            raise InputError(
                f"the tool `{self.name}` does not say what it does",
                hint="write a docstring: the model reads it",
            )
        self._takes, schema = _arguments_type(defined, self.name, parameters, about)
        self.definition = ToolDefinition(self.name, description or said, schema)
        # Without the function's own attributes, which may be named as ours are.
        update_wrapper(self, function, updated=())

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
        call: Callable[..., Any] = partial(self.function, **named)
        try:
            returned = call() if inspect.iscoroutinefunction(self.function) else await _in_thread(call)
            # A decorated coroutine may be a plain function that returns one.
            return await returned if inspect.isawaitable(returned) else returned
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


async def _in_thread(call: Callable[[], Any]) -> Any:
    """Call a function in a thread of its own, so that a slow one can be timed and interrupted.

    Not `asyncio.to_thread`: a loop that ends, and the program, would wait for a function that does not end.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

    def end(value: Any, error: BaseException | None) -> None:
        if not ended.done():
            ended.set_result((value, error))

    def work() -> None:
        value, raised = None, None
        try:
            value = context.run(call)
        except BaseException as error:  # It is raised again where the result is awaited.
            raised = error
        with suppress(RuntimeError):  # The loop is closed: nobody waits any more.
            loop.call_soon_threadsafe(end, value, raised)

    context = copy_context()
    threading.Thread(target=work, name="tool", daemon=True).start()
    value, error = await ended
    if error is not None:
        raise error
    return value


def _defined(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that has the name, the docstring and the annotations."""
    while isinstance(function, partial):
        function = function.func
    if inspect.isroutine(function) or isinstance(function, type) or hasattr(function, "__wrapped__"):
        return function
    called: Callable[..., Any] = type(function).__call__
    return called


def _parameters(function: Callable[..., Any], name: str) -> list[inspect.Parameter]:
    """Raises InputError for a parameter that a model cannot give."""
    try:
        parameters = [*inspect.signature(function).parameters.values()]
    except ValueError:
        raise InputError(
            f"the parameters of the tool `{name}` are not known", hint="write a function that calls it"
        ) from None
    for parameter in parameters:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise InputError(
                f"the parameter `{parameter.name}` of the tool `{name}` cannot be given by name",
                hint="a tool's parameters are all named; take a list or a dict instead",
            )
    return parameters


def _arguments_type(
    defined: Callable[..., Any], name: str, parameters: list[inspect.Parameter], about: dict[str, str]
) -> tuple[type[Struct], dict[str, Json]]:
    """The parameters as a class, with its schema. Raises InputError for one that no model can be told."""
    try:
        hints = get_type_hints(defined, include_extras=True)
    except Exception as error:
        raise InputError(
            f"the annotations of the tool `{name}` cannot be read: {describe_exception(error)}",
            hint="define the types that they name at the top of the module, before the tool",
        ) from error
    fields: list[tuple[str, Any, Any]] = []
    for parameter in parameters:
        if parameter.name not in hints:
            is_method = parameter is parameters[0] and parameter.name in ("self", "cls")
            raise InputError(
                f"the parameter `{parameter.name}` of the tool `{name}` has no type",
                hint="make a tool of the method of an object: `tool(shop.stock)`"
                if is_method
                else f"annotate it, such as `{parameter.name}: str`",
            )
        kind = hints[parameter.name]
        beside = [one for one in getattr(kind, "__metadata__", ()) if isinstance(one, str)]
        if words := about.get(parameter.name) or " ".join(beside):
            kind = Annotated[kind, Meta(description=words)]
        field = (parameter.name, kind, _default(parameter))
        # One by one, so that the error names the parameter.
        _schema(name, [field])
        fields.append(field)
    return _schema(name, fields)


def _default(parameter: inspect.Parameter) -> Any:
    value = parameter.default
    if value is parameter.empty:
        return msgspec.field()
    if isinstance(value, list | dict | set | bytearray):
        return msgspec.field(default_factory=lambda: copy.deepcopy(value))
    try:
        msgspec.to_builtins(value, str_keys=True)
    except TypeError:  # A path, for example: the schema cannot say it.
        return msgspec.field(default_factory=lambda: value)
    return value


def _schema(name: str, fields: list[tuple[str, Any, Any]]) -> tuple[type[Struct], dict[str, Json]]:
    try:
        takes = msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True)
        schema = json_schema(takes)
    except (TypeError, RuntimeError, AssertionError, ValueError) as error:
        # msgspec's message for a class that it does not know has several lines, and none for a user.
        reason = "" if "\n" in str(error) else f": {error}"
        raise InputError(
            f"the parameter `{fields[0][0]}` of the tool `{name}` has a type that no model can be told{reason}",
            hint="use str, int, float, bool, list, dict, Literal, an enum, a Path, a dataclass, a TypedDict "
            "or a model of Pydantic",
        ) from error
    return takes, {key: value for key, value in schema.items() if key != "title"}


def _result(value: object, name: str) -> ToolResult:
    """What a function returned, as the model reads it."""
    match value:
        case ToolResult():
            return value
        case None:
            return tool_result(NOTHING, NOTHING)
        case str():
            # A class made from `str` is no text for a log.
            text = str.__str__(value)
            return tool_result(text or NOTHING, _first_line(text))
        case Text() | Image():
            return _of_parts([value], name)
        case [Text() | Image(), *_]:
            parts = [part for part in value if isinstance(part, Text | Image)]
            if len(parts) == len(value):
                return _of_parts(parts, name)
    try:
        text = _json(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolError(
            "EXECUTION_ERROR", f"{name} returned a `{type(value).__name__}` that is no JSON: {error}"
        ) from error
    return tool_result(text, _first_line(text))


def _json(value: object) -> str:
    try:
        return msgspec.json.encode(value, enc_hook=_plain).decode()
    except UnicodeEncodeError:  # Names of files, for example, may contain lone surrogates.
        plain = msgspec.to_builtins(value, str_keys=True, enc_hook=_plain)
        return msgspec.json.encode(without_surrogates(plain)).decode()


def _of_parts(parts: list[UserPart], name: str) -> ToolResult:
    for part in parts:
        if isinstance(part, Image):
            _check_picture(part, name)
    texts = "\n".join(part.text for part in parts if isinstance(part, Text))
    pictures = [part for part in parts if isinstance(part, Image)]
    return tool_result(texts or NOTHING, _first_line(texts), *pictures)


def _check_picture(picture: Image, name: str) -> None:
    """No provider takes any other, in this request and in all that follow."""
    try:
        is_data = isinstance(picture.data, str) and bool(b64decode(picture.data, validate=True))
    except ValueError:
        is_data = False
    if not (picture.url or (is_data and picture.media_type in PICTURES)):
        raise ToolError(
            "EXECUTION_ERROR",
            f"{name} returned a picture that cannot be shown: it needs a `url`, or `data` in base64 and one "
            f"of the types {', '.join(PICTURES)}",
        )


def _plain(value: Any) -> Any:
    """Objects with `model_dump` as JSON, and any other by its words."""
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) else str(value)


def _first_line(text: str) -> str:
    return text.partition("\n")[0][:200] or NOTHING
