"""The marks a pack leaves where something is missing: how much, and the id that brings it back.

Rule: a mark stays on one line, starts with `[holdfast:` and never quotes untrusted text beyond a short label.
"""

import re

from holdfast.ids import ALPHABET, LENGTH

MARK = "[holdfast:"
LONGEST = 1_000
"""Characters of the longest line that is taken for a mark of ours."""

_WITH_ID = re.compile(rf'{re.escape(MARK)} (.*); Recall\(id="[ae][{ALPHABET}]{{{LENGTH}}}"[^\n()]*\)\]')


def recall_call(id_: str, **where: str) -> str:
    """The call of the Recall tool that fetches what a mark replaces."""
    inside = ", ".join([f'id="{id_}"', *(f'{key}="{value}"' for key, value in where.items())])
    return f"Recall({inside})"


def mark(what: str, id_: str = "", **where: str) -> str:
    back = f"; {recall_call(id_, **where)}" if id_ else ""
    return f"{MARK} {one_line(what)}{back}]"


def one_line(text: str) -> str:
    return " ".join(text.split())


def marked_as(line: str) -> str:
    """What a line says is missing, if the line is a mark with an id; else nothing."""
    found = _WITH_ID.fullmatch(line) if len(line) <= LONGEST else None
    return found[1] if found else ""
