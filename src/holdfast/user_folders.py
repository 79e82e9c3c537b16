"""A person's folders on each platform: for data, and for configuration.

Rule: looking a folder up creates nothing.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

NAME = "holdfast"


def data_folder(env: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Where the store is."""
    return _folder(env, platform, ("LOCALAPPDATA", "AppData/Local"), ("XDG_DATA_HOME", ".local/share"))


def config_folder(env: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Where a person's own configuration, approved rules and skills are."""
    return _folder(env, platform, ("APPDATA", "AppData/Roaming"), ("XDG_CONFIG_HOME", ".config"))


def _folder(
    env: Mapping[str, str], platform: str, on_windows: tuple[str, str], elsewhere: tuple[str, str]
) -> Path:
    if platform == "darwin":
        return Path.home() / "Library" / "Application Support" / NAME
    variable, usual = on_windows if platform == "win32" else elsewhere
    given = env.get(variable, "")
    # The XDG specification: a relative path is ignored.
    is_given = bool(given) if platform == "win32" else Path(given).is_absolute()
    return (Path(given) if is_given else Path.home() / usual) / NAME
