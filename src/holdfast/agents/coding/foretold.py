"""What can be told of a desk before it is opened: its model and its mode.

Rule: it loads little and changes nothing, so that a screen can be painted with it. What it cannot tell it leaves
empty; what is wrong is said when the desk is opened.
"""

from collections.abc import Mapping

from msgspec import Struct

from holdfast.agents.coding.trust import config_folder, trusted
from holdfast.agents.coding.wish import Wish
from holdfast.config import load_config
from holdfast.errors import HoldfastError

MODES = ("plan", "ask", "edit", "auto")


class Foretold(Struct, frozen=True):
    model: str = ""
    mode: str = ""


def foretold(wish: Wish, env: Mapping[str, str]) -> Foretold:
    try:
        config = load_config(cwd=wish.root, env=env)
        if not wish.trusts:
            config, _ = trusted(config, config_folder(env), env, trusts=False)
    except HoldfastError:
        return Foretold(_plain(wish.model or env.get("HOLDFAST_MODEL", "")), wish.mode or "")
    mode = wish.mode or config.permissions.get("mode", "ask")
    model = wish.model or env.get("HOLDFAST_MODEL", "") or config.default_model
    return Foretold(_plain(model), mode if mode in MODES else "")


def _plain(model: str) -> str:
    """A model's name without the address behind it, which may hold a key."""
    return model.partition("@http://")[0].partition("@https://")[0]
