"""A sub-agent at work, in one line of its card; and what anybody's news say was spent.

Rule: what its own sub-agents spend is counted with it; what they do is theirs.
"""

from collections.abc import Callable

from holdfast.agents.notices import Notice, Replied, StepBegan, SummaryMade, innermost
from holdfast.messages import Usage
from holdfast.terminal.cards import about_call
from holdfast.terminal.plain import one_line
from holdfast.terminal.values import Work
from holdfast.tools.calling import CallStarted

Bill = Callable[[Usage], float | None]
"""Dollars for a usage; None where the price is not known."""


def unpriced(_: Usage) -> float | None:
    return None


def take_in(work: Work, news: Notice, bill: Bill) -> None:
    match news:
        case StepBegan(number=number, most=most):
            work.step, work.most = number, most
        case CallStarted(call=call):
            work.doing = one_line(f"{call.name} {about_call(call.arguments)}")
        case Replied(reply=reply) if not reply.calls:
            work.doing = "reports"
    for usage, dollars in paid(news, bill):
        work.tokens += usage.total if usage else 0
        is_known = work.dollars is not None and dollars is not None
        work.dollars = (work.dollars or 0.0) + (dollars or 0.0) if is_known else None


def paid(notice: Notice, bill: Bill) -> list[tuple[Usage | None, float | None]]:
    """What was spent with this, by whichever agent: for each reply its usage, where it is known, and its price."""
    match innermost(notice):
        case Replied(reply=reply, dollars=dollars):
            return [(reply.usage, dollars)]
        case SummaryMade(compaction=made):
            return [(one.usage, bill(one.usage)) for one in made.written.attempts if one.usage]
    return []
