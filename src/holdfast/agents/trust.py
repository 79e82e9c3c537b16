"""Trust in a project's configuration, which may widen what is done without asking, and start programs.

Rule: a file that came with a repository is a stranger's. What narrows permissions holds at once; what widens them
or starts a program holds only after a person has trusted that very text for that folder. A file that
`HOLDFAST_CONFIG` names is the person's own.
"""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from holdfast.config import Config
from holdfast.messages import Json

FILE = "trusted"
WIDENING = ("allow", "folders", "network", "variables")
SAFE_VALUES = {"mode": ("plan", "ask"), "sandbox": ("auto", "bubblewrap", "landlock")}
"""Values of these settings that widen nothing."""


def config_folder(env: Mapping[str, str]) -> Path:
    """Where a person's own settings and skills are."""
    given = env.get("XDG_CONFIG_HOME", "")
    # The XDG specification says to ignore a relative path.
    return (Path(given) if Path(given).is_absolute() else Path.home() / ".config") / "holdfast"


def apply_trust(config: Config, folder: Path, env: Mapping[str, str], *, trusts: bool) -> tuple[Config, str]:
    """The trusted part of the configuration, and what to tell the person. `folder` has the person's own settings;
    with `trusts` this text is trusted from now on."""
    wide = {key: value for key, value in config.permissions.items() if _widens(key, value)}
    if not (wide or config.servers) or env.get("HOLDFAST_CONFIG"):
        return config, ""
    # A digest of the settings that need trust only: other changes in the file do not matter.
    needed = msgspec.json.encode((wide, config.servers), order="deterministic")
    line = f"{hashlib.sha256(needed).hexdigest()}  {config.where}"
    known = folder / FILE
    if trusts:
        _remember(known, line)
        return config, ""
    if line in _lines(known) and not known.resolve().is_relative_to(Path(config.where).resolve().parent):
        return config, ""
    names = [*(f"permissions.{key}" for key in wide), *(["mcp.servers"] if config.servers else [])]
    named = ", ".join(f"`{name}`" for name in names)
    note = f"{config.where} sets {named}, which a project may not do by itself: look at it, then `--trust` it"
    kept = {key: value for key, value in config.permissions.items() if key not in wide}
    return replace(config, permissions=kept, servers={}), note


def _widens(key: str, value: Json) -> bool:
    if key == "hidden":
        listed = value if isinstance(value, list) else ()
        return any(isinstance(path, str) and path.strip().startswith("!") for path in listed)
    return key in WIDENING or (key in SAFE_VALUES and value not in SAFE_VALUES[key])


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []


def _remember(path: Path, line: str) -> None:
    lines = _lines(path)
    if line in lines:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.write_text("\n".join([*lines, line]) + "\n", "utf-8")
    fresh.replace(path)
