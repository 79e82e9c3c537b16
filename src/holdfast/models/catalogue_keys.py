"""What a catalogue's file may say: the keys of a model and of a provider, and what each takes.

Rule: an unknown key or a wrong value is refused in one sentence: which key, what it takes, what was found.
"""

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Literal, get_args

from holdfast.effort import EFFORTS, Effort
from holdfast.errors import ConfigError, describe_value, suggest
from holdfast.messages import Json
from holdfast.packing.amounts import parse_tokens

ApiProtocol = Literal["messages", "responses", "chat"]
"""The API of a model: Anthropic's messages, OpenAI's responses, or chat completions."""

ThinkingMode = Literal["no", "adaptive", "budget", "effort", "switch"]
"""How thinking is asked for: as the model sees fit, a number of tokens, an effort, on or off."""

ThinkingOff = Literal["default", "none", "minimal", "low", "disabled", "between_tools"]
"""What is sent to a model that thinks by default where no thinking is asked for; `default` sends nothing."""

SystemStyle = Literal["blocks", "merged", "mock_pair"]
"""Where system messages go. `blocks`: each stays a message of its own. `merged`: all become one, the first message.
`mock_pair`: for models without a system role, a user message with all of them and a short reply to it."""

LimitField = Literal["max_tokens", "max_completion_tokens"]
"""The field for the longest reply in chat completions."""

ReadKey = Callable[[Json, str, str], Json]
"""Checks a value, given its file and its key there, and returns it in its type."""


def is_url(text: str) -> bool:
    scheme, _, rest = text.partition("://")
    return scheme in ("http", "https") and bool(rest.strip("/")) and not any(c.isspace() for c in text)


def read_table(table: Json, keys: Mapping[str, ReadKey], where: str, path: str) -> dict[str, Json]:
    if not isinstance(table, dict):
        raise ConfigError(f"{where}: `{path}` should be a table", hint=f"write it as `[{path}]`")
    values = {}
    for key, value in table.items():
        if key not in keys:
            raise ConfigError(f"{where}: unknown key `{path}.{key}`", hint=suggest(key.lower(), keys))
        values[key] = keys[key](value, where, f"{path}.{key}")
    return values


def _takes(takes: str, is_right: Callable[[Json], bool]) -> ReadKey:
    """A key that takes what is right; the words say what that is."""

    def read(value: Json, where: str, path: str) -> Json:
        if not is_right(value):
            raise ConfigError(f"{where}: `{path}` should be {takes}, found {describe_value(value)}")
        return value

    return read


def _tokens(value: Json, where: str, path: str) -> Json:
    try:
        return parse_tokens(value)
    except ConfigError as error:
        takes = "a number of tokens such as `200_000` or `200k`"
        raise ConfigError(f"{where}: `{path}` should be {takes}, found {describe_value(value)}") from error


def _is_amount(value: Json) -> bool:
    # `true` is an int in Python, and TOML has `nan` and `inf`.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and isfinite(value) and value >= 0


def _amount(value: Json, where: str, path: str) -> Json:
    return float(_takes("a number of at least 0", _is_amount)(value, where, path))


def _one_of(kind: object) -> ReadKey:
    words = get_args(kind)
    return _takes("one of " + ", ".join(f"`{word}`" for word in words), words.__contains__)


def _efforts(value: Json, where: str, path: str) -> Json:
    """Levels in their order; `off` is not one of them, since `always_thinks` says whether it can be chosen."""
    takes = "a list of " + ", ".join(f"`{one}`" for one in EFFORTS[1:])
    given = _takes(takes, lambda value: isinstance(value, list) and set(map(str, value)) <= {*EFFORTS[1:]})
    return tuple(one for one in EFFORTS[1:] if one in given(value, where, path))


def _table_of(keys: Mapping[str, ReadKey]) -> ReadKey:
    return lambda value, where, path: read_table(value, keys, where, path)


_truth = _takes("true or false", lambda value: isinstance(value, bool))
_text = _takes("text", lambda value: isinstance(value, str))
_url = _takes(
    "an address such as `http://127.0.0.1:8000/v1`", lambda value: isinstance(value, str) and is_url(value)
)
PRICE: dict[str, ReadKey] = dict.fromkeys(("input", "output", "cache_read", "cache_write"), _amount)
ENTRY: dict[str, ReadKey] = {
    "window": _tokens,
    "max_output": _tokens,
    "price": _table_of(PRICE),
    "beyond": _table_of({**PRICE, "tokens": _tokens}),
    "protocol": _one_of(ApiProtocol),
    "tools": _truth,
    "images": _truth,
    "thinking": _one_of(ThinkingMode),
    "efforts": _efforts,
    "effort": _one_of(Effort),
    "thinking_off": _one_of(ThinkingOff),
    "always_thinks": _truth,
    "temperature": _truth,
    "system": _one_of(SystemStyle),
    "limit_field": _one_of(LimitField),
    "reasoning_field": _text,
    "binds_thinking": _truth,
    "search": _text,
    "search_price": _amount,
    "cache_seconds": _amount,
    "cache_minimum": _tokens,
    "url": _url,
    "note": _text,
}
PROVIDER: dict[str, ReadKey] = {
    "url": _url,
    "key": _text,
    "url_variable": _text,
    "is_local": _truth,
    "defaults": _table_of(ENTRY),
}
