"""Simple policies to compare with: everything, newest that fits, mask, clear in batches, cap at first sight.

Rule: a policy here chooses by position and size alone, and its settings are the arguments after its task. The
four that keep a budget send whole steps, with the user message that the oldest of them works on in front; the
first user message of all is not pinned. Call and result are never parted.
"""

from collections.abc import Sequence

from msgspec import Struct

from holdfast.errors import ContextOverflow
from holdfast.lab.policy import NamedPolicy, Task
from holdfast.lab.scored_message import read_message
from holdfast.numbers import grouped
from holdfast.wire.content_blocks import WireDict


class Suffix(Struct, frozen=True, gc=False):
    """What stays of a history: all from `start` on and, in front of it, the message `asker` if it is not -1."""

    start: int
    asker: int = -1


WHOLE = Suffix(0)
CLEARED = "[result cleared]"


class StepHistory:
    """All messages so far as they are shown now, with their sizes."""

    def __init__(self, task: Task) -> None:
        self.count = task.count
        self.budget = task.budget
        self.shown: list[WireDict] = []
        self.sizes: list[int] = []
        self.starts: list[int] = []
        """Where each unit begins: a step, or a message that is no part of one."""
        self.askers: list[int] = []
        """For each unit the newest user message up to its beginning, -1 if there is none."""
        self.results: list[int] = []
        """Where the tool messages are."""
        self._calls: dict[str, int] = {}
        self._cleared = 0
        """How many of the results have had their turn to be cleared."""

    def read(self, messages: Sequence[WireDict]) -> None:
        """Take in what is new. The list only grows, so what was read before is not looked at again."""
        assert len(messages) >= len(self.shown), "a history only grows"
        for at in range(len(self.shown), len(messages)):
            message = messages[at]
            self.shown.append(message)
            self.sizes.append(self.count([message]))
            if message.get("role") == "tool":
                self.results.append(at)
                self._join(at, message)
            else:
                self._open(at, message)

    def show(self, at: int, message: WireDict) -> None:
        self.shown[at] = message
        self.sizes[at] = self.count([message])

    def clear_results(self, keep: int) -> None:
        """Replace all results but the newest by a placeholder, for good, unless one is shorter than that."""
        end = max(len(self.results) - keep, self._cleared)
        for at in self.results[self._cleared : end]:
            cleared = {**self.shown[at], "content": CLEARED}
            if self.count([cleared]) < self.sizes[at]:
                self.show(at, cleared)
        self._cleared = end

    def size(self, part: Suffix = WHOLE) -> int:
        return sum(self.sizes[part.start :]) + (self.sizes[part.asker] if part.asker >= 0 else 0)

    def messages(self, part: Suffix = WHOLE) -> list[WireDict]:
        opening = [self.shown[part.asker]] if part.asker >= 0 else []
        return opening + self.shown[part.start :]

    def newest(self, room: int) -> Suffix | None:
        """The most of the newest whole units that `room` holds.

        What begins with a step has the user message it works on put in front. A message too large for that is
        left out, and where not even the newest unit fits, that message is sent alone. None if nothing fits.
        """
        best: Suffix | None = None
        plain: Suffix | None = None
        taken, end = 0, len(self.shown)
        for start, asker in zip(reversed(self.starts), reversed(self.askers), strict=True):
            taken += sum(self.sizes[start:end])
            end = start
            if taken > room:
                break
            plain = Suffix(start)
            if asker in (-1, start):
                best = plain
            elif taken + self.sizes[asker] <= room:
                best = Suffix(start, asker)
        asker = self.askers[-1] if self.askers else -1
        alone = Suffix(len(self.shown), asker) if asker >= 0 and self.sizes[asker] <= room else None
        return best or plain or alone

    def fit(self) -> list[WireDict]:
        """The newest that the budget holds, as messages. Raises ContextOverflow where nothing fits."""
        part = self.newest(self.budget) if self.shown else WHOLE
        if part is None:
            raise self.overflow()
        return self.messages(part)

    def overflow(self) -> ContextOverflow:
        newest = sum(self.sizes[self.starts[-1] :])
        return ContextOverflow(
            f"the newest step takes {grouped(newest)} tokens, and the budget is {grouped(self.budget)}",
            parts=(("newest step", newest),),
            budget=self.budget,
            hint="raise the budget",
        )

    def _open(self, at: int, message: WireDict) -> None:
        before = self.askers[-1] if self.askers else -1
        self.starts.append(at)
        self.askers.append(at if message.get("role") == "user" else before)
        for call in message.get("tool_calls") or ():
            self._calls[str(call.get("id"))] = at

    def _join(self, at: int, message: WireDict) -> None:
        """A result belongs to the unit of its call, with all that was said in between."""
        home = self._calls.get(str(message.get("tool_call_id")))
        if home is None and not self.starts:
            self._open(at, message)
        while home is not None and self.starts[-1] > home:
            self.starts.pop()
            self.askers.pop()


MASK_KEEPS = 10
CAP_SHARE = 1 / 16


class Everything:
    """All messages, whatever the budget."""

    def __init__(self, task: Task) -> None: ...

    def pack(self, messages: Sequence[WireDict], at: float | None) -> list[WireDict]:  # noqa: ARG002
        return list(messages)


class Newest:
    """Newest whole steps that fit: a window that rolls with each request. Subclasses shorten the messages first."""

    def __init__(self, task: Task) -> None:
        self._steps = StepHistory(task)

    def pack(self, messages: Sequence[WireDict], at: float | None) -> list[WireDict]:  # noqa: ARG002
        self._steps.read(messages)
        return self._steps.fit()


class Mask(Newest):
    """All results but the newest `keep` replaced by a placeholder, one more with each new result."""

    def __init__(self, task: Task, keep: int = MASK_KEEPS) -> None:
        super().__init__(task)
        self._keep = keep

    def pack(self, messages: Sequence[WireDict], at: float | None) -> list[WireDict]:  # noqa: ARG002
        self._steps.read(messages)
        self._steps.clear_results(self._keep)
        return self._steps.fit()


class Clear(Newest):
    """Results cleared in batches, so that the provider's cache holds in between.

    Above `TRIGGER` of the budget all results but the newest `KEEP` are cleared, for good. Where that frees less
    than `LEAST`, or does not suffice, the oldest steps go until `LEFT` of the budget is taken.
    """

    TRIGGER, KEEP, LEAST, LEFT = 0.9, 5, 0.1, 0.6

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._part = WHOLE
        self._asked = -1
        """Messages at the last request: the same history asked again is answered alike."""

    def pack(self, messages: Sequence[WireDict], at: float | None) -> list[WireDict]:  # noqa: ARG002
        steps = self._steps
        steps.read(messages)
        limit = self.TRIGGER * steps.budget
        if len(messages) > self._asked and steps.size(self._part) > limit:
            before = steps.size(self._part)
            steps.clear_results(self.KEEP)
            after = steps.size(self._part)
            if before - after < self.LEAST * steps.budget or after > limit:
                self._drop()
        self._asked = len(messages)
        if steps.size(self._part) > steps.budget:
            raise steps.overflow()
        return steps.messages(self._part)

    def _drop(self) -> None:
        """Down to the mark in one go; a newest step larger than that may take the whole budget."""
        steps = self._steps
        part = steps.newest(int(self.LEFT * steps.budget))
        if part is None or part.start == len(steps.shown):
            part = steps.newest(steps.budget)
        if part is None:
            raise steps.overflow()
        self._part = part


class Cap(Newest):
    """A result longer than `share` of the budget is cut to head and tail when it is first seen, and stays so."""

    def __init__(self, task: Task, share: float = CAP_SHARE) -> None:
        super().__init__(task)
        self._room = max(int(share * task.budget), 1)

    def pack(self, messages: Sequence[WireDict], at: float | None) -> list[WireDict]:  # noqa: ARG002
        steps = self._steps
        seen = len(steps.results)
        steps.read(messages)
        for place in steps.results[seen:]:
            if steps.sizes[place] > self._room:
                steps.show(place, self._cut(steps.shown[place], steps.sizes[place]))
        return steps.fit()

    def _cut(self, message: WireDict, size: int) -> WireDict:
        """Head and tail of a result, shortened until it keeps the cap: tokens are not spread evenly over it."""
        text = read_message(message).text
        half = len(text) * self._room // size // 2
        while half > 0:
            gap = f"\n[… {len(text) - 2 * half} characters cut …]\n"
            shorter = {**message, "content": text[:half] + gap + text[-half:]}
            if self._steps.count([shorter]) <= self._room:
                return shorter
            half = half * 9 // 10
        return {**message, "content": CLEARED}


SIMPLE = (
    NamedPolicy("everything", Everything, "all messages, exempt from the budget", budgeted=False),
    NamedPolicy("newest", Newest, "newest whole steps that fit, rolling"),
    NamedPolicy(
        "mask", Mask, f"results but the newest {MASK_KEEPS} replaced by `{CLEARED}`, then newest that fits"
    ),
    NamedPolicy(
        "clear",
        Clear,
        f"above {Clear.TRIGGER:.0%} of the budget results but the newest {Clear.KEEP} are cleared at once; "
        f"where that frees under {Clear.LEAST:.0%}, oldest steps go down to {Clear.LEFT:.0%}",
    ),
    NamedPolicy(
        "cap", Cap, f"results cut to head and tail at {CAP_SHARE:.1%} of the budget, then newest that fits"
    ),
)
