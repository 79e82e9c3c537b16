"""Where an event of a recorded tree stands.

Rule: a branch is what a person made by saying something else at an earlier point. Parallel results, progress
lines and reminders fork the recorders' trees too; those are one step and stay in a line.
"""

from holdfast.events import AssistantReplied, BoundarySeen, Event, ToolReturned, UserSaid
from holdfast.recordings.draft import Draft


class Tree:
    """Maps the recorder's own ids to events of a draft and decides what each new event follows."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._places: dict[str, int] = {}
        self._steps: dict[int, int] = {0: 0}
        self._last_result: dict[int, int] = {}

    def add(
        self,
        event: Event,
        *,
        own: str = "",
        parent: str = "",
        chain: str = "",
        at: float | None = None,
        root: bool = False,
    ) -> int | None:
        """Append an event the recorder calls `own` and hangs under `parent`; a `root` hangs under nothing."""
        target = 0 if root and not chain else self._places.get(parent)
        after = self._branch(event, target, chain)
        before = self._draft.newest(chain) if after is None else after
        index = self._draft.add(event, chain=chain, at=at, after=after)
        if index is None:
            self.pass_by(own, parent)
            return None
        replied = isinstance(self._draft.event(index), AssistantReplied)
        self._steps[index] = index if replied else self._steps.get(before or 0, 0)
        if isinstance(event, ToolReturned):
            self._last_result[self._steps[index]] = index
        if own:
            self._places[own] = index
        return index

    def knows(self, own: str) -> bool:
        return own in self._places

    def pass_by(self, own: str, parent: str) -> None:
        """A line without an event: its children hang where it hangs."""
        if own and own not in self._places and parent in self._places:
            self._places[own] = self._places[parent]

    def alias(self, own: str, index: int) -> None:
        """A further line of an event that already has its place."""
        self._places[own] = index

    def _branch(self, event: Event, target: int | None, chain: str) -> int | None:
        newest = self._draft.newest(chain)
        if target is None or newest is None:
            return None
        step = self._steps.get(target, 0)
        if isinstance(self._draft.event(target), AssistantReplied | ToolReturned):
            target = self._last_result.get(step, target)
        within_step = step == self._steps.get(newest, 0) and not _chosen_by_person(event)
        return None if target == newest or within_step else target


def _chosen_by_person(event: Event) -> bool:
    """Only a person goes back: by saying something else, or by walking to another place of the tree."""
    if isinstance(event, BoundarySeen):
        return event.kind == "branch_summary"
    return isinstance(event, UserSaid) and event.origin == "person"
