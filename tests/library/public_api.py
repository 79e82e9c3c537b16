"""The public signatures as text: `uv run python tests/library/public_api.py > tests/library/public_api.txt`."""

import inspect
from collections.abc import Callable, Collection, Iterator

from msgspec import NODEFAULT, Struct, structs

import holdfast

INSIDE: dict[str, Collection[str]] = {
    "Agent": {
        # Parameters for the built-in agents, and what the loop calls.
        *("workspace", "gate", "request_settings", "call_settings", "summarizer", "compacts_in_background"),
        *("budget", "kept_data", "ask", "record_empty_reply", "record_messages", "record_reply", "remind"),
        *(
            "hears_more",
            "run_tools",
            "running",
            "stopped",
            "summarize",
            "take_back",
            "take_summary",
            "waits_for_summary",
            "model_entry",
        ),
    },
    "Packed": {"make_record", "record", "pack", "store", "log"},
    "Profile": {
        *("cap_for", "counted_reply", "first_sight_tokens", "hard_limit", "low_water", "low_water_above"),
        *("min_gain", "paste_tokens", "recent_tokens", "reply_room", "trigger", "for_model"),
    },
    "ScriptedModel": {"stream", "aclose"},
    "Session": {"known_calls", "make_room", "rewind", "catch_up"},
}
"""What of a class is not for users, though it has no underscore."""


def lines() -> Iterator[str]:
    for name in sorted(holdfast.__all__):
        value = getattr(holdfast, name)
        if inspect.isclass(value):
            yield f"class {name}"
            yield from (f"    {line}" for line in members(value))
        elif callable(value):
            yield f"{name}{signature(value)}"
        elif name != "__version__":
            yield name


def members(owner: type) -> Iterator[str]:
    inside = INSIDE.get(owner.__name__, frozenset())
    if issubclass(owner, Struct):
        for field in structs.fields(owner):
            if field.name in inside:
                continue
            is_required = field.default is NODEFAULT and field.default_factory is NODEFAULT
            yield f"{field.name}{'' if is_required else ' = …'}"
    else:
        yield f"__init__{signature(owner.__init__, inside)}"
    for name, value in inspect.getmembers_static(owner):
        if name.startswith("_") or name in inside:
            continue
        if isinstance(value, classmethod):
            yield f"classmethod {name}{signature(value.__func__)}"
        elif inspect.isfunction(value):
            prefix = "async " if inspect.iscoroutinefunction(value) else ""
            yield f"{prefix}{name}{signature(value)}"
        elif isinstance(value, property) or type(value).__name__ == "cached_property":
            yield f"property {name}"


def signature(function: Callable[..., object], inside: Collection[str] = ()) -> str:
    """Parameters by name, and which may be left out. Their types are in `typed_user.py`, for a type checker."""
    empty = inspect.Parameter.empty
    shown = [
        parameter.replace(annotation=empty, default=... if parameter.default is not empty else empty)
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name not in inside
    ]
    return str(inspect.Signature(shown)).replace("Ellipsis", "...")


if __name__ == "__main__":
    print("\n".join(lines()))  # noqa: T201
