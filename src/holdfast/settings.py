"""The settings: what each is, what it takes, and how people set it, by key or by environment variable.

Rule: everything here is read off `Profile`; a new field there is a new setting everywhere.
"""

from typing import Any

import msgspec
from msgspec import Struct
from msgspec.inspect import BoolType, FloatType, IntType, LiteralType, Metadata, StrType, Type, VarTupleType

from holdfast.errors import ConfigError, describe_value
from holdfast.messages import Json
from holdfast.packing.profile import BUILT_IN, Profile, parse_tokens

PREFIX = "HOLDFAST_"
"""Names that a hint lists."""

VARIABLE_ALIASES: dict[str, tuple[str, ...]] = {
    "CONTEXT_WINDOW": ("window",),
    "API_HARD_LIMIT": ("window",),
    "COMPRESSION_THRESHOLD": ("trigger_ratio",),
    "COMPACT_TRIGGER_THRESHOLD": ("trigger_tokens",),
    "MIN_RETAIN_ROUNDS": ("keep",),
    "MAX_TURNS": ("keep",),
    "KEEP_RECENT_STEPS": ("keep", "keep_floor", "steps_floor"),
    "MAX_TOOL_CHARS_PER_MESSAGE": ("max_tool_chars",),
}
"""Names of the design documents for settings; `SUMMARY_TIMEOUT` and `MAX_MESSAGES` are names of settings too."""

ALIAS_UNITS = {"MIN_RETAIN_ROUNDS": "rounds", "MAX_TURNS": "rounds", "KEEP_RECENT_STEPS": "steps"}
"""What such a name counts: it applies only to profiles that keep the same unit."""


class Setting(Struct, frozen=True):
    """`takes` says in words what values are legal."""

    name: str
    about: str
    takes: str
    kind: Type
    annotation: Any
    is_tokens: bool

    @property
    def variables(self) -> tuple[str, ...]:
        """Environment variables that set it, the strongest first."""
        aliases = (alias for alias, names in VARIABLE_ALIASES.items() if names[0] == self.name)
        return (PREFIX + self.name.upper(), *(PREFIX + alias for alias in aliases))

    def read(self, value: Json, where: str) -> Json:
        """A value from a file, in the setting's type."""
        try:
            if self.is_tokens and isinstance(value, int | str):
                return parse_tokens(value)
            return msgspec.convert(value, self.annotation)
        except (msgspec.ValidationError, ConfigError) as error:
            raise self._refusal(value, where) from error

    def read_text(self, text: str, where: str) -> Json:
        """A value from an environment variable; a list is separated by commas."""
        if self.is_tokens or isinstance(self.kind, StrType):
            return self.read(text, where)
        value: Json = text.strip()
        if isinstance(self.kind, VarTupleType):
            value = [part.strip() for part in text.split(",")]
        elif isinstance(self.kind, IntType):
            value = value.replace("_", "")
        try:
            return msgspec.convert(value, self.annotation, strict=False)
        except msgspec.ValidationError as error:
            raise self._refusal(text, where) from error

    def _refusal(self, value: Json, where: str) -> ConfigError:
        return ConfigError(
            f"{where} should be {self.takes}, found {describe_value(value)}",
            hint=f"`{self.name}`: {self.about}",
        )


def setting_text(value: Json) -> str:
    """A setting's value as it is written in a file."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:_}"
    if isinstance(value, tuple):
        return ", ".join(value)
    return str(value)


def settings_table() -> str:
    """All settings with their defaults per built-in profile and their variables, as a Markdown table."""
    head = ["setting", "what it is", *(f"`{name}`" for name in BUILT_IN), "environment"]
    rows = [head, ["---"] * len(head)]
    for setting in SETTINGS.values():
        values = [getattr(profile, setting.name) for profile in BUILT_IN.values()]
        cells = [setting_text(value) if setting.name != "mock_prompt" else "see below" for value in values]
        variables = ", ".join(f"`{variable}`" for variable in setting.variables)
        rows.append([f"`{setting.name}`", setting.about, *cells, variables])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _takes(kind: Type, is_tokens: bool) -> str:
    match kind:
        case IntType():
            return "a number of tokens such as `32k`" if is_tokens else "a whole number of at least 0"
        case FloatType(le=1):
            return "a share from 0 to 1"
        case FloatType():
            return "a number above 0"
        case BoolType():
            return "true or false"
        case LiteralType(values=values):
            return "one of " + ", ".join(f"`{value}`" for value in values)
        case VarTupleType(item_type=LiteralType(values=values)):
            return "a list of " + ", ".join(f"`{value}`" for value in values)
        case _:
            return "text"


def _settings() -> dict[str, Setting]:
    annotations = {f.name: f.type for f in msgspec.structs.fields(Profile)}
    described: Any = msgspec.inspect.type_info(Profile)
    settings = {}
    for field in described.fields:
        if isinstance(field.type, Metadata):
            extra = field.type.extra_json_schema or {}
            kind, is_tokens = field.type.type, extra.get("title") == "tokens"
            takes = _takes(kind, is_tokens)
            about = extra["description"]
            settings[field.name] = Setting(field.name, about, takes, kind, annotations[field.name], is_tokens)
    return settings


SETTINGS = _settings()
