"""What an agent tells, turned into pieces on the screen.

Rule: it looks on and changes nothing; what it missed is in the log.
"""

import time

from holdfast.agents.notices import FoldMade, Notice, Replied, StepBegan, SummaryBegan, SummaryMade, TaskNews
from holdfast.messages import ToolCall
from holdfast.models.protocol import ArgumentsCame, CallBegan, Retried, TextCame, ThinkingCame
from holdfast.terminal.cards import about_call, seconds_said
from holdfast.terminal.pieces import finished, fold_note, summary_note
from holdfast.terminal.plain import one_line
from holdfast.terminal.talk import Stage
from holdfast.terminal.values import Answer, Card, Note, Piece, Thought, Work
from holdfast.terminal.working import Bill, take_in, unpriced
from holdfast.tools.calling import CallFinished, CallStarted


class Following:
    """The step that is under way: the pieces of its reply, and the cards of its calls."""

    def __init__(self, stage: Stage, bill: Bill = unpriced) -> None:
        self._stage = stage
        self._bill = bill
        self._coming: list[Piece] = []
        """Pieces of the reply that is being written."""
        self._cards: list[tuple[ToolCall, Card]] = []
        self._tasks: dict[str, Card] = {}
        """Cards of tasks by the logs of the sub-agents that work on them."""
        self.step: StepBegan | None = None

    def __call__(self, notice: Notice) -> None:
        match notice:
            case StepBegan():
                self.step = notice
                self._coming = []
                self._stage.stepped(notice.number)
            case TextCame(text=text):
                self._came(Answer, text)
            case ThinkingCame(text=text):
                self._came(Thought, text)
            case CallBegan(name=name):
                self._end_texts()
                self._put(Card(one_line(name)))
            case ArgumentsCame(number=number, text=text):
                self._write(number, len(text))
            case Retried(seconds=seconds, reason=reason):
                self._take_back()
                self._stage.add(Note(f"asked again in {seconds_said(seconds)}: {reason}", "warning"))
            case Replied():
                self._replied(notice)
            case CallStarted(call=call):
                self._started(call)
            case CallFinished(call=call):
                finished(self._card(call), notice.result, notice.seconds)
                self._stage.change(self._card(call))
                self._stage.refigure()
            case FoldMade(fold=fold):
                self._stage.add(fold_note(fold))
            case SummaryBegan(waits=True):
                self._stage.add(Note("a summary is written, and the next step waits for it"))
            case SummaryMade(compaction=compaction):
                self._stage.add(summary_note(compaction.notes))
            case TaskNews():
                self._told_of_task(notice)

    def wait(self, call: ToolCall, *, is_over: bool, task: str = "") -> None:
        """A call waits for a person's word, or does so no more. `task` is the call that a sub-agent works for."""
        card = self._card_of_task(task) if task else self._card(call)
        if card:
            card.state = "waiting" if not is_over else "running" if task else "writing"
            self._stage.change(card)

    def ended(self) -> None:
        """The run is over: a reply that was broken off stays as far as its text came, half a call does not."""
        for piece in self._coming:
            if isinstance(piece, Answer | Thought) and piece.text.strip():
                self._whole(piece)
            else:
                self._stage.drop(piece)
        self._coming = []
        self._cards = []
        self._tasks = {}

    def _came(self, kind: type[Answer] | type[Thought], text: str) -> None:
        last = self._coming[-1] if self._coming else None
        if isinstance(last, kind):
            last.text += text
            self._stage.change(last)
        elif text.strip():
            self._end_texts()
            self._put(kind(text.lstrip("\n")))

    def _put(self, piece: Piece) -> None:
        self._coming.append(piece)
        self._stage.add(piece)

    def _end_texts(self) -> None:
        for piece in self._coming:
            if isinstance(piece, Answer | Thought):
                self._whole(piece)

    def _whole(self, piece: Answer | Thought) -> None:
        if not piece.is_whole:
            piece.is_whole = True
            self._stage.change(piece)

    def _write(self, number: int, characters: int) -> None:
        cards = [piece for piece in self._coming if isinstance(piece, Card)]
        if number < len(cards):
            cards[number].written += characters
            self._stage.change(cards[number])

    def _take_back(self) -> None:
        for piece in self._coming:
            self._stage.drop(piece)
        self._coming = []

    def _replied(self, notice: Replied) -> None:
        """The reply is whole: what streamed of it is now what it says, call by call."""
        self._end_texts()
        cards = [piece for piece in self._coming if isinstance(piece, Card)]
        for n, call in enumerate(notice.reply.calls):
            if n == len(cards):
                cards.append(Card(one_line(call.name)))
                self._stage.add(cards[n])
            cards[n].about = about_call(call.arguments)
            cards[n].written = 0
            self._stage.change(cards[n])
            self._cards.append((call, cards[n]))
        self._coming = []
        self._stage.refigure()

    def _started(self, call: ToolCall) -> None:
        card = self._card(call)
        card.state, card.started = "running", time.monotonic()
        self._stage.change(card)

    def _told_of_task(self, told: TaskNews) -> None:
        """What a sub-agent does, on the card of its task."""
        if told.log not in self._tasks and (card := self._card_of_task(told.call)):
            card.work = Work()
            self._tasks[told.log] = card
        card = self._tasks.get(told.log)
        if card is None or card.work is None:
            return
        take_in(card.work, told.news, self._bill)
        self._stage.change(card)
        if isinstance(told.news, Replied | CallFinished):
            self._stage.refigure()

    def _card_of_task(self, id_: str) -> Card | None:
        """The card of a task by the id of its call. Where an id stands twice, the one that nobody works on yet."""
        found = [card for call, card in self._cards if call.id == id_ and not card.is_over]
        return next((card for card in found if card.work is None), found[-1] if found else None)

    def _card(self, call: ToolCall) -> Card:
        """The card of a call, found by what it is, since ids may stand twice; a call nobody told of gets one."""
        found = next((card for known, card in self._cards if known is call and not card.is_over), None)
        found = found or next((card for known, card in self._cards if known is call), None)
        if found is None:
            found = Card(one_line(call.name), about_call(call.arguments))
            self._cards.append((call, found))
            self._stage.add(found)
        return found
