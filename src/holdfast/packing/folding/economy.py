"""What a fold costs and what it saves, in tokens at the full price of input.

Rule: figures from the profile's prices and the log alone. A fold makes the provider write anew all that stands
behind its first change; every request after it reads less. What was read since the last fold and could have been
let go is rent: once it comes to what a fold costs, waiting was no cheaper, whatever comes next.
"""

from msgspec import Struct

from holdfast.packing.profile import Profile

FEWEST, MOST = 10, 40
"""Further steps to expect of a log that has just begun, and of a long one."""


class Reckoning(Struct, frozen=True):
    """`costs` is paid once, `saves` with every further step; `further` is how many of these to expect."""

    costs: float
    saves: float
    further: int
    is_cold: bool = False

    @property
    def steps(self) -> float:
        """After how many steps the fold has paid for itself."""
        return self.costs / self.saves if self.saves > 0 else float("inf")

    @property
    def pays(self) -> bool:
        return self.steps <= self.further

    def __str__(self) -> str:
        if self.saves <= 0:
            return f"costs {round(self.costs)} tokens and saves nothing"
        cold = "the cache is cold, " if self.is_cold else ""
        when = "pays at once" if self.costs <= 0 else f"pays back in {max(round(self.steps), 1)} steps"
        return (
            f"{cold}saves {round(self.saves)} tokens a step, costs {round(self.costs)}, {when} "
            f"({self.further} more expected)"
        )


def reckon(profile: Profile, freed: int, rewritten: int, further: int, idle: float | None) -> Reckoning:
    """A fold that frees some tokens and has some written anew, after so many idle seconds (None: no clock)."""
    if not profile.cache_seconds:
        return Reckoning(0.0, float(freed), further)
    is_cold = idle is not None and idle > profile.cache_seconds
    dearer = max(profile.cache_write - profile.cache_read, 0.0)
    # Whatever is sent to a cold cache is written in any case.
    return Reckoning(0.0 if is_cold else dearer * rewritten, profile.cache_read * freed, further, is_cold)


def further_steps(steps: int) -> int:
    """How many steps to expect after so many: as many again, as with anything whose end is not known, but recorded
    agents had 10 to 40 before them (the median) at whatever length."""
    return min(max(steps, FEWEST), MOST)


def rent(profile: Profile, idle_tokens: int) -> float:
    """What it costs to send tokens once more that a fold would have let go."""
    return max(idle_tokens, 0) * (profile.cache_read if profile.cache_seconds else 1.0)
