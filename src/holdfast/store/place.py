"""Where the store is when nobody says: `HOLDFAST_STORE`, else the user's data folder.

Rule: looking a place up creates nothing.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

VARIABLE = "HOLDFAST_STORE"


def default_path(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    named = environ.get(VARIABLE, "")
    if named:
        return Path(named).expanduser()
    return _data_folder(environ, platform) / "holdfast" / "store.db"


def _data_folder(environ: Mapping[str, str], platform: str) -> Path:
    if platform == "win32":
        local = environ.get("LOCALAPPDATA", "")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    if platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    data = environ.get("XDG_DATA_HOME", "")
    # The XDG specification says that a relative path is to be ignored.
    return Path(data) if Path(data).is_absolute() else Path.home() / ".local" / "share"
