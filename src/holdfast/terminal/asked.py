"""The place where a person is asked: one thing after the other.

Rule: whoever asks gets an answer or is cancelled, and then the panel is gone.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from textual.containers import Vertical

from holdfast.terminal.approval import ApprovalPanel
from holdfast.terminal.questions import QuestionPanel
from holdfast.terminal.values import Approval, Choice, Chosen, Verdict


class Asked(Vertical):
    def __init__(self, then: Callable[[], None], grace: float) -> None:
        """`then` is called whenever nothing is asked any more."""
        super().__init__(id="asked")
        self._then = then
        self._grace = grace
        self._one_by_one = asyncio.Lock()

    @property
    def panel(self) -> ApprovalPanel | QuestionPanel | None:
        found = self.query_children(".panel")
        return found.last() if found else None  # type: ignore[return-value]

    async def approve(self, asked: Approval) -> Verdict:
        async with self._one_by_one:
            panel = ApprovalPanel(asked, self._grace)
            with self._shown(panel):
                return await panel.verdict

    async def choose(self, choices: Sequence[Choice]) -> Sequence[Chosen]:
        chosen: list[Chosen] = []
        async with self._one_by_one:
            for n, choice in enumerate(choices, start=1):
                panel = QuestionPanel(choice, f" {n} of {len(choices)}" if len(choices) > 1 else "")
                with self._shown(panel):
                    chosen.append(await panel.chosen)
        return chosen

    @contextmanager
    def _shown(self, panel: ApprovalPanel | QuestionPanel) -> Iterator[None]:
        self.mount(panel)
        self.screen.add_class("-asking")
        self.app.bell()
        try:
            yield
        finally:
            # Not where the screen is gone already, and the question with it.
            if self.is_attached:
                panel.remove()
                self.screen.remove_class("-asking")
                self._then()
