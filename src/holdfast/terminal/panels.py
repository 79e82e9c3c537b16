"""The place for panels that ask a person: to approve a call, or to answer a question of the agent. One at a time.

Rule: every request gets an answer or is cancelled; then the panel is gone.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from textual.containers import Vertical

from holdfast.terminal.approval_panel import ApprovalPanel
from holdfast.terminal.asking_panel import AskingPanel, T
from holdfast.terminal.interface import ApprovalDecision, ApprovalRequest, ChoiceAnswer, ChoiceQuestion
from holdfast.terminal.question_panel import QuestionPanel

GRACE = 0.6
"""Seconds in which a key still belongs to what was being typed."""


class PanelArea(Vertical):
    def __init__(self, then: Callable[[], None], grace: float) -> None:
        """`then` is called when no question is open any more."""
        super().__init__(id="panels")
        self._then = then
        self._grace = grace
        self._one_by_one = asyncio.Lock()

    @property
    def panel(self) -> "AskingPanel[Any] | None":
        found = self.query_children(AskingPanel)
        return found.last() if found else None

    async def approve(self, asked: ApprovalRequest) -> ApprovalDecision:
        async with self._one_by_one:
            return await self._answer(ApprovalPanel(asked, self._grace))

    async def choose(self, choices: Sequence[ChoiceQuestion]) -> Sequence[ChoiceAnswer]:
        chosen: list[ChoiceAnswer] = []
        async with self._one_by_one:
            for n, choice in enumerate(choices, start=1):
                place = f" {n} of {len(choices)}" if len(choices) > 1 else ""
                chosen.append(await self._answer(QuestionPanel(choice, place)))
        return chosen

    async def _answer(self, panel: AskingPanel[T]) -> T:
        self.mount(panel)
        self.screen.add_class("-asking")
        self.app.bell()
        try:
            return await panel.answer
        finally:
            # Not if the screen is gone, and the panel with it.
            if self.is_attached:
                panel.remove()
                self.screen.remove_class("-asking")
                self._then()
