"""Two findings that say the same of the same place, in other words.

Rule: which of two stays does not depend on which came first; the more severe does, and takes over what only the
other had.
"""

import re

from msgspec.structs import replace

from holdfast.review.finding import SEVERITIES, Finding

_WORD = re.compile(r"[^\W\d_]+")
_FILLER = frozenset(
    """the this that and for with not are was can could may might will would should has have its from into when
    where which what how but because only also does here there than then you your code line function""".split()
)
_ALIKE = 0.5
_ALIKE_TO_A_RULE = 0.15
"""A rule names what it saw in fixed words; who sees the same on the same line will use few of them."""


def are_same(one: Finding, other: Finding) -> bool:
    if one.id == other.id:
        return True
    if (one.path, one.side, one.category) != (other.path, other.side, other.category):
        return False
    if one.rule and other.rule:
        return False  # rules do not repeat themselves, and two rules on a line saw two things
    if one.line > other.last_line or other.line > one.last_line:
        return False
    shares_line = bool({line.strip() for line in one.evidence} & {line.strip() for line in other.evidence})
    enough = _ALIKE_TO_A_RULE if shares_line and (one.rule or other.rule) else _ALIKE
    return similarity(one.claim, other.claim) >= enough


def similarity(one: str, other: str) -> float:
    """How much of the shorter claim's words the longer one has, 0 to 1."""
    first, second = _words(one), _words(other)
    if not first or not second:
        return float(first == second)
    return len(first & second) / min(len(first), len(second))


def merge(one: Finding, other: Finding) -> tuple[Finding, str]:
    """The one that stays, with the other's patch or suggestion if it has none of its own; and whose id goes."""
    stays, goes = sorted((one, other), key=_worth)
    if not stays.patch and goes.patch:
        stays = replace(stays, patch=goes.patch, suggestion=stays.suggestion or goes.suggestion)
    elif not stays.suggestion:
        stays = replace(stays, suggestion=goes.suggestion)
    return stays, goes.id


def _worth(finding: Finding) -> tuple[int, bool, int, int, str]:
    return (
        -SEVERITIES.index(finding.severity),
        not finding.patch,
        -len(finding.evidence),
        -len(finding.claim),
        finding.id,
    )


def _words(claim: str) -> set[str]:
    """The claim's words that carry it, cut to their stem: `inputs are not validated`, `validates no input`."""
    words = (word for word in _WORD.findall(claim.lower()) if len(word) > 2 and word not in _FILLER)
    return {word[:5] for word in words}
