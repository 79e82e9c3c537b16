"""A unit by the id that a model wrote.

Rule: who names none is told which there are; nothing is guessed.
"""

import difflib

from holdfast.review.review import Review
from holdfast.review.unit import Unit
from holdfast.tools.envelope import ToolError
from holdfast.tools.places import name_for_people

MOST_NAMED = 8


def expect_unit(review: Review, name: str) -> Unit:
    """NOT_FOUND names the units of the file, if that is what was given, else the most similar ids."""
    unit = review.unit(name.strip())
    if unit is None:
        raise ToolError(
            "NOT_FOUND", f"there is no unit `{name_for_people(name[:100])}`", hint=_hint(review, name)
        )
    return unit


def _hint(review: Review, name: str) -> str:
    own = [unit.id for unit in review.sides.units_of(name)]
    if own:
        return f"The units of this file are {_named(own)}"
    near = difflib.get_close_matches(name, [unit.id for unit in review.units], n=3, cutoff=0.7)
    return f"Similar: {_named(near)}" if near else "Ids begin with `u-` and stand in the index of the change"


def _named(ids: list[str]) -> str:
    more = f" and {len(ids) - MOST_NAMED} more" if len(ids) > MOST_NAMED else ""
    return ", ".join(f"`{one}`" for one in ids[:MOST_NAMED]) + more
