"""History in steps: one assistant message with its results is the unit of cutting.

Rule: a message is counted once, when it is new; call and result are never parted.
"""

from collections.abc import Sequence

from msgspec import Struct

from holdfast.errors import ContextOverflow
from holdfast.replay.policies.policy import Message, Task


class Suffix(Struct, frozen=True, gc=False):
    """What stays of a history: all from `start` on and, in front of it, the message `asker` if it is not -1."""

    start: int
    asker: int = -1


WHOLE = Suffix(0)


class Steps:
    """All messages so far as they are shown now, with their sizes."""

    def __init__(self, task: Task) -> None:
        self.count = task.count
        self.budget = task.budget
        self.shown: list[Message] = []
        self.sizes: list[int] = []
        self.starts: list[int] = []
        """Where each unit begins: a step, or a message that is no part of one."""
        self.askers: list[int] = []
        """For each unit the newest user message up to its beginning, -1 if there is none."""
        self.results: list[int] = []
        """Where the tool messages stand."""
        self._calls: dict[str, int] = {}

    def read(self, messages: Sequence[Message]) -> None:
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

    def show(self, at: int, message: Message) -> None:
        """Show this message in that place from now on."""
        self.shown[at] = message
        self.sizes[at] = self.count([message])

    def size(self, part: Suffix = WHOLE) -> int:
        return sum(self.sizes[part.start :]) + (self.sizes[part.asker] if part.asker >= 0 else 0)

    def messages(self, part: Suffix = WHOLE) -> list[Message]:
        opening = [self.shown[part.asker]] if part.asker >= 0 else []
        return opening + self.shown[part.start :]

    def newest(self, room: int) -> Suffix | None:
        """The most of the newest whole units that `room` holds.

        What begins with a step has the user message it works on put in front. A message too large for that is
        left out, and where not even the newest unit fits, that message stands alone. None if nothing fits.
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
        return best or plain or self._alone(room)

    def fit(self) -> list[Message]:
        """The newest that the budget holds, as messages. Raises ContextOverflow where nothing fits."""
        part = self.newest(self.budget) if self.shown else WHOLE
        if part is None:
            raise self.overflow()
        return self.messages(part)

    def overflow(self) -> ContextOverflow:
        newest = sum(self.sizes[self.starts[-1] :])
        return ContextOverflow(
            f"the newest step takes {newest} tokens, and the budget is {self.budget}",
            parts=(("newest step", newest),),
            budget=self.budget,
            hint="raise the budget",
        )

    def _alone(self, room: int) -> Suffix | None:
        asker = self.askers[-1] if self.askers else -1
        return Suffix(len(self.shown), asker) if asker >= 0 and self.sizes[asker] <= room else None

    def _open(self, at: int, message: Message) -> None:
        before = self.askers[-1] if self.askers else -1
        self.starts.append(at)
        self.askers.append(at if message.get("role") == "user" else before)
        for call in message.get("tool_calls") or ():
            self._calls[str(call.get("id"))] = at

    def _join(self, at: int, message: Message) -> None:
        """A result belongs to the unit of its call, with all that was said in between."""
        home = self._calls.get(str(message.get("tool_call_id")))
        if home is None and not self.starts:
            self._open(at, message)
        while home is not None and self.starts[-1] > home:
            self.starts.pop()
            self.askers.pop()
