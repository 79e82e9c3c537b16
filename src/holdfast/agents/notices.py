"""What an agent tells whoever looks on: a terminal, a trace, a test.

Rule: news only. Nothing that is told changes what the agent does, and all that matters is in the log as well.
"""

from collections.abc import Callable

from msgspec import Struct

from holdfast.compaction.compact import Compaction
from holdfast.events import Folded
from holdfast.models.model import ModelReply, StreamEvent
from holdfast.tools.call import CallFinished, CallStarted


class StepBegan(Struct, frozen=True):
    """A request goes out. `tokens` is what it takes by our count, `trigger` where folds begin, `most` how many
    steps the run may have, 0 without end."""

    number: int
    tokens: int
    trigger: int
    window: int
    most: int = 0


class Replied(Struct, frozen=True):
    """A whole reply is in the log. `dollars` is None where the price is not known."""

    reply: ModelReply
    dollars: float | None


class FoldMade(Struct, frozen=True):
    fold: Folded


class SummaryBegan(Struct, frozen=True):
    """`waits` is whether the next request waits for it."""

    waits: bool


class SummaryMade(Struct, frozen=True):
    compaction: Compaction


class Reminded(Struct, frozen=True):
    """The model was told something that no person said."""

    text: str


class SubAgentNotice(Struct, frozen=True):
    """News of a sub-agent: of the call that it works for, and from its own log."""

    call: str
    log: str
    news: "Notice"


Notice = (
    StepBegan
    | StreamEvent
    | Replied
    | CallStarted
    | CallFinished
    | FoldMade
    | SummaryBegan
    | SummaryMade
    | Reminded
    | SubAgentNotice
)
Watch = Callable[[Notice], None]
"""**Contract:** called on the loop's own thread; must neither block nor raise."""


def innermost(notice: Notice) -> Notice:
    """What happened, by whichever sub-agent."""
    while isinstance(notice, SubAgentNotice):
        notice = notice.news
    return notice


def unwatched(_: Notice) -> None:
    """Nobody looks on."""
