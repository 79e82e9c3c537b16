"""A review without a screen: a change in, a report out, whatever happens on the way.

Rule: what the rules and the model have found until then is reported also where the run was stopped.
"""

import asyncio
import os
from collections.abc import Callable, Mapping

from msgspec import Struct

from holdfast.agents.coding.wish import Wish
from holdfast.agents.headless import Signals, spent_in
from holdfast.agents.limits import Spent
from holdfast.agents.notices import Watch, unwatched
from holdfast.agents.outcomes import Done, End, Stop
from holdfast.agents.reviewing.desk import REQUEST, ReviewDesk
from holdfast.agents.reviewing.setup import Change, OpenedReview, open_review
from holdfast.models.protocol import Model
from holdfast.review.reports import Report
from holdfast.review.review import Review


class Reviewed(Struct, frozen=True, kw_only=True):
    """`end` is what the model's run came to; `signal` the one that ended it, 0 if none did."""

    review: Review
    report: Report
    end: End
    log: str
    spent: Spent
    is_priced: bool
    signal: int = 0

    @property
    def answer(self) -> str:
        """What the model said, where it came to an end."""
        return self.end.text if isinstance(self.end, Done) else ""


class Interrupted(Exception):
    """Ended by a signal before there was anything to report."""

    def __init__(self, signal: int) -> None:
        super().__init__("interrupted")
        self.signal = signal


async def run_review(
    wish: Wish,
    change: Change | None,
    question: str = "",
    *,
    watch: Watch = unwatched,
    tell: Callable[[str], None] = lambda _: None,
    began: Callable[[OpenedReview], None] = lambda _: None,
    env: Mapping[str, str] = os.environ,
    model: Model | None = None,
) -> Reviewed:
    """Review a change, or go on with the newest review and ask it something. Raises the errors of `holdfast.errors`
    that keep it from beginning."""
    signals = Signals()
    with signals.caught():
        try:
            opened = await open_review(wish, change, watch=watch, tell=tell, env=env, model=model)
        except asyncio.CancelledError:
            if not signals.settle():
                raise
            raise Interrupted(signals.came) from None
        try:
            began(opened)
            signals.agent = opened.desk.agent
            return await _reviewed(opened.desk, question or REQUEST, signals)
        finally:
            await opened.close()


async def _reviewed(desk: ReviewDesk, request: str, signals: Signals) -> Reviewed:
    entries = desk.session.log.info.entries
    end: End = Done("")
    try:
        # A change may be committed or undone by the time it is asked about; what was said of it is still there.
        if desk.review.units or desk.is_begun:
            end = await desk.look(request)
    except asyncio.CancelledError:
        if not signals.settle():
            raise
        end = Stop("interrupted", "interrupted", "`holdfast review --continue` goes on")
    entry = desk.agent.asking.entry
    return Reviewed(
        review=desk.review,
        report=desk.report(),
        end=end,
        log=desk.session.log.id,
        spent=spent_in(desk.session.log.entries(entries), entry),
        is_priced=entry.price is not None,
        signal=signals.came,
    )
