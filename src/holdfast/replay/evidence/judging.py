"""The sums of one run: what share of the needs of each action was held, by measure and budget.

Rule: mean over the needs of an action, then over actions; a request that failed or burst its budget holds nothing.
"""

from collections.abc import Sequence

from msgspec import Struct

from holdfast.replay.evidence.credit import Credits, Fetch
from holdfast.replay.evidence.measure import Measure
from holdfast.replay.evidence.needs import Need
from holdfast.replay.evidence.reading import Reading
from holdfast.replay.results import AGES, KINDS, Share

OLDEST = (1, 2, 6, 11, 21, 51)
"""Where each of `AGES` begins."""


class Mean(Struct):
    total: float = 0.0
    count: int = 0

    def add(self, value: float) -> None:
        self.total += value
        self.count += 1

    @property
    def value(self) -> float | None:
        return self.total / self.count if self.count else None


class Held(Struct, frozen=True):
    """Needs of one action, and which of them a pack holds: by span, by span or reference, by presence."""

    needs: list[Need]
    span: list[bool]
    ref: list[bool]
    present: list[bool]
    fetched: dict[str, str]
    """Texts that references lead to, by id."""


def judge(needs: list[Need], pack: Sequence[Reading] | None, credit: Credits, fetch: Fetch | None) -> Held:
    """Without a pack, because there was none or it burst the budget, nothing is held."""
    if pack is None:
        nothing = [False] * len(needs)
        return Held(needs, nothing, nothing, nothing, {})
    span = [credit.span(need, pack) for need in needs]
    ref, present, fetched = list(span), list(span), {}
    for at, need in enumerate(needs):
        if span[at]:
            continue
        present[at] = credit.presence(need, pack)
        if fetch is not None and (found := credit.reference(need, pack, fetch)):
            ref[at] = True
            fetched[found[0]] = found[1]
    return Held(needs, span, ref, present, fetched)


class Tally:
    """For one budget. `curve_budget` is the smallest of the run: its hard needs are the same for all budgets."""

    def __init__(self, measure: Measure, budget: int, curve_budget: int) -> None:
        self._measure = measure
        self._budget = budget
        self._curve_budget = curve_budget
        self.all_span, self.hard_span, self.hard_ref = Mean(), Mean(), Mean()
        self.hard_presence, self.curve_span = Mean(), Mean()
        self.kinds = dict.fromkeys(KINDS, (0, 0))
        self.ages = dict.fromkeys(AGES, (0, 0))
        self.needs = self.hard_needs = 0

    def hard(self, held: Held) -> list[int]:
        """Which of the needs are hard."""
        return [i for i, need in enumerate(held.needs) if need.is_hard(self._measure, self._budget)]

    def add(self, held: Held) -> None:
        if not held.needs:
            return
        self.all_span.add(_share(held.span, range(len(held.span))))
        for need, span in zip(held.needs, held.span, strict=True):
            _count(self.ages, _age(need.age), span)
        hard = self.hard(held)
        self.needs += len(held.needs)
        self.hard_needs += len(hard)
        if hard:
            self.hard_span.add(_share(held.span, hard))
            self.hard_ref.add(_share(held.ref, hard))
            self.hard_presence.add(_share(held.present, hard))
        for i in hard:
            _count(self.kinds, held.needs[i].kind, held.span[i])
        curve = [i for i, need in enumerate(held.needs) if need.is_hard(self._measure, self._curve_budget)]
        if curve:
            self.curve_span.add(_share(held.span, curve))

    def shares(self, counts: dict[str, tuple[int, int]]) -> dict[str, Share]:
        return {key: Share(held, of) for key, (held, of) in counts.items() if of}


def _share(held: list[bool], which: Sequence[int]) -> float:
    return sum(held[i] for i in which) / len(which)


def _count(counts: dict[str, tuple[int, int]], key: str, held: bool) -> None:
    before = counts[key]
    counts[key] = (before[0] + held, before[1] + 1)


def _age(steps: int) -> str:
    return next(age for age, oldest in zip(reversed(AGES), reversed(OLDEST), strict=True) if steps >= oldest)
