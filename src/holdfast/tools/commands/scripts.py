"""Small languages inside arguments: scripts of `sed`, programs of `jq`, tests.

Rule: what is harmless is described, not what is harmful; a form that is not described is asked about.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from holdfast.tools.commands.fields import MANY, is_known, is_plain

# A bracket may not hold the delimiter: some programs end the expression there and others do not. Nor may it begin
# with what closes it, or hold one that opens: where it ends is then not the same to all of them.
_SET = r"\[\^?(?:\[:[a-z]+:\]|{0}[^\]\[\\\n^])(?:\[:[a-z]+:\]|{0}[^\]\[\\\n])*\]"
_REGEX = r"/(?:[^/\\\n\[]|\\[^\n]|" + _SET.format("(?!/)") + r")*+/I?"
_ADDRESS = rf"(?:\d+|\$|{_REGEX})"
_RANGE = rf"(?:{_ADDRESS}(?:[ ]*[,~][ ]*[+~]?{_ADDRESS})?[ ]*!?[ ]*)?"
_FROM = r"(?:(?!\1)[^\\\n\[]|\\[^\n]|" + _SET.format(r"(?!\1)") + r")*+"
_TO = r"(?:(?!\1)[^\\\n]|\\[^\n])*+"
_SED = re.compile(
    rf"{_RANGE}(?:[{{}}][ \t]*"
    rf"|(?:[pdDPnNgGhHxl=]|[qQ]\d*|s([/|#,@!:;%+~_]){_FROM}\1{_TO}\1[gpiIM0-9]*)[ \t]*(?:[;\n]|$|(?=\}}))"
    r"|[aic][ \\][^\n\\]*(?:\n|$))[ \t;\n]*"
)
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


def is_harmless_jq(program: str) -> bool:
    return is_plain(program) and not _JQ.search(program)


def is_harmless_test(words: Sequence[str]) -> bool:
    """Whether a test evaluates no subscript: `-v name[…]` would, also where `-v` comes from a variable."""
    if any(word in ("-v", "-R") or MANY in word for word in words):
        return False
    return all(is_known(word) or following in _OPERATORS for word, following in pairwise(words))
