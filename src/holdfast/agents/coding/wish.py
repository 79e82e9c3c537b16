"""What a person asks of the coding agent.

Rule: a plain value that loads nothing: a screen is painted with it before the agent is there.
"""

from pathlib import Path
from typing import Literal

from msgspec import Struct

from holdfast.agents.limits import Limits


class Wish(Struct, frozen=True, kw_only=True):
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
    limits: Limits = Limits()
    allow: tuple[str, ...] = ()
    sandbox: Literal["auto", "bubblewrap", "landlock", "off"] | None = None
    trusts: bool = False
    """Whether the project's configuration may widen what is allowed, and start programs, from now on."""
