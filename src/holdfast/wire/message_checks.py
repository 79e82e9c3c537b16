"""Whether values are messages at all, before anything is read of them.

Rule: what is none is refused in a sentence that says which one, and what would be one; plain JSON is left as it is.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from holdfast.errors import InputError
from holdfast.messages import Json
from holdfast.wire.content_blocks import SYSTEM_ROLES
from holdfast.wire.foreign_json import Losses, is_too_deep, obj
from holdfast.wire.responses import ITEM_TYPES

OPENAI_ROLES = (*SYSTEM_ROLES, "user", "assistant", "tool", "function")


def is_message(value: Json) -> bool:
    """An item of the Responses API, or one of Gemini's contents, may have no role."""
    found = obj(value)
    has_role, has_parts = found.get("role") is not None, isinstance(found.get("parts"), list)
    has_shape = has_role or has_parts or found.get("type") in ITEM_TYPES
    return has_shape and not {"payload", "uuid", "sessionId"} & found.keys()


def checked_list(messages: Sequence[object]) -> list[Json]:
    """The messages as a list of our own; an error for what cannot be one."""
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        raise InputError(
            f"the messages are of type `{type(messages).__name__}`, not a list.",
            hint='pass a list such as [{"role": "user", "content": "Fix the parser."}].',
        )
    return list(messages)


def check_roles(messages: list[Json], start: int = 0) -> None:
    for number, message in enumerate(messages, start):
        if not is_message(message):
            what = "has no `role`" if isinstance(message, dict) else f"is of type `{type(message).__name__}`"
            raise InputError(f"message {number} {what}", hint=_nearest(message))
        role = message.get("role")
        if role is not None and role not in (*OPENAI_ROLES, "model"):
            raise InputError(
                f"message {number} has the role `{str(role)[:40]}`, which no provider knows",
                hint=f"the roles are {', '.join(OPENAI_ROLES)}, and Gemini's `model`",
            )


def _nearest(value: object) -> str:
    """What would be a message, in place of a value that is none."""
    if isinstance(value, str):
        return 'a text needs a role: {"role": "user", "content": "…"}'
    if isinstance(value, dict) and "tool_use_id" in value:
        return 'a result of Anthropic\'s is a block of a message: {"role": "user", "content": [it]}'
    if isinstance(value, dict) and ("functionResponse" in value or "function_response" in value):
        return 'a part of Gemini\'s belongs to a content: {"role": "user", "parts": [it]}'
    return 'a message is {"role": …, "content": …}, or an object of an SDK that has `model_dump()`'


def checked_messages(messages: list[Json], losses: Losses, start: int = 0) -> list[Json]:
    """The messages as `checked_json` gives them; an error calls one by its place."""
    try:
        checked: list[Json] = checked_json(messages, losses)
    except InputError:
        for place, message in enumerate(messages, start):
            checked_json(message, losses, f"message {place}")
        raise
    return checked


def checked_json(value: Json, losses: Losses, called: str = "a message") -> Json:
    """The value if it is plain JSON, with U+FFFD for lone surrogates, which Python strings can hold."""
    is_deep = False
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        value = _scrubbed(value, losses)
    except RecursionError:
        is_deep = True
    except TypeError as error:
        raise InputError(
            f"{called} holds something that JSON cannot: {error}",
            hint="pass plain dicts; objects of an SDK have `model_dump()`",
        ) from error
    if is_deep or is_too_deep(value):
        raise InputError(f"{called} nests values too deep", hint="messages are plain JSON")
    for key in _keys(value):
        if not isinstance(key, str):
            raise InputError(
                f"{called} has the key {str(key)[:40]} of type {type(key).__name__}, and JSON's keys are strings",
                hint="write the key as a string: two keys that differ in type only would become one",
            )
    return value


def _keys(value: Json) -> Iterator[Json]:
    """The keys of all objects within a value."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            yield from found
            waiting += [v for v in found.values() if isinstance(v, dict | list | tuple)]
        elif isinstance(found, list | tuple):
            waiting += [v for v in found if isinstance(v, dict | list | tuple)]


def _scrubbed(value: Json, losses: Losses) -> Json:
    if isinstance(value, str):
        clean = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        losses.add("replaced by U+FFFD", "texts with lone surrogates", clean != value)
        return clean
    if isinstance(value, dict):
        return {_scrubbed(key, losses): _scrubbed(item, losses) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_scrubbed(item, losses) for item in value]
    return value
