"""How the tools of a role are defined to its model: in full or in short.

Rule: the definition alone differs; what a call does, and what is refused, is the same.
"""

from collections.abc import Iterable

from holdfast.agents.pairing.tools import hand_over
from holdfast.pair.roles import Definitions
from holdfast.tools.protocol import Tool
from holdfast.tools.short import Brief, brief_beside, briefs, in_short


def defined(tools: Iterable[Tool], definitions: Definitions) -> list[Tool]:
    """The tools as a role has them defined; one without a short form stays as it is."""
    if definitions == "full":
        return list(tools)
    known = role_briefs()
    return [in_short(tool, known) for tool in tools]


def role_briefs() -> dict[str, Brief]:
    """By name, of every tool that a role may have."""
    return {**briefs(), hand_over.NAME: brief_beside(hand_over.__file__)}
