"""Trust in a project's configuration, which may widen what is done without asking, and start programs.

Rule: a file that came with a repository is a stranger's. What narrows permissions holds at once; what widens them
or starts a program holds only after a person has trusted that very text for that folder. The person's own file
needs no trust.
"""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from holdfast.agents.hooks import hook_files
from holdfast.config import Config, is_in_folder, merge_configs
from holdfast.messages import Json

FILE = "trusted"
WIDENING = ("allow", "folders", "network", "variables")
SAFE_VALUES = {"mode": ("plan", "ask"), "sandbox": ("bubblewrap", "landlock", "auto")}
"""Values of these settings that widen nothing, the narrowest first."""


def apply_trust(config: Config, folder: Path, *, trusts: bool) -> tuple[Config, str]:
    """The trusted part of the configuration, and what to tell the person. `folder` has the person's own settings;
    with `trusts` this text is trusted from now on."""
    layers: list[Config] = []
    notes: list[str] = []
    for layer in config.layers:
        below = merge_configs(*layers).permissions if layers else {}
        wide = widening(layer, below)
        if not wide or is_trusted(layer, wide, folder):
            layers.append(layer)
        elif trusts:
            trust(layer.where, wide, folder)
            layers.append(layer)
        else:
            kept = {
                key: value for key, value in layer.permissions.items() if f"permissions.{key}" not in wide
            }
            checks = {key: value for key, value in layer.checks.items() if key != "commands"}
            layers.append(replace(layer, permissions=kept, servers={}, checks=checks, hooks={}))
            named = ", ".join(f"`{name}`" for name in wide)
            notes.append(
                f"{layer.where} sets {named}, which a project may not do by itself: look at it, then `--trust` it"
            )
    return replace(merge_configs(*layers), store=config.store), "; ".join(notes)


def widening(layer: Config, below: Mapping[str, Json]) -> dict[str, Json]:
    """What needs trust in a file, by its keys; `below` are the permissions of the person's own file."""
    if layer.is_own:
        return {}
    wide = {
        f"permissions.{key}": value
        for key, value in layer.permissions.items()
        if _widens(key, value, below.get(key))
    }
    started = {"mcp.servers": layer.servers, "checks.commands": layer.checks.get("commands")}
    wide.update((key, value) for key, value in started.items() if value)
    if layer.hooks:
        # With the files that hooks name: whoever changes those changes what runs.
        wide["hooks"] = [layer.hooks, hook_files(layer.hooks, Path(layer.where).parent)]
    return wide


def is_trusted(layer: Config, wide: Mapping[str, Json], folder: Path) -> bool:
    known = folder / FILE
    return _line(layer.where, wide) in _lines(known) and not is_in_folder(known, Path(layer.where).parent)


def trust(where: str, wide: Mapping[str, Json], folder: Path) -> None:
    """Trust what a file sets from now on, as long as it sets exactly that."""
    _remember(folder / FILE, _line(where, wide))


def _line(where: str, wide: Mapping[str, Json]) -> str:
    # A digest of the settings that need trust only: other changes in the file do not matter.
    needed = msgspec.json.encode(wide, order="deterministic")
    return f"{hashlib.sha256(needed).hexdigest()}  {where}"


def _widens(key: str, value: Json, own: Json) -> bool:
    if key == "hidden":
        listed = value if isinstance(value, list) else ()
        return any(isinstance(path, str) and path.strip().startswith("!") for path in listed)
    if key not in SAFE_VALUES:
        return key in WIDENING
    safe = SAFE_VALUES[key]
    return value not in safe or (own in safe and safe.index(str(value)) > safe.index(str(own)))


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
