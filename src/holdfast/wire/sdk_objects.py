"""Objects of the providers' SDKs as plain JSON, and what a whole response of theirs says.

Rule: no SDK is imported. An object is known by `model_dump`, or as a dataclass or struct; a response by its fields.
What is JSON already stays as it is.
"""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import asdict, is_dataclass

import msgspec
from msgspec import Struct

from holdfast.errors import InputError
from holdfast.messages import Json, ToolCall, ToolDefinition, Usage
from holdfast.wire.content_blocks import FormatName, tool_call
from holdfast.wire.foreign_json import Losses, obj, text
from holdfast.wire.formats import FORMATS

PLAIN = (str, int, float, bool, type(None))
"""Types of values that are copied as they are, most of all that there is."""


def plain_json(value: object) -> Json:
    """A value as JSON, with every object of an SDK in it. Anything else stays: the check of JSON refuses it."""
    if type(value) in PLAIN:
        return value
    if isinstance(value, Mapping):
        return {key: plain_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(item) for item in value]
    if not isinstance(value, type) and callable(dump := getattr(value, "model_dump", None)):
        return plain_json(dump(mode="json", by_alias=True, exclude_none=True))
    if is_dataclass(value) and not isinstance(value, type):
        return plain_json({name: item for name, item in asdict(value).items() if item is not None})
    if isinstance(value, Struct):
        return msgspec.to_builtins(value)
    return b64encode(value).decode() if isinstance(value, bytes | bytearray) else value


def plain_message(message: object, called: str = "the message") -> Json:
    """A message as JSON. Most are plain dicts of texts already, and are not copied; bytes are no message."""
    is_flat = type(message) is dict and all(type(value) in PLAIN for value in message.values())
    if is_flat or isinstance(message, bytes | bytearray):
        return message
    return _converted(message, called)


def plain_tools(tools: Iterable[object] | None) -> list[Json]:
    """Definitions of tools as JSON; those of ours stay as they are."""
    if isinstance(tools, str | bytes | Mapping) or not isinstance(tools, Iterable | None):
        kind = type(tools).__name__
        raise InputError(f"the tools are of type `{kind}`, not a list", hint="pass a list of definitions")
    return [
        tool if isinstance(tool, ToolDefinition) else _converted(tool, f"tool {at}")
        for at, tool in enumerate(tools or ())
    ]


def _converted(value: object, called: str) -> Json:
    """A value as JSON, whatever its own code does. Raises InputError where it cannot be had."""
    try:
        return plain_json(value)
    except RecursionError:
        raise InputError(f"{called} nests values too deep", hint="messages are plain JSON") from None
    except Exception as error:
        raise InputError(
            f"{called} is a `{type(value).__name__}` that cannot be written as JSON: {error}",
            hint="pass a plain dict in its place",
        ) from error


class ProviderResponse(Struct, frozen=True):
    """A whole response: the messages in it, and what it says besides."""

    format: FormatName
    messages: list[Json]
    usage: Usage | None = None
    model: str = ""
    stop: str = ""


def read_response(value: Json) -> ProviderResponse | None:
    """What a response says, given as JSON; None for what is none."""
    body = obj(value)
    if isinstance(body.get("choices"), list):
        choice = obj(next(iter(body["choices"]), None))
        return _response("openai", body, [choice.get("message")], "usage", choice.get("finish_reason"))
    if isinstance(body.get("output"), list) and "role" not in body:
        details = obj(body.get("incomplete_details"))
        stop = details.get("reason") or body.get("status")
        return _response("responses", body, body["output"], "usage", stop)
    if isinstance(body.get("candidates"), list) or "promptFeedback" in body or "prompt_feedback" in body:
        candidate = obj(next(iter(body.get("candidates") or ()), None))
        stop = candidate.get("finishReason", candidate.get("finish_reason"))
        usage = "usageMetadata" if "usageMetadata" in body else "usage_metadata"
        content = obj(candidate.get("content"))
        said = [{"role": "model", **content}] if content.get("parts") else []
        return _response("gemini", body, said, usage, stop)
    if body.get("type") == "message" and body.get("role") == "assistant" and "usage" in body:
        return _response("anthropic", body, [body], "usage", body.get("stop_reason"))
    return None


def _response(
    format: FormatName,  # noqa: A002 - the word of the interface
    body: dict[str, Json],
    messages: list[Json],
    usage: str,
    stop: Json,
) -> ProviderResponse:
    model = text(body.get("model")) or text(body.get("modelVersion")) or text(body.get("model_version"))
    said = [message for message in messages if obj(message)]
    return ProviderResponse(
        format, said, FORMATS[format].read_usage(body.get(usage)), model, text(stop).lower()
    )


def read_call(value: Json) -> ToolCall | None:
    """A call as it was in a reply of any provider; None for what is none."""
    body = obj(value)
    body = obj(body.get("functionCall")) or obj(body.get("function_call")) or body
    call_id = body.get("call_id") or body.get("id")
    body = obj(body.get("function")) or body
    arguments = next((body[key] for key in ("arguments", "input", "args") if key in body), None)
    if not text(body.get("name")) or not isinstance(arguments, str | dict | None):
        return None
    return tool_call(call_id, body["name"], arguments, Losses())
