"""What configuration files say: the text of one, and several of them, one over the other.

Rule: pure. Every value keeps the file that it came from, and every error names it.
"""

import tomllib

from msgspec import Struct, field
from msgspec.structs import replace

from holdfast.config.settings import SETTINGS, VARIABLE_ALIASES
from holdfast.errors import ConfigError, suggest
from holdfast.messages import Json

DEFAULTS = ("default_profile", "default_model", "default_effort", "store")

TABLES = ("profile", "models", "permissions", "checks", "mcp", "review", "settings", "hooks")


class Config(Struct, frozen=True):
    """What the files say. `profiles` are the settings each one changes, already in their types; `models`,
    `permissions`, `checks`, `review`, `hooks` and `servers` (of `[mcp.servers]`) are tables as they are written,
    which the catalogue of models, the tools, the reviewer and the agents read."""

    where: str = ""
    """The file; of several, the project's."""
    is_own: bool = False
    """Whether the file is the person's own, and not one that came with a project."""
    default_profile: str = ""
    default_model: str = ""
    default_effort: str = ""
    store: str = ""
    profiles: dict[str, dict[str, Json]] = field(default_factory=dict)
    bases: dict[str, str] = field(default_factory=dict)
    models: dict[str, dict[str, Json]] = field(default_factory=dict)
    permissions: dict[str, Json] = field(default_factory=dict)
    servers: dict[str, Json] = field(default_factory=dict)
    checks: dict[str, Json] = field(default_factory=dict)
    hooks: dict[str, Json] = field(default_factory=dict)
    """Those of one file; of several, each has its own, since they run in its folder."""
    review: dict[str, Json] = field(default_factory=dict)
    parts: tuple["Config", ...] = ()
    """The files that this is merged from, the weakest first; none if it is one file."""

    @property
    def layers(self) -> tuple["Config", ...]:
        return self.parts or (self,)

    def source(self, name: str, *keys: str) -> str:
        """The file that a value is from, such as that of `source("profiles", "house", "window")`; empty if no file
        has it."""
        for layer in reversed(self.layers):
            found: Json = getattr(layer, name)
            for key in keys:
                found = found.get(key) if isinstance(found, dict) else None
            if found not in (None, ""):
                return layer.where
        return ""


def merge_configs(*layers: Config) -> Config:
    """Several files as one, the weakest first: tables are merged by key, lists of permissions and of `[review]`
    have what is in each, and of anything else the last counts. A server is taken whole: half of one may belong to
    nobody."""
    if len(layers) == 1:
        return layers[0]
    merged = Config(where=next((one.where for one in reversed(layers) if one.where), ""), parts=layers)
    for one in layers:
        for name, settings in one.profiles.items():
            merged.profiles[name] = {**merged.profiles.get(name, {}), **settings}
            merged.bases[name] = one.bases[name] or merged.bases.get(name, "")
        for name, entry in one.models.items():
            merged.models[name] = {**merged.models.get(name, {}), **entry}
        for table, more in ((merged.permissions, one.permissions), (merged.review, one.review)):
            for key, value in more.items():
                before = table.get(key)
                if isinstance(value, list) and isinstance(before, list):
                    table[key] = [*before, *value]
                else:
                    table[key] = value
        merged.servers.update(one.servers)
        for key, value in one.checks.items():
            known = merged.checks.get(key)
            if isinstance(value, dict) and isinstance(known, dict):
                merged.checks[key] = {**known, **value}
            else:
                merged.checks[key] = value
    defaults = {
        name: next((given for one in reversed(layers) if (given := getattr(one, name))), "")
        for name in DEFAULTS
    }
    return replace(merged, **defaults)


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
        elif key in ("permissions", "checks", "review", "hooks"):
            getattr(config, key).update(_table(value, where, prefix + key))
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


def _table(value: Json, where: str, key: str) -> dict[str, Json]:
    if isinstance(value, dict):
        return value
    raise ConfigError(f"{where}: `{key}` should be a table", hint=f"write it as `[{key}]`")


def _add_default(defaults: dict[str, str], key: str, value: Json, where: str, path: str) -> None:
    if key not in DEFAULTS:
        raise _unknown(key, where, path, [*DEFAULTS, *TABLES])
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
