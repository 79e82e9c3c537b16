"""What can be set in a profile, by key or by environment variable.

Rule: what a setting is and takes is read off `Profile`; a new field there is a new setting everywhere.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.inspect import BoolType, FloatType, IntType, LiteralType, Metadata, StrType, Type, VarTupleType

from holdfast.errors import ConfigError, describe_value, suggest
from holdfast.messages import Json
from holdfast.packing.amounts import parse_tokens
from holdfast.packing.profile import Profile

PREFIX = "HOLDFAST_"

VARIABLE_ALIASES: dict[str, tuple[str, ...]] = {
    "CONTEXT_WINDOW": ("window",),
    "API_HARD_LIMIT": ("window",),
    "COMPRESSION_THRESHOLD": ("trigger_ratio",),
    "COMPACT_TRIGGER_THRESHOLD": ("trigger_tokens",),
    "MIN_RETAIN_ROUNDS": ("keep",),
    "MAX_TURNS": ("keep",),
    "KEEP_RECENT_STEPS": ("keep", "keep_floor"),
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
    for one in described.fields:
        if isinstance(one.type, Metadata):
            extra = one.type.extra_json_schema or {}
            kind, is_tokens = one.type.type, extra.get("title") == "tokens"
            takes = _takes(kind, is_tokens)
            about = extra["description"]
            settings[one.name] = Setting(one.name, about, takes, kind, annotations[one.name], is_tokens)
    return settings


SETTINGS = _settings()

OTHER_VARIABLES = (
    "HOLDFAST_STORE",
    "HOLDFAST_PROFILE",
    "HOLDFAST_MODEL",
    "HOLDFAST_EFFORT",
    "HOLDFAST_CONFIG",
    "HOLDFAST_RECORDINGS",
    "HOLDFAST_LOCAL_MODEL",
    "HOLDFAST_LLAMA_SERVER",
    "HOLDFAST_SARIF_SCHEMA",
    "HOLDFAST_DEBUG",
    "HOLDFAST_NOTIFY",
    "HOLDFAST_NOTIFY_SECONDS",
    "HOLDFAST_THEME",
)
"""Variables that do not set a setting of a profile."""


def read_env(env: Mapping[str, str], *, keep_unit: str) -> tuple[dict[str, Json], tuple[str, ...]]:
    """Settings that the environment gives, and warnings about variables that give none. Empty means not set."""
    values: dict[str, Json] = {}
    givers: dict[str, str] = {}
    warnings: list[str] = []
    known: dict[str, tuple[str, ...]] = {PREFIX + setting.upper(): (setting,) for setting in SETTINGS}
    known |= {PREFIX + alias: settings for alias, settings in VARIABLE_ALIASES.items()}
    for variable, settings in known.items():
        if not (text := env.get(variable, "")):
            continue
        counts = ALIAS_UNITS.get(variable.removeprefix(PREFIX), keep_unit)
        if counts != keep_unit:
            warnings.append(f"`{variable}` counts {counts} and is ignored: the profile keeps {keep_unit}")
        elif settings[0] in givers:
            warnings.append(f"`{variable}` is ignored: `{givers[settings[0]]}` sets `{settings[0]}` already")
        else:
            for setting in settings:
                values.setdefault(
                    setting, SETTINGS[setting].read_text(text, f"environment variable `{variable}`")
                )
            givers[settings[0]] = variable
    for variable in sorted(env):
        if variable.startswith(PREFIX) and variable not in known and variable not in OTHER_VARIABLES:
            hint = suggest(variable, [*known, *OTHER_VARIABLES])
            warnings.append(f"`{variable}` is not a variable of Holdfast; {hint}")
    return values, tuple(warnings)
