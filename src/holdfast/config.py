"""Configuration: what can be set, by key or by environment variable, and profiles, models and defaults from a file,
overridden by the environment.

Rule: what a setting is and takes is read off `Profile`; a new field there is a new setting everywhere. The
environment beats the file and the file beats what is built in. Given the file's text and the environment
the answer is a pure function of both; only `find_config` and `load_config` touch the disk.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.inspect import BoolType, FloatType, IntType, LiteralType, Metadata, StrType, Type, VarTupleType
from msgspec.structs import asdict, replace

from holdfast.errors import ConfigError, NotFound, describe_value, suggest
from holdfast.messages import Json
from holdfast.packing.amounts import parse_tokens
from holdfast.packing.profile import BUILT_IN, Profile
from holdfast.packing.unused_settings import unused_settings

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
)
"""Variables that do not set a setting of a profile."""

DEFAULTS = ("default_profile", "default_model", "default_effort", "store")


class Config(Struct, frozen=True):
    """What a file says. `profiles` are the settings each one changes, already in their types; `models`,
    `permissions` and `servers` (of `[mcp.servers]`) are tables as they are written, which the catalogue of models
    and the tools read."""

    where: str = ""
    default_profile: str = ""
    default_model: str = ""
    default_effort: str = ""
    store: str = ""
    profiles: dict[str, dict[str, Json]] = field(default_factory=dict)
    bases: dict[str, str] = field(default_factory=dict)
    models: dict[str, dict[str, Json]] = field(default_factory=dict)
    permissions: dict[str, Json] = field(default_factory=dict)
    servers: dict[str, Json] = field(default_factory=dict)


class ResolvedProfile(Struct, frozen=True):
    """A profile, and warnings about how it came to be."""

    profile: Profile
    warnings: tuple[str, ...] = ()


def resolve_profile(
    config: Config,
    env: Mapping[str, str],
    name: str = "",
    *,
    model_window: int = 0,
    defaults: Mapping[str, Json] | None = None,
) -> ResolvedProfile:
    """A profile from a configuration and an environment, with warnings; `defaults` take the place of the values
    that are built in. Pure."""
    name = name or env.get("HOLDFAST_PROFILE", "") or config.default_profile or "code"
    base, changes = _collected(config, name)
    _check_used(config, name, base, changes)
    base = replace(base, **(defaults or {}))
    unit = changes.get("keep_unit", base.keep_unit)
    overrides, warnings = read_env(env, keep_unit=env.get("HOLDFAST_KEEP_UNIT") or unit)
    used, ignored = _used(name, base, changes, overrides)
    given = {**changes, **used}
    if "window" in given:  # a window that a person chose is not the model's to enlarge
        given.setdefault("follows_model", False)
    given = {**_following(base, given), **given}
    try:
        profile = Profile(**{**asdict(base), **given, "name": name})
    except ConfigError as error:
        sources = [config.where] * bool(changes) + ["the environment"] * bool(overrides)
        raise ConfigError(f"{' and '.join(sources)}: {error.message}", hint=error.hint) from error
    return ResolvedProfile(profile.for_model(model_window), (*warnings, *ignored))


def _check_used(config: Config, name: str, base: Profile, changes: Mapping[str, Json]) -> None:
    """What a profile's own table sets must change something."""
    unused = unused_settings({**asdict(base), **changes})
    for setting, value in config.profiles.get(name, {}).items():
        if setting in unused and value != getattr(base, setting):
            raise ConfigError(
                f"{config.where}: profile `{name}`: `{setting}` would change nothing, because {unused[setting]}",
                hint=f"leave `{setting}` out",
            )


def _used(
    name: str, base: Profile, changes: Mapping[str, Json], overrides: Mapping[str, Json]
) -> tuple[dict[str, Json], list[str]]:
    """What the environment gives and this profile uses, and a warning for each of the others: the environment is
    for every profile."""
    unused = unused_settings({**asdict(base), **changes, **overrides})
    warnings = [
        f"`{PREFIX}{one.upper()}` is ignored by `{name}`: {unused[one]}" for one in overrides if one in unused
    ]
    return {one: value for one, value in overrides.items() if one not in unused}, warnings


def _following(base: Profile, given: Mapping[str, Json]) -> dict[str, Json]:
    """The low-water mark, lowered with the trigger where a person lowers only the trigger, below the mark. One that
    a person chose has no cap; else the cap grows with the window."""
    if any(given[one] or getattr(base, one) for one in ("fold_to_ratio", "fold_to_tokens") if one in given):
        return {"fold_to_cap": 0}
    share, tokens = given.get("trigger_ratio"), given.get("trigger_tokens")
    if not (share or tokens):
        return {"fold_to_cap": base.cap_for(given.get("window", 0))}
    marks = [share / base.trigger_ratio] if share and base.trigger_ratio else []
    marks += [tokens / base.trigger] if tokens and base.trigger else []
    lower = min(marks, default=1.0)
    cap = {} if tokens else {"fold_to_cap": base.cap_for(given.get("window", 0))}
    base = replace(base, fold_to_cap=given.get("fold_to_cap", base.fold_to_cap))
    if lower <= 0 or base.low_water < base.trigger * lower:
        return cap
    share = round(base.fold_to_ratio * lower, 4)
    return {**cap, "fold_to_ratio": share, "fold_to_tokens": int(base.fold_to_tokens * lower)}


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


def parse_config(text: str, where: str, *, section: tuple[str, ...] = ()) -> Config:
    """The configuration in a TOML text; `section` is the table that holds it. Pure."""
    try:
        table: Json = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        hint = 'fix the file; a setting is written like `default_profile = "code"`'
        raise ConfigError(f"{where} is not valid TOML: {error}", hint=hint) from error
    for key in section:
        table = table.get(key, {}) if isinstance(table, dict) else {}
    config = Config(where=where)
    defaults: dict[str, str] = {}
    prefix = "".join(key + "." for key in section)
    for key, value in _table(table, where, prefix.rstrip(".")).items():
        if key == "profile":
            for name, settings in _table(value, where, prefix + key).items():
                found = _profile(settings, where, f"{prefix}profile.{name}")
                config.bases[name], config.profiles[name] = found
        elif key == "models":
            for name, entry in _table(value, where, prefix + key).items():
                config.models[name] = _table(entry, where, f'{prefix}models."{name}"')
        elif key == "permissions":
            config.permissions.update(_table(value, where, prefix + key))
        elif key == "mcp":
            for part, entry in _table(value, where, prefix + key).items():
                if part != "servers":
                    raise _unknown(part, where, f"{prefix}mcp.{part}", ["servers"])
                config.servers.update(_table(entry, where, f"{prefix}mcp.servers"))
        elif key == "settings":
            for default, given in _table(value, where, prefix + key).items():
                _add_default(defaults, default, given, where, f"{prefix}settings.{default}")
        else:
            _add_default(defaults, key, value, where, prefix + key)
    return replace(config, **defaults)


def find_config(cwd: Path) -> Path | None:
    """The nearest `holdfast.toml`, or `pyproject.toml` that has a `[tool.holdfast]` table, from a folder upward."""
    start = cwd.resolve()
    for folder in (start, *start.parents):
        if (own := folder / "holdfast.toml").is_file():
            return own
        shared = folder / "pyproject.toml"
        if shared.is_file() and "[tool.holdfast" in _text(shared):
            return shared
    return None


def load_config(*, cwd: Path, env: Mapping[str, str]) -> Config:
    """The configuration for a folder: the file that `HOLDFAST_CONFIG` names, or the nearest, or none."""
    path = find_config(cwd)
    if named := env.get("HOLDFAST_CONFIG", ""):
        path = cwd / Path(named).expanduser()
        if not path.is_file():
            raise NotFound(f"`HOLDFAST_CONFIG` names {path}, which is not a file")
    config = Config()
    if path is not None:
        section = ("tool", "holdfast") if path.name == "pyproject.toml" else ()
        config = parse_config(_text(path), str(path), section=section)
    store = env.get("HOLDFAST_STORE", "")
    folder = cwd if store or path is None else path.parent
    store = store or config.store
    placed = str(folder / Path(store).expanduser()) if store else ""
    return replace(config, store=placed)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error


def _table(value: Json, where: str, key: str) -> dict[str, Json]:
    if isinstance(value, dict):
        return value
    raise ConfigError(f"{where}: `{key}` should be a table", hint=f"write it as `[{key}]`")


def _add_default(defaults: dict[str, str], key: str, value: Json, where: str, path: str) -> None:
    if key not in DEFAULTS:
        raise _unknown(key, where, path, [*DEFAULTS, "profile", "models", "permissions", "mcp", "settings"])
    if not isinstance(value, str):
        raise ConfigError(f"{where}: `{path}` should be text, found a {type(value).__name__}")
    if key in defaults:
        raise ConfigError(f"{where}: `{path}` is given twice", hint="once at the top or once in `[settings]`")
    defaults[key] = value


def _profile(table: Json, where: str, path: str) -> tuple[str, dict[str, Json]]:
    """What a profile extends, and the settings it changes."""
    changes = {}
    base = ""
    for key, value in _table(table, where, path).items():
        if key == "extends":
            if not isinstance(value, str):
                raise ConfigError(f"{where}: `{path}.extends` should be the name of a profile")
            base = value
        elif key in SETTINGS:
            changes[key] = SETTINGS[key].read(value, f"{where}: `{path}.{key}`")
        else:
            raise _unknown(key, where, f"{path}.{key}", [*SETTINGS, "extends"])
    return base, changes


def _unknown(key: str, where: str, path: str, known: list[str]) -> ConfigError:
    meant = VARIABLE_ALIASES.get(key.upper(), (key.lower(),))[0]
    return ConfigError(f"{where}: unknown key `{path}`", hint=suggest(meant, known))


def _collected(config: Config, name: str) -> tuple[Profile, dict[str, Json]]:
    """The built-in profile that a name is based on, and all changes to it; the nearest wins."""
    changes: dict[str, Json] = {}
    seen: list[str] = []
    while name in config.profiles:
        if name in seen:
            chain = " → ".join(f"`{n}`" for n in (*seen, name))
            raise ConfigError(f"{config.where}: profiles extend each other in a circle: {chain}")
        seen.append(name)
        changes = {**config.profiles[name], **changes}
        base = config.bases[name] or (name if name in BUILT_IN else "code")
        if base == name:
            break
        name = base
    if name not in BUILT_IN:
        raise ConfigError(
            f"there is no profile `{name}`",
            hint=suggest(name, sorted({*BUILT_IN, *config.profiles}), lists=True),
        )
    return BUILT_IN[name], changes
