"""Small languages inside arguments: scripts of `sed` and `awk`, programs of `jq`, tests.

Rule: what is harmless is described, not what is harmful; a form that is not described is asked about.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from holdfast.tools.commands.fields import MANY, is_known, is_plain

# A bracket may not hold the delimiter: some programs end the expression there and others do not.
_REGEX = r"/(?:[^/\\\n\[]|\\[^\n]|\[(?:[^\]/\\\n])*\])*+/I?"
_ADDRESS = rf"(?:\d+|\$|{_REGEX})"
_RANGE = rf"(?:{_ADDRESS}(?:[ ]*[,~][ ]*[+~]?{_ADDRESS})?[ ]*!?[ ]*)?"
_FROM = r"(?:(?!\1)[^\\\n\[]|\\[^\n]|\[(?:(?!\1)[^\]\\\n])*\])*+"
_TO = r"(?:(?!\1)[^\\\n]|\\[^\n])*+"
_SED = re.compile(
    rf"{_RANGE}(?:[{{}}][ \t]*"
    rf"|(?:[pdDPnNgGhHxl=]|[qQ]\d*|s([/|#,@!:;%+~_]){_FROM}\1{_TO}\1[gpiIM0-9]*)[ \t]*(?:[;\n]|$|(?=\}}))"
    r"|[aic][ \\][^\n\\]*(?:\n|$))[ \t;\n]*"
)
_AWK = re.compile(r"\b(?:system|getline|ARGV|ARGC|ENVIRON|PROCINFO|SYMTAB|FUNCTAB)\b|[|@>`]|\\\n", re.ASCII)
_AWK_COMPARES = re.compile(r"\|\||>=")
_JQ = re.compile(r"\b(?:import|include|env|modulemeta|get_search_list)\b|\$(?:ENV|__)", re.ASCII)
_OPERATORS = frozenset("= == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef -a -o".split())


def is_harmless_sed(script: str) -> bool:
    """Whether a script of `sed` only changes what is printed: no `w`, `e`, `r`, nor flags of that kind."""
    script, at = script.strip(), 0
    if not script or not is_plain(script):
        return False
    while at < len(script):
        found = _SED.match(script, at)
        if not found or found.end() == at:
            return False
        at = found.end()
    return True


def is_harmless_awk(program: str) -> bool:
    """Whether a program of `awk` has no way to other files and commands. A comparison with `>` looks like one."""
    return is_plain(program) and not _AWK.search(_AWK_COMPARES.sub(" ", program))


def is_harmless_jq(program: str) -> bool:
    return is_plain(program) and not _JQ.search(program)


def is_harmless_test(words: Sequence[str]) -> bool:
    """Whether a test evaluates no subscript: `-v name[…]` would, also where `-v` comes from a variable."""
    if any(word in ("-v", "-R") or MANY in word for word in words):
        return False
    return all(is_known(word) or following in _OPERATORS for word, following in pairwise(words))
