"""The formats by name, and how a file tells which it is.

Rule: a format is recognised by the shape of its values; a file's name never decides.
"""

from collections.abc import Sequence
from difflib import get_close_matches

from holdfast.errors import InputError
from holdfast.messages import Json
from holdfast.recordings import (
    anthropic,
    claude_code,
    codex,
    copilot,
    neutral,
    openai_chat,
    pi,
    swe_agent,
)
from holdfast.recordings.shapes import items, obj, text

FORMATS = (
    neutral.NAME,
    openai_chat.NAME,
    anthropic.NAME,
    claude_code.NAME,
    codex.NAME,
    copilot.NAME,
    pi.NAME,
    swe_agent.NAME,
)
MESSAGES = (neutral.NAME, openai_chat.NAME, anthropic.NAME)
"""Formats that are lists of messages, and so overlap where a message is plain text."""

ANTHROPIC_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "document", "image")
CODEX_ITEMS = (*codex.CALLS, *codex.OUTPUTS, "reasoning")
CLAUDE_CODE_KEYS = ("parentUuid", "sessionId", "leafUuid", "isSnapshotUpdate", "session_id")


def check_format(name: str) -> str:
    if name not in FORMATS:
        near = get_close_matches(name.lower(), FORMATS, n=1, cutoff=0.3)
        guess = f"did you mean `{near[0]}`? " if near else ""
        raise InputError(
            f"`{name}` is not a format of recordings.", hint=f"{guess}known: {', '.join(FORMATS)}."
        )
    return name


def detect_format(values: Sequence[Json], name: str = "the input") -> str:
    """The format of a file from its first values; several are needed only for one message a line."""
    for value in values:
        if found := format_of(value):
            return found
    messages = [value for value in values if is_message(value)]
    if messages:
        return message_format(messages)
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    what = kinds.get(type(values[0]), "a number") if values else "nothing"
    raise InputError(
        f"{name} is not a recording in a known format: it begins with {what} that none of them has.",
        hint=f"name the format with `--from`; known: {', '.join(FORMATS)}.",
    )


def format_of(value: Json) -> str | None:
    """The format one value shows by itself; None for a lone message and for what is unknown."""
    if isinstance(value, list):
        return _list_format(value)
    record = obj(value)
    kind = record.get("type")
    if isinstance(record.get("messages"), list) and "id" in record and {"meta", "source"} & record.keys():
        return neutral.NAME
    if request := request_of(record):
        return _request_format(request)
    if isinstance(record.get("history"), list) or isinstance(record.get("trajectory"), list):
        return swe_agent.NAME
    if isinstance(kind, str):
        return _line_format(record, kind)
    if record.get("record_type") == "state" or {"id", "timestamp", "instructions"} <= record.keys():
        return codex.NAME
    return None


def _line_format(record: dict[str, Json], kind: str) -> str | None:
    if kind in codex.ENVELOPES and "payload" in record:
        return codex.NAME
    if any(key in record for key in CLAUDE_CODE_KEYS):
        return claude_code.NAME
    if isinstance(record.get("data"), dict) and ("." in kind or kind == "abort"):
        return copilot.NAME
    if kind == "session" or (kind == "message" and isinstance(record.get("message"), dict)):
        return pi.NAME
    bare = kind == "message" and "role" in record and _block_types(record) & {"input_text", "output_text"}
    return codex.NAME if kind in CODEX_ITEMS or bare else None


def _list_format(values: list[Json]) -> str | None:
    if not values:
        return None
    if is_message(values[0]):
        return message_format(values)
    return format_of(values[0]) if isinstance(values[0], dict | list) else None


def _request_format(request: dict[str, Json]) -> str:
    """By its messages; where they are plain text, by what else only Anthropic's requests have."""
    apart = request.get("system") is not None
    schemas = any("input_schema" in obj(tool) for tool in items(request.get("tools")))
    plain = anthropic.NAME if apart or schemas else openai_chat.NAME
    return _marked_format(request["messages"]) or plain


def request_of(record: dict[str, Json]) -> dict[str, Json]:
    """The request with its messages, out of the envelope of a batch line if it is in one."""
    for request in (record, obj(record.get("body")), obj(record.get("params"))):
        if isinstance(request.get("messages"), list):
            return request
    return {}


def is_message(value: Json) -> bool:
    return "role" in obj(value) and not {"payload", "uuid", "sessionId"} & value.keys()


def message_format(messages: Sequence[Json]) -> str:
    """Anthropic's by its blocks; whatever is plain text in both is read as OpenAI's."""
    return _marked_format(messages) or openai_chat.NAME


def _marked_format(messages: Sequence[Json]) -> str | None:
    for message in map(obj, messages):
        if message.get("tool_calls") or message.get("role") in ("tool", "function", "developer"):
            return openai_chat.NAME
        if _block_types(message) & set(ANTHROPIC_BLOCKS):
            return anthropic.NAME
    return None


def _block_types(message: dict[str, Json]) -> set[str]:
    return {text(obj(block).get("type")) for block in items(message.get("content"))}
