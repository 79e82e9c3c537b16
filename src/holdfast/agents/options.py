"""What a person asks of an agent, and what can be shown of it before it is opened.

Rule: it loads little and changes nothing, because a screen is painted with it before the agent is loaded. What it
cannot tell it leaves empty; errors are reported when the agent is opened.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from holdfast.agents.limits import RunLimits
from holdfast.agents.trust import apply_trust
from holdfast.config import load_config
from holdfast.effort import Effort
from holdfast.errors import HoldfastError
from holdfast.store_places import Place
from holdfast.user_folders import config_folder


class AgentOptions(Struct, frozen=True, kw_only=True):
    """Empty and None mean: as the environment, the configuration and the defaults say."""

    root: Path
    model: str = ""
    effort: Effort | None = None
    profile: str = ""
    budget: int = 0
    """Tokens in place of the profile's window."""
    mode: Literal["plan", "ask", "edit", "auto"] | None = None
    log: str = ""
    """The session to resume, by its id or the beginning of it."""
    resumes_newest: bool = False
    """Resume the newest session of this folder."""
    title: str = ""
    store: Place | None = None
    limits: RunLimits = RunLimits()
    allow: tuple[str, ...] = ()
    sandbox: Literal["auto", "bubblewrap", "landlock", "off"] | None = None
    trusts: bool = False
    """From now on, let the project's configuration widen what is allowed and start programs."""


MODES = ("plan", "ask", "edit", "auto")


class AgentPreview(Struct, frozen=True):
    """The model and the mode that the agent will have."""

    model: str = ""
    mode: str = ""


def preview_agent(options: AgentOptions, env: Mapping[str, str]) -> AgentPreview:
    try:
        config = load_config(cwd=options.root, env=env)
        if not options.trusts:
            config, _ = apply_trust(config, config_folder(env), trusts=False)
    except HoldfastError:
        return AgentPreview(
            _without_address(options.model or env.get("HOLDFAST_MODEL", "")), options.mode or ""
        )
    mode = options.mode or config.permissions.get("mode", "ask")
    model = options.model or env.get("HOLDFAST_MODEL", "") or config.default_model
    return AgentPreview(_without_address(model), mode if mode in MODES else "")


def _without_address(model: str) -> str:
    """A model's name without an address, which may hold a key."""
    return model.partition("@http://")[0].partition("@https://")[0]
