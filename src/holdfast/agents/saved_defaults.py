"""A choice that a person keeps as the default, in their own configuration.

Rule: what overrides it here is said at once.
"""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from holdfast.config import load_config, user_config_path
from holdfast.config.edit import edit_file, set_default
from holdfast.effort import EFFORT_VARIABLE
from holdfast.errors import ConfigError
from holdfast.models.selection import MODEL_VARIABLE

SAVE = "--save"
DefaultName = Literal["default_model", "default_effort"]
_VARIABLES: dict[DefaultName, str] = {"default_model": MODEL_VARIABLE, "default_effort": EFFORT_VARIABLE}


def split_save(argument: str) -> tuple[str, bool]:
    """The words of a command without `--save`, and whether it is there."""
    words = argument.split()
    return " ".join(word for word in words if word != SAVE), SAVE in words


async def save_default(root: Path, name: DefaultName, value: str) -> str:
    """Keep a default; returns what to tell the person."""
    return await asyncio.to_thread(_save, root, os.environ, name, value)


def _save(root: Path, env: Mapping[str, str], name: DefaultName, value: str) -> str:
    own = user_config_path(env)
    try:
        edit_file(own, lambda text: set_default(text, name, value))
    except (OSError, ConfigError) as error:
        raise ConfigError(f"{own} cannot be changed: {error}") from error
    saved = f"It is your default from now on: `{name}` in `{own}`."
    if env.get(_VARIABLES[name]):
        return f"{saved} `{_VARIABLES[name]}` is set, and beats it."
    config = load_config(cwd=root, env=env)
    where = config.source(name)
    return f"{saved} In this project `{where}` beats it." if where not in ("", str(own)) else saved
