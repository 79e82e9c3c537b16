"""Lists of bare names in every layout: whatever the layout is, the measure must not praise it."""

from collections.abc import Sequence
from itertools import islice, product

from holdfast.lab.policies.cheats import HEADING, NameDump
from holdfast.lab.policy import NamedPolicy, Task

WIDTHS = {"line": 10**9, "rows": 8, "lines": 1}
"""Names in a row."""


class LaidOutDump(NameDump):
    """In order of appearance, names of one line stay together."""

    def __init__(self, task: Task, layout: str = "line", order: str = "rarest") -> None:
        super().__init__(task)
        self.gap = "\n" if layout == "lines" else " "
        self.width = WIDTHS[layout]
        self.order = order

    def layout(self, names: Sequence[str]) -> str:
        if self.order == "appearance":
            chosen = set(names)
            names = [name for name in self.seen if name in chosen]
        rest = iter(names)
        rows = iter(lambda: " ".join(islice(rest, self.width)), "")
        return "\n".join([HEADING, *rows])


def _named(layout: str, order: str) -> NamedPolicy:
    return NamedPolicy(f"cheat-dump-{layout}-{order}", lambda task: LaidOutDump(task, layout, order))


DUMPS = tuple(_named(layout, order) for layout, order in product(WIDTHS, ("rarest", "appearance")))
