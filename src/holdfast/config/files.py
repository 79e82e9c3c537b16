"""The configuration files of a person and of a project, found and read.

Rule: the project's file beats the person's own, and a list of rules has those of both. A file in the workspace is
never the person's own, since an agent may write it; one that `HOLDFAST_CONFIG` names is.
"""

from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from holdfast.config.values import Config, merge_configs, parse_config
from holdfast.errors import ConfigError, NotFound
from holdfast.store_places import is_url
from holdfast.user_folders import config_folder

FILE = "holdfast.toml"


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


def user_config_path(env: Mapping[str, str]) -> Path:
    """Where the person's own configuration is, if there is one."""
    return config_folder(env) / FILE


def is_in_folder(path: Path, folder: Path) -> bool:
    """Whether a file is in a folder, by its own path or by where its links lead."""
    places = (path.absolute(), path.parent.resolve() / path.name, path.resolve())
    return any(place.is_relative_to(top) for place in places for top in (folder.absolute(), folder.resolve()))


def load_config(*, cwd: Path, env: Mapping[str, str]) -> Config:
    """The configuration for a folder: the person's own, and over it the file that `HOLDFAST_CONFIG` names, or the
    nearest."""
    named = env.get("HOLDFAST_CONFIG", "")
    path = cwd / Path(named).expanduser() if named else find_config(cwd)
    if named and path is not None and not path.is_file():
        raise NotFound(f"`HOLDFAST_CONFIG` names {path}, which is not a file")
    layers = [read_config(path, is_own=bool(named))] if path is not None else []
    own = user_config_path(env)
    if own.is_file() and not (path is not None and own.resolve() == path.resolve()):
        layers.insert(0, read_config(own, is_own=not is_in_folder(own, cwd)))
    config = merge_configs(*layers) if layers else Config()
    if store := env.get("HOLDFAST_STORE", ""):
        return replace(config, store=store if is_url(store) else str(cwd / Path(store).expanduser()))
    return config


def read_config(path: Path, *, is_own: bool) -> Config:
    """One file. A relative `store` starts at its folder. ConfigError for a URL in a project's file: no repository
    chooses the server to which what an agent saw is sent."""
    config = replace(parse_config(_text(path), str(path), section=section_of(path)), is_own=is_own)
    if is_url(config.store):
        if is_own:
            return config
        raise ConfigError(
            f"{path}: a project cannot set `store` to a URL",
            hint="write it in your own configuration, or set HOLDFAST_STORE",
        )
    store = str(path.parent / Path(config.store).expanduser()) if config.store else ""
    return replace(config, store=store)


def section_of(path: Path) -> tuple[str, ...]:
    """The table of a file that has the configuration."""
    return ("tool", "holdfast") if path.name == "pyproject.toml" else ()


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
