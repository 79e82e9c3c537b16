"""What a fold costs and what it saves, in tokens at the full price of input.

Rule: figures come from the profile's prices and the log alone. A fold makes the provider write again everything
after its first change; every request after it reads less. Tokens that a fold could have dropped have a carry cost
with each request: once that adds up to what a fold costs, waiting was no cheaper, whatever comes next.
"""

from msgspec import Struct
from msgspec.structs import replace

from holdfast.messages import Usage
from holdfast.packing.counting.calibration import Calibration
from holdfast.packing.profile import Profile

FEWEST, MOST = 10, 40
"""Further steps to expect of a log that has just begun, and of a long one."""


class FoldEstimate(Struct, frozen=True):
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


def estimate_fold(
    profile: Profile, freed: int, rewritten: int, further: int, idle: float | None
) -> FoldEstimate:
    """A fold that frees some tokens and has some written again, after some idle seconds (None: no clock)."""
    if not profile.cache_seconds:
        return FoldEstimate(0.0, float(freed), further)
    is_cold = idle is not None and idle > profile.cache_seconds
    dearer = max(profile.cache_write - profile.cache_read, 0.0)
    # Whatever is sent to a cold cache is written in any case.
    return FoldEstimate(0.0 if is_cold else dearer * rewritten, profile.cache_read * freed, further, is_cold)


def expected_steps(steps: int) -> int:
    """How many steps to expect after `steps`: as many again, as with anything whose end is not known, but recorded
    agents had 10 to 40 before them (the median) at whatever length."""
    return min(max(steps, FEWEST), MOST)


def carry_cost(profile: Profile, idle_tokens: int) -> float:
    """What it costs to send tokens once more that a fold would have dropped."""
    return max(idle_tokens, 0) * (profile.cache_read if profile.cache_seconds else 1.0)


class FoldEconomics(Struct, frozen=True):
    """What requests cost since the last fold, and what their provider reported of them.

    From the log's own clock and reports alone. A recording's usage was reported for the recorder's requests and not
    for ours, so nothing is calibrated on a log that is not live.
    """

    profile: Profile
    floor: int
    """Tokens right after the last fold."""
    calibration: Calibration = Calibration()
    is_live: bool = True
    usage: tuple[Usage, int] | None = None
    """The newest report since the last fold, and how many items the log had before the reply."""
    carry_cost: float = 0.0
    """What was paid since the last fold for tokens that it could have dropped."""
    appended: int = 0
    """Folds in a row that left the notes before them as they were."""
    now: float | None = None
    asked: float | None = None
    """When the last request was made."""

    @property
    def idle(self) -> float | None:
        """Seconds since the last request, as far as the log's clock tells."""
        return None if self.now is None or self.asked is None else self.now - self.asked

    def tick(self, at: float) -> "FoldEconomics":
        """The clock of a log may go backwards; ours does not."""
        return replace(self, now=at if self.now is None else max(self.now, at))

    def observe(self, usage: Usage, items: int, tokens: int, messages: int) -> "FoldEconomics":
        """A provider counted our tokens and messages so."""
        calibration = self.calibration
        if self.is_live:
            calibration = calibration.observe(tokens, messages, usage.prompt)
        return replace(self, calibration=calibration, usage=(usage, items))

    def ask(self) -> "FoldEconomics":
        """A reply came, so a request was made: the newest entry before it tells when."""
        return replace(self, asked=self.now)

    def charge(self, tokens: int) -> "FoldEconomics":
        """So many tokens were sent once more."""
        cost = carry_cost(self.profile, tokens - self.floor - self.profile.recent_tokens)
        return replace(self, carry_cost=self.carry_cost + cost)

    def reset(self, tokens: int, *, only_appended: bool) -> "FoldEconomics":
        """A fold left this many tokens. What was reported before it is of a request that no longer exists."""
        appended = self.appended + 1 if only_appended else 0
        return replace(self, floor=tokens, usage=None, carry_cost=0.0, appended=appended)

    def corrected(self, tokens: int, messages: int) -> int:
        """Our count as the provider would count it, as far as its own reports tell; never below ours."""
        if not self.is_live:
            return tokens
        return max(tokens, self.calibration.estimate(tokens, messages))

    def counted(self, target: int, messages: int) -> int:
        """How many of our tokens the provider would count as `target`.

        Reports may be garbage: they make a fold deeper, down to a quarter of the target, and never impossible.
        """
        if not self.is_live:
            return target
        slope, each, constant = self.calibration.line
        ours = int((target - constant - each * messages) / slope)
        return min(max(ours, target // 4), target)
