"""Programs of `awk`, read as far as it takes to know that they only print.

Rule: every program of that name reads the tokens as they are read here; where they would not agree, or where one is
not known, the program is not called harmless.
"""

import re

from holdfast.tools.commands.fields import is_plain

_BRACKET = r"\[\^?(?:\[:[a-z]+:\]|[^\]\[/\\\n^])(?:\[:[a-z]+:\]|[^\]\[/\\\n])*\]"
_TOKEN = re.compile(
    rf"""(?P<blank>[ \t]+|\#[^\n]*)
    |(?P<break>\n)
    |(?P<text>"(?:[^"\\\n]|\\[^\n])*")
    |(?P<regex>/(?:[^/\\\n\[]|\\[^\n]|{_BRACKET})*+/)
    |(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<sign>\|\||&&|[=!<>]=|\+\+|--|[-+*%^]=|!~|[-+*%^<>=!~?:,;(){{}}\[\]$])""",
    re.VERBOSE | re.ASCII,
)
_DIVISION = re.compile("/=?")
_REACHING = frozenset(
    "system getline close fflush ARGV ARGC ENVIRON PROCINFO SYMTAB FUNCTAB include load namespace".split()
)
"""Names by which a program reaches files, commands and what lies outside its input."""
_BEFORE_REGEX = frozenset("( , { } ; ! ~ !~ && || ? :".split())
_KEYWORDS = frozenset("print printf return exit in case do else".split())
_ENDS = frozenset({"}", ";"})
_CONTINUES = frozenset("( , { && || ? : + - * / % ^ < <= == != > >= ~ !~ = += -= *= %= ^= ! $ [".split())
"""Behind these a statement goes on in the next line."""


def is_harmless_awk(program: str) -> bool:
    """Whether a program has no way to other files and commands: `>` is a comparison but where something is printed,
    and a single `|` is never harmless."""
    if not is_plain(program):
        return False
    at, last, is_printing = 0, ";", False
    while at < len(program):
        found = _next(program, at, last)
        if not found:
            return False
        at, read = found.end(), found[0]
        if found.lastgroup == "blank":
            continue
        if read in _REACHING or (read == ">" and is_printing):
            return False
        is_over = read in _ENDS or (read == "\n" and last not in _CONTINUES)
        is_printing = (is_printing and not is_over) or read in ("print", "printf")
        last = read if read != "\n" else last if last in _CONTINUES else ";"
    return True


def _next(program: str, at: int, last: str) -> re.Match[str] | None:
    """The token that stands there, behind the last one; None where that is not sure."""
    if program[at] != "/" or _may_be_regex(last):
        return _TOKEN.match(program, at)
    # A division, or nobody knows: then what follows is not read as the text of a pattern.
    return None if last in (")", "++", "--", "length") else _DIVISION.match(program, at)


def _may_be_regex(last: str) -> bool:
    return last in _BEFORE_REGEX or last in _KEYWORDS or last == ";"
