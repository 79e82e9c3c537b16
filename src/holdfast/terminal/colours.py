"""Whether the terminal is light or dark.

Rule: the colours themselves are the terminal's own; only which of them are used depends on this. The terminal is
not asked, because its answer would come between the keys that are typed while the agent loads.
"""

from collections.abc import Mapping

from holdfast.errors import ConfigError

THEME = "HOLDFAST_THEME"
THEMES = {"dark": "ansi-dark", "light": "ansi-light"}
_DARK = frozenset({"0", "1", "2", "3", "4", "5", "6", "8"})
"""The colours of the usual sixteen on which light text is written."""


def theme_of(env: Mapping[str, str]) -> str:
    """The theme that `HOLDFAST_THEME` names, else the one for the background that `COLORFGBG` tells, else dark."""
    named = env.get(THEME, "").strip().lower()
    if named:
        if named not in THEMES:
            raise ConfigError(f"`{THEME}` is `{named}`", hint=f"set it to one of: {', '.join(THEMES)}")
        return THEMES[named]
    background = env.get("COLORFGBG", "").rpartition(";")[2].strip()
    is_light = background.isdecimal() and background not in _DARK
    return THEMES["light" if is_light else "dark"]
