"""The profile of the rows that run Holdfast inside a framework.

Rule: as in the row `code`: a budget of replay is for messages alone, so no room is kept for the reply, and the
adapters leave out what a request has besides.
"""

from msgspec.structs import replace

from holdfast.packing.profile import BUILT_IN, Profile


def replay_profile(budget: int) -> Profile:
    return replace(BUILT_IN["code"].scaled_to(budget), reply_tokens=0)
