"""Keys that Textual does not tell apart by itself.

Rule: a new line in the prompt has one name here, whichever way a terminal sends it.
"""

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.keys import Keys

NEW_LINE = frozenset({"ctrl+j", "alt+enter", "shift+enter", "shift+\r", "alt+\r"})


def know_alt_enter() -> None:
    """Terminals without newer protocols send Alt+Enter as escape and return, which would be taken for a return."""
    assert isinstance(ANSI_SEQUENCES_KEYS, dict), "Textual's table of keys can be added to"
    ANSI_SEQUENCES_KEYS["\x1b\r"] = (Keys.ControlJ,)
    ANSI_SEQUENCES_KEYS["\x1b\n"] = (Keys.ControlJ,)
