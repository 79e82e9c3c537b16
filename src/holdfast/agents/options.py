"""What a person asks of the coding agent.

Rule: a plain value that loads nothing: a screen is painted with it before the agent is there.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from holdfast.agents.limits import RunLimits
from holdfast.agents.trust import apply_trust, config_folder
from holdfast.config import load_config
from holdfast.errors import HoldfastError


class AgentOptions(Struct, frozen=True, kw_only=True):
    """Empty and None leave it to the environment, the configuration and the defaults."""

    root: Path
    model: str = ""
    profile: str = ""
    budget: int = 0
    """Tokens in place of the profile's window."""
    mode: Literal["plan", "ask", "edit", "auto"] | None = None
    log: str = ""
    """The talk to go on with, by its id or the beginning of it."""
    goes_on: bool = False
    """Go on with the newest talk of this folder."""
    title: str = ""
    store: Path | None = None
    limits: RunLimits = RunLimits()
    allow: tuple[str, ...] = ()
    sandbox: Literal["auto", "bubblewrap", "landlock", "off"] | None = None
    trusts: bool = False
    """Whether the project's configuration may widen what is allowed, and start programs, from now on."""


# What can be told of a desk before it is opened: its model and its mode.
#
# Rule: it loads little and changes nothing, so that a screen can be painted with it. What it cannot tell it leaves
# empty; what is wrong is said when the desk is opened.

MODES = ("plan", "ask", "edit", "auto")


class AgentPreview(Struct, frozen=True):
    model: str = ""
    mode: str = ""


def preview_agent(wish: AgentOptions, env: Mapping[str, str]) -> AgentPreview:
    try:
        config = load_config(cwd=wish.root, env=env)
        if not wish.trusts:
            config, _ = apply_trust(config, config_folder(env), env, trusts=False)
    except HoldfastError:
        return AgentPreview(_plain(wish.model or env.get("HOLDFAST_MODEL", "")), wish.mode or "")
    mode = wish.mode or config.permissions.get("mode", "ask")
    model = wish.model or env.get("HOLDFAST_MODEL", "") or config.default_model
    return AgentPreview(_plain(model), mode if mode in MODES else "")


def _plain(model: str) -> str:
    """A model's name without the address behind it, which may hold a key."""
    return model.partition("@http://")[0].partition("@https://")[0]
