"""The oracle: the folds of a profile, with lines ranked by what later actions will use. It sees the future.

Rule: a ceiling to compare with and no policy: only the laboratory has it, and it says what it is wherever it is
listed. Room, triggers and the greedy choice of lines are the profile's own; only the scores come from the future.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from math import log

from holdfast.lab.policies.profile_policy import ProfilePacking
from holdfast.lab.policy import LaterUse, NamedPolicy, PolicyReply, Task
from holdfast.packing.lines.line_index import IndexedLine, LogLineIndex
from holdfast.packing.lines.weights import WeightVectors, worth_of
from holdfast.packing.profile import BUILT_IN, CODE, Profile
from holdfast.wire.content_blocks import WireDict

NAME = "oracle"
UNUSED_SHARE = 1e-9
"""What of a profile's own score counts: it orders what no later action uses."""
NOTHING = 1e-300
"""A logarithm needs a little."""


class FutureLineIndex(LogLineIndex):
    """A line index whose scores are what later actions use."""

    def __init__(self, weights: WeightVectors, later: Callable[[], tuple[LaterUse, LaterUse]]) -> None:
        super().__init__(weights)
        self._later = later

    def line_scores(self, lines: Iterable[IndexedLine]) -> Iterator[float]:
        used, _ = self._later()
        scored = list(lines)
        for line, own in zip(scored, super().line_scores(scored), strict=True):
            use = max(used.get(line.key, 0.0), used.get(line.text.strip(), 0.0))
            yield log(use + UNUSED_SHARE * worth_of(own) + NOTHING)

    def name_values(self, lines: Iterable[IndexedLine]) -> dict[str, float]:
        _, used = self._later()
        own = super().name_values(lines)
        return {text: used.get(text, 0.0) + UNUSED_SHARE * value for text, value in own.items()}


class OraclePacking(ProfilePacking):
    """Without a future, as outside a replay, it is the profile itself."""

    def __init__(self, profile: Profile, task: Task) -> None:
        self._task = task
        self._messages = 0
        self._known: tuple[int, tuple[LaterUse, LaterUse]] = (-1, ({}, {}))
        super().__init__(profile, None, task, partial(FutureLineIndex, later=self._later_use))

    def pack(self, messages: Sequence[WireDict], at: float | None) -> PolicyReply:
        self._messages = len(messages)
        return super().pack(messages, at)

    def _later_use(self) -> tuple[LaterUse, LaterUse]:
        """From the request that is being made on; a fold asks several times."""
        if self._task.later is not None and self._known[0] != self._messages:
            self._known = self._messages, self._task.later(self._messages)
        return self._known[1]


def oracle_name(profile: str) -> str:
    return NAME if profile == CODE.name else f"{NAME}-{profile}"


def underlying_profile(name: str) -> str:
    """The profile whose oracle has this name; the name itself where it is no oracle's."""
    return CODE.name if name == NAME else name.removeprefix(f"{NAME}-")


def oracle_policies(profiles: Iterable[Profile]) -> list[NamedPolicy]:
    """The oracles of profiles that keep lines."""
    return [
        NamedPolicy(
            oracle_name(profile.name),
            partial(OraclePacking, profile),
            f"sees the future: the folds of `{profile.name}` with lines ranked by what later actions use; "
            "a ceiling, no policy",
            sees_future=True,
        )
        for profile in profiles
        if profile.excerpt_ratio
    ]


ORACLES = tuple(oracle_policies(BUILT_IN.values()))
