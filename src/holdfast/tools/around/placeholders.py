"""Arguments put into the text of a skill.

Rule: one pass over the text; what was put in is never looked at again, and nothing is ever run.

`$ARGUMENTS` is all of them, `$ARGUMENTS[0]` and `$0` the first, `$name` one that the head declares. A number for
which there is no argument stays as it is written: `$5` may be a price. A backslash keeps a placeholder as it is.
"""

import re
import shlex
from collections.abc import Sequence

LONGEST_TEXT = 1_000_000
"""Characters of a filled text. A text of many placeholders and a long argument would otherwise fill the memory."""

# An empty name would take every dollar sign.
_NAME = re.compile(r"\w[\w-]*")
_FORM = r"(\\?)\$(?:ARGUMENTS\[(\d{1,3})\]|(ARGUMENTS)\b|(\d{1,3})\b|\{(\w+)\}"


def split_arguments(arguments: str) -> list[str]:
    """Arguments as a shell splits words; by spaces where its quotes are not closed."""
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()


class TooLong(ValueError):
    """A filled text would be longer than `LONGEST_TEXT`."""


def fill(text: str, arguments: str, names: Sequence[str], folder: str) -> str:
    """The text with its placeholders filled; arguments that no placeholder took stand below. Raises `TooLong`."""
    given = split_arguments(arguments)
    named = {
        name: given[n] if n < len(given) else "" for n, name in enumerate(names) if _NAME.fullmatch(name)
    }
    longest_first = "|".join(re.escape(name) for name in sorted(named, key=len, reverse=True))
    pattern = re.compile(_FORM + (rf"|({longest_first})(?![\w-]))" if named else ")"))
    used, length = False, len(text)

    def value(found: re.Match[str]) -> str:
        nonlocal length
        filled = one(found)
        length += len(filled)
        if length > LONGEST_TEXT:
            raise TooLong
        return filled

    def one(found: re.Match[str]) -> str:
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
