"""Arguments put into the text of a skill.

Rule: one pass over the text; what was put in is never looked at again, and nothing is ever run.

`$ARGUMENTS` is all of them, `$ARGUMENTS[0]` and `$0` the first, `$name` one that the head declares. A number for
which there is no argument stays as it is written: `$5` may be a price. A backslash keeps a placeholder as it is.
"""

import re
import shlex
from collections.abc import Sequence

_FORM = r"(\\?)\$(?:ARGUMENTS\[(\d{1,3})\]|(ARGUMENTS)\b|(\d{1,3})\b|\{(\w+)\}"


def split_arguments(arguments: str) -> list[str]:
    """Arguments as a shell splits words; by spaces where its quotes are not closed."""
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()


def fill(text: str, arguments: str, names: Sequence[str], folder: str) -> str:
    """The text with its placeholders filled; arguments that no placeholder took stand below it."""
    given = split_arguments(arguments)
    named = {name: given[n] if n < len(given) else "" for n, name in enumerate(names)}
    longest_first = "|".join(re.escape(name) for name in sorted(named, key=len, reverse=True))
    pattern = re.compile(_FORM + (rf"|({longest_first})(?![\w-]))" if named else ")"))
    used = False

    def value(found: re.Match[str]) -> str:
        nonlocal used
        if found[1]:
            return found[0][1:]
        if found[5]:
            return folder if found[5].endswith("SKILL_DIR") else found[0]
        number = found[2] or found[4]
        if number and int(number) >= len(given):
            return found[0]
        used = True
        if number:
            return given[int(number)]
        return arguments if found[3] else named[found[6]]

    filled = pattern.sub(value, text)
    return filled if used or not arguments.strip() else f"{filled}\n\nARGUMENTS: {arguments}"
