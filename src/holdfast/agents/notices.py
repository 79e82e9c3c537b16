"""Notices: what an agent tells its observers, such as a terminal, a trace or a test.

Rule: a notice changes nothing that the agent does, and everything that matters is in the log as well.
"""

from collections.abc import Callable

from msgspec import Struct

from holdfast.compaction.compact import Compaction
from holdfast.events import Folded
from holdfast.models.model import ModelReply, StreamEvent
from holdfast.tools.call import CallFinished, CallReported, CallStarted


class StepBegan(Struct, frozen=True):
    """A request goes out. `tokens` is its size by our count, `trigger` is where folds begin, and `most` how many
    steps the run may have, or 0."""

    number: int
    tokens: int
    trigger: int
    window: int
    most: int = 0


class Replied(Struct, frozen=True):
    """A complete reply is in the log. `dollars` is None if the price is unknown."""

    reply: ModelReply
    dollars: float | None


class FoldMade(Struct, frozen=True):
    fold: Folded


class SummaryBegan(Struct, frozen=True):
    """`waits` says whether the next request waits for it."""

    waits: bool


class SummaryMade(Struct, frozen=True):
    compaction: Compaction


class Reminded(Struct, frozen=True):
    """The model was told something that no person said."""

    text: str


class Warned(Struct, frozen=True):
    """What the person should know."""

    text: str


class PicturesMentioned(Struct, frozen=True):
    """Which pictures went with what a person said, and which did not."""

    notes: tuple[str, ...]


class HookReported(Struct, frozen=True):
    """A hook said something or failed, in a sentence for the person."""

    text: str
    is_failure: bool = False


class SubAgentNotice(Struct, frozen=True):
    """A notice of a sub-agent, with the call that it works for and its own log."""

    call: str
    log: str
    notice: "Notice"


Notice = (
    StepBegan
    | StreamEvent
    | Replied
    | CallStarted
    | CallReported
    | CallFinished
    | FoldMade
    | SummaryBegan
    | SummaryMade
    | Reminded
    | Warned
    | PicturesMentioned
    | HookReported
    | SubAgentNotice
)
Watch = Callable[[Notice], None]
"""**Contract:** called on the loop's own thread; must not block. What it raises is logged and changes nothing."""


def innermost(notice: Notice) -> Notice:
    """The notice itself, without the sub-agents around it."""
    while isinstance(notice, SubAgentNotice):
        notice = notice.notice
    return notice


def unwatched(_: Notice) -> None:
    """No observer."""
