"""The upkeep of a window: what requests cost since the last fold, and what their provider reported of them.

Rule: from the log's own clock and reports alone. A recording's usage was reported for the recorder's requests, not
for ours: of one that is not live nothing is calibrated.
"""

from holdfast.messages import Usage
from holdfast.packing.counting.calibration import Calibration
from holdfast.packing.folding.economy import rent
from holdfast.packing.profile import Profile


class Upkeep:
    def __init__(self, profile: Profile) -> None:
        self.calibration = Calibration()
        self.is_live = True
        self.usage: tuple[Usage, int] | None = None
        """The newest report since the last fold, and how many items the log had before the reply."""
        self.rent = 0.0
        """What was paid since the last fold for tokens that it could have let go."""
        self.added = 0
        """Folds in a row that left the notes before them as they were."""
        self._profile = profile
        self._floor = profile.low_water
        """Tokens right after the last fold."""
        self._now: float | None = None
        self._asked: float | None = None

    @property
    def idle(self) -> float | None:
        """Seconds since the last request, as far as the log's clock tells."""
        return None if self._now is None or self._asked is None else self._now - self._asked

    def tick(self, at: float) -> None:
        """The clock of a log may go backwards; ours does not."""
        self._now = at if self._now is None else max(self._now, at)

    def observe(self, usage: Usage, items: int, tokens: int, messages: int) -> None:
        """A provider counted our tokens and messages so."""
        if self.is_live:
            self.calibration = self.calibration.observe(tokens, messages, usage.prompt)
        self.usage = usage, items

    def ask(self) -> None:
        """A reply came, so a request was made: the newest entry before it tells when."""
        self._asked = self._now

    def pay(self, tokens: int) -> None:
        """So many tokens were sent once more."""
        self.rent += rent(self._profile, tokens - self._floor - self._profile.recent_tokens)

    def start_anew(self, tokens: int, *, only_added: bool) -> None:
        """A fold left so many tokens. What was reported before it is of a request that no longer exists."""
        self.added = self.added + 1 if only_added else 0
        self.usage = None
        self.rent = 0.0
        self._floor = tokens

    def corrected(self, tokens: int, messages: int) -> int:
        """Our count as the provider would count it, as far as its own reports tell; never below ours."""
        if not self.is_live:
            return tokens
        return max(tokens, self.calibration.estimate(tokens, messages).tokens)

    def counted(self, target: int, messages: int) -> int:
        """How many of our tokens the provider would count as `target`.

        Reports may be garbage: they make a fold deeper, down to a quarter of the target, and never impossible.
        """
        if not self.is_live:
            return target
        slope, each, constant = self.calibration.line
        ours = int((target - constant - each * messages) / slope)
        return min(max(ours, target // 4), target)
