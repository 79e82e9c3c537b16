"""Variables that a command sets, and what they may change.

Rule: a variable that other programs look at is asked about, unless it is known to be harmless.
"""

import re
from collections.abc import Sequence

from holdfast.tools.commands.findings import Inspection, shown
from holdfast.tools.commands.flow import State

NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def judge_variable(inspection: Inspection, name: str, part: str, *, is_exported: bool) -> None:
    """`is_exported` where programs that are started see it; names in small letters are nobody's convention."""
    if _is_listed(name, inspection.rules.exported):
        return
    if _is_listed(name, inspection.rules.special):
        inspection.add("ask", f"`{name}` changes what other programs do", part, name)
    elif is_exported and not name.islower():
        inspection.add("ask", f"`{name}` may change what other programs do", part, name)


def judge_sum(inspection: Inspection, names: Sequence[str], state: State, part: str) -> None:
    """Arithmetic evaluates the text of its variables, commands in subscripts included."""
    for name in names:
        values = state.values.get(name)
        if values is None or not all(value.isascii() and value.isdigit() for value in values):
            inspection.add(
                "ask", f"arithmetic on `{shown(name)}` runs commands that its value may hold", part, name
            )


def _is_listed(name: str, listed: Sequence[str]) -> bool:
    for pattern in listed:
        if pattern.endswith("*") and name.startswith(pattern[:-1]):
            return True
        if pattern.startswith("*") and name.endswith(pattern[1:]):
            return True
        if name == pattern:
            return True
    return False
