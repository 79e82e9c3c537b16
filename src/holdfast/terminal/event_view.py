"""What happened and what happens, as pieces on the screen: from the log, and from the notices of a running agent.

Rule: it only watches; what it misses is in the log. A resumed session looks as it did before, and what never
finished is marked, not hidden. What sub-agents of a sub-agent spend is counted with it; what they do is not shown.
"""

import re
import time
from collections.abc import Callable, Iterable
from copy import copy

from holdfast.agents.coding.own_command import OWN_COMMAND
from holdfast.agents.notices import (
    FoldMade,
    HookReported,
    Notice,
    PicturesMentioned,
    Replied,
    StepBegan,
    SubAgentNotice,
    SummaryBegan,
    SummaryMade,
    Warned,
    innermost,
)
from holdfast.agents.tool_results import is_stopped_task, is_uncertain
from holdfast.events import (
    AssistantReplied,
    Compacted,
    CompactionFailed,
    Entry,
    Folded,
    Noted,
    ToolReturned,
    UserSaid,
)
from holdfast.messages import Text, Thinking, ToolCall, Usage, UserPart, joined_text
from holdfast.models.model import ArgumentsDelta, CallAnnounced, RetryScheduled, TextDelta, ThinkingDelta
from holdfast.numbers import group_digits
from holdfast.terminal.cards import OWN, describe_call
from holdfast.terminal.interface import (
    CallCard,
    NotePiece,
    Piece,
    ReplyPiece,
    SessionDisplay,
    TaskProgress,
    ThinkingPiece,
    UserPiece,
)
from holdfast.terminal.safe_text import one_line
from holdfast.terminal.status_line import format_tokens
from holdfast.tools.call import CallFinished, CallReported, CallStarted, JobEnded, LiveOutput

PriceOf = Callable[[Usage], float | None]
"""Dollars for a usage; None where the price is not known."""


def update_progress(work: TaskProgress, news: Notice, bill: PriceOf) -> None:
    match news:
        case StepBegan(number=number, most=most):
            work.step, work.most = number, most
        case CallStarted(call=call):
            work.doing = one_line(f"{call.name} {describe_call(call.arguments)}")
        case Replied(reply=reply) if not reply.calls:
            work.doing = "reports"
    for usage, dollars in spent_with(news, bill):
        work.tokens += usage.total if usage else 0
        is_known = work.dollars is not None and dollars is not None
        work.dollars = (work.dollars or 0.0) + (dollars or 0.0) if is_known else None


def spent_with(notice: Notice, bill: PriceOf) -> list[tuple[Usage | None, float | None]]:
    """What was spent, by whichever agent: for each reply its usage, if it is known, and its price."""
    match innermost(notice):
        case Replied(reply=reply, dollars=dollars):
            return [(reply.usage, dollars)]
        case SummaryMade(compaction=made):
            return [(one.usage, bill(one.usage)) for one in made.written.attempts if one.usage]
    return []


DENIED = ("ACCESS_DENIED", "The user denied")
_FAILED_EXIT = re.compile(r"Exit code: [1-9]")
_INTERRUPTED = re.compile(r"Exit code: \d+ \(interrupted ")
SUMMARIZED = "earlier work was summarized."


def _finish_card(card: CallCard, parts: tuple[UserPart, ...], shown: str, *, is_error: bool) -> None:
    """Fill a card with the result of its call."""
    card.full = joined_text(parts)
    card.shown = shown or card.full
    card.live = ""
    is_interrupted = card.name in ("Bash", OWN) and _INTERRUPTED.match(card.full)
    if is_interrupted or is_stopped_task(card.name, card.full):
        card.state = "interrupted"
    elif not is_error:
        has_failed = card.name in ("Bash", OWN) and _FAILED_EXIT.match(card.full)
        card.state = "failed" if has_failed else "done"
    elif is_uncertain(card.full):
        card.state = "uncertain"
    else:
        card.state = "refused" if card.full.startswith(DENIED) else "failed"


def finish_own_card(card: CallCard, text: str, *, is_error: bool) -> None:
    """Fill the card of a person's own command."""
    shown = text.removeprefix("Exit code: 0\n")
    _finish_card(card, (Text(text),), shown, is_error=is_error)


def fold_note(fold: Folded) -> NotePiece:
    before, after = format_tokens(fold.tokens_before), format_tokens(fold.tokens_after)
    why = group_digits(fold.why) or fold.reason
    return NotePiece(
        f"folded {before} → {after} tokens: {why}. All of it stays in the log, and Recall brings it back."
    )


def hook_note(text: str, *, is_failure: bool) -> NotePiece:
    return NotePiece(one_line(text), "warning" if is_failure else "quiet")


def earlier_pieces(entries: Iterable[Entry]) -> list[Piece]:
    """The pieces of a session, from the entries on its path."""
    pieces: list[Piece] = []
    open_cards: dict[str, list[CallCard]] = {}
    for entry in entries:
        match entry.event:
            case UserSaid(parts=parts, origin="person" | "agent"):
                pieces.append(UserPiece(joined_text(parts)))
            case AssistantReplied():
                pieces += _replied(entry.event, open_cards)
            case ToolReturned(call_id=id_, parts=parts, shown=shown, error=error) if open_cards.get(id_):
                _finish_card(open_cards[id_].pop(0), parts, shown, is_error=error)
            case Noted(kind=kind, text=text, data=data) if kind == OWN_COMMAND:
                own = CallCard(OWN, one_line(str(data.get("typed", ""))))
                finish_own_card(own, text, is_error=bool(data.get("error")))
                pieces.append(own)
            case Folded() if entry.event.tokens_before:
                pieces.append(fold_note(entry.event))
            case Compacted(slot="state"):
                pieces.append(NotePiece(SUMMARIZED))
            case CompactionFailed(why=why):
                pieces.append(NotePiece(f"no summary was written: {why}", "warning"))
            case Noted(kind="hook", text=text, data=data):
                pieces.append(hook_note(text, is_failure=bool(data.get("failure"))))
    return pieces


def _replied(event: AssistantReplied, open_cards: dict[str, list[CallCard]]) -> Iterable[Piece]:
    for part in event.parts:
        match part:
            case Text(text=text) if text.strip():
                yield ReplyPiece(text.strip("\n"), is_whole=True)
            case Thinking(text=text) if text.strip():
                yield ThinkingPiece(text, is_whole=True)
            case ToolCall():
                # Uncertain until its result is found.
                card = CallCard(one_line(part.name), describe_call(part.arguments), "uncertain")
                open_cards.setdefault(part.id, []).append(card)
                yield card


class EventView:
    """The current step: the pieces of its reply, and the cards of its calls."""

    def __init__(self, display: SessionDisplay, bill: PriceOf) -> None:
        self._display = display
        self._bill = bill
        self._coming: list[Piece] = []
        """Pieces of the reply that is streaming."""
        self._cards: list[tuple[ToolCall, CallCard]] = []
        self._tasks: dict[str, CallCard] = {}
        """Cards of tasks, by the log of the sub-agent."""
        self.step: StepBegan | None = None

    def __call__(self, notice: Notice) -> None:
        match notice:
            case StepBegan():
                self.step = notice
                self._coming = []
                self._display.stepped(notice.number)
            case TextDelta(text=text):
                self._add_delta(ReplyPiece, text)
            case ThinkingDelta(text=text):
                self._add_delta(ThinkingPiece, text)
            case CallAnnounced(name=name):
                self._put(CallCard(one_line(name)))
            case ArgumentsDelta(number=number, text=text):
                for card in self._coming_cards()[number : number + 1]:
                    card.written += len(text)
                    self._display.change(card)
            case RetryScheduled():
                for piece in self._coming:
                    self._display.drop(piece)
                self._coming = []
                self._display.add(NotePiece(notice.sentence, "warning"))
            case Replied():
                self._replied(notice)
            case CallStarted(call=call):
                card = self._card(call)
                card.state, card.started = "running", time.monotonic()
                self._display.change(card)
            case CallReported(call=call, news=LiveOutput(text=text, lines=lines)):
                card = self._card(call)
                card.live, card.live_lines = text, lines
                self._display.change(card)
            case CallReported(news=JobEnded() as ended):
                self._display.add(
                    NotePiece(f"{ended.id} has ended: {one_line(ended.command)}\n{ended.sentence}")
                )
                self._display.refresh_figures()
            case CallFinished(call=call, result=result):
                card = self._card(call)
                _finish_card(card, result.parts, result.shown, is_error=result.is_error)
                card.seconds = notice.seconds
                self._display.change(card)
                self._display.refresh_figures()
            case FoldMade(fold=fold):
                self._display.add(fold_note(fold))
            case SummaryBegan(waits=True):
                self._display.add(NotePiece("a summary is being written; the next step waits for it"))
            case SummaryMade(compaction=compaction):
                self._display.add(NotePiece(" ".join([SUMMARIZED, *compaction.notes])))
            case Warned(text=text):
                self._display.add(NotePiece(text, "warning"))
            case PicturesMentioned(notes=notes):
                for note in notes:
                    self._display.add(NotePiece(note))
            case HookReported():
                self._display.add(hook_note(notice.text, is_failure=notice.is_failure))
            case SubAgentNotice():
                if isinstance(told := innermost(notice), HookReported):
                    self._display.add(hook_note(f"sub-agent: {told.text}", is_failure=told.is_failure))
                self._show_task(notice)

    def wait(self, call: ToolCall, *, is_over: bool, task: str = "") -> None:
        """A call waits for a person, or no longer does. `task` is the call that a sub-agent works for."""
        card = self._card_of_task(task) if task else self._card(call)
        if card:
            card.state = "waiting" if not is_over else "running" if task else "writing"
            self._display.change(card)

    def ended(self) -> None:
        """The run is over: the text of an interrupted reply stays, half a call does not."""
        for piece in self._coming:
            if isinstance(piece, ReplyPiece | ThinkingPiece) and piece.text.strip():
                self._complete(piece)
            else:
                self._display.drop(piece)
        self._coming, self._cards, self._tasks = [], [], {}

    def _add_delta(self, kind: type[ReplyPiece] | type[ThinkingPiece], text: str) -> None:
        last = self._coming[-1] if self._coming else None
        if isinstance(last, kind):
            last.text += text
            self._display.change(last)
        elif text.strip():
            self._put(kind(text.lstrip("\n")))

    def _put(self, piece: Piece) -> None:
        self._end_texts()
        self._coming.append(piece)
        self._display.add(piece)

    def _end_texts(self) -> None:
        for piece in self._coming:
            if isinstance(piece, ReplyPiece | ThinkingPiece):
                self._complete(piece)

    def _complete(self, piece: ReplyPiece | ThinkingPiece) -> None:
        if not piece.is_whole:
            piece.is_whole = True
            self._display.change(piece)

    def _coming_cards(self) -> list[CallCard]:
        return [piece for piece in self._coming if isinstance(piece, CallCard)]

    def _replied(self, notice: Replied) -> None:
        """The reply is complete: its calls get their arguments."""
        self._end_texts()
        cards = self._coming_cards()
        for n, call in enumerate(notice.reply.calls):
            if n == len(cards):
                cards.append(CallCard(one_line(call.name)))
                self._display.add(cards[n])
            cards[n].about = describe_call(call.arguments)
            cards[n].written = 0
            self._display.change(cards[n])
            self._cards.append((call, cards[n]))
        self._coming = []
        self._display.refresh_figures()

    def _show_task(self, told: SubAgentNotice) -> None:
        """Show what a sub-agent does on the card of its task."""
        if told.log not in self._tasks and (card := self._card_of_task(told.call)):
            card.work = TaskProgress()
            self._tasks[told.log] = card
        card = self._tasks.get(told.log)
        if card is None or card.work is None:
            return
        before = copy(card.work)
        update_progress(card.work, told.notice, self._bill)
        if card.work != before:
            # Most notices are pieces of a reply, of which the card shows nothing.
            self._display.change(card)
        if isinstance(told.notice, Replied | CallFinished):
            self._display.refresh_figures()

    def _card_of_task(self, id_: str) -> CallCard | None:
        """The card of a task by the id of its call. If an id is used twice, the one without a sub-agent yet."""
        found = [card for call, card in self._cards if call.id == id_ and not card.is_over]
        return next((card for card in found if card.work is None), found[-1] if found else None)

    def _card(self, call: ToolCall) -> CallCard:
        """The card of a call, found by identity, because ids may be used twice; a new one if there is none."""
        found = [card for known, card in self._cards if known is call]
        if not found:
            found = [CallCard(one_line(call.name), describe_call(call.arguments))]
            self._cards.append((call, found[0]))
            self._display.add(found[0])
        return next((card for card in found if not card.is_over), found[0])
