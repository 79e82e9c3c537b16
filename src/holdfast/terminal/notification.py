"""What tells a person who looked away that a long turn has ended.

Rule: a fixed text. Nothing that a model or a tool wrote is sent to the terminal this way.
"""

from collections.abc import Mapping

from holdfast.errors import ConfigError

NOTIFY, AFTER = "HOLDFAST_NOTIFY", "HOLDFAST_NOTIFY_SECONDS"
USUAL_SECONDS = 20.0
SEQUENCES = {"bell": "\a", "osc9": "\x1b]9;holdfast: the turn has ended\a", "off": ""}
"""`osc9` is a message of the desktop in iTerm2, WezTerm, Ghostty, kitty and Windows Terminal."""


def notification(env: Mapping[str, str], seconds: float) -> str:
    """What to send to the terminal after a turn of so many seconds; empty for nothing."""
    way = env.get(NOTIFY, "").strip().lower() or "bell"
    if way not in SEQUENCES:
        raise ConfigError(f"`{NOTIFY}` is `{way}`", hint=f"set it to one of: {', '.join(SEQUENCES)}")
    given = env.get(AFTER, "").strip()
    try:
        least = float(given) if given else USUAL_SECONDS
    except ValueError:
        raise ConfigError(f"`{AFTER}` is `{given}`, which is no number", hint=f"`{AFTER}=30`") from None
    return SEQUENCES[way] if seconds >= least else ""
