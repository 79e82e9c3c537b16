"""What an agent tells, turned into pieces on the screen.

Rule: it looks on and changes nothing; what it missed is in the log.
"""

import time

from holdfast.agents.notices import FoldMade, Notice, Replied, StepBegan, SummaryBegan, SummaryMade
from holdfast.messages import ToolCall
from holdfast.models.protocol import ArgumentsCame, CallBegan, Retried, TextCame, ThinkingCame
from holdfast.terminal.cards import about_call
from holdfast.terminal.pieces import finished, fold_note, summary_note
from holdfast.terminal.plain import one_line
from holdfast.terminal.talk import Stage
from holdfast.terminal.values import Answer, Card, Note, Piece, Thought
from holdfast.tools.calling import CallFinished, CallStarted


class Following:
    """The step that is under way: the pieces of its reply, and the cards of its calls."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._coming: list[Piece] = []
        """Pieces of the reply that is being written."""
        self._cards: list[tuple[ToolCall, Card]] = []
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
                self._stage.add(Note(f"asked again in {seconds:g} s: {reason}", "warning"))
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

    def wait(self, call: ToolCall, *, is_over: bool) -> None:
        """A call waits for a person's word, or does so no more."""
        card = self._card(call)
        card.state = "writing" if is_over else "waiting"
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

    def _card(self, call: ToolCall) -> Card:
        """The card of a call, found by what it is, since ids may stand twice; a call nobody told of gets one."""
        found = next((card for known, card in self._cards if known is call and not card.is_over), None)
        found = found or next((card for known, card in self._cards if known is call), None)
        if found is None:
            found = Card(one_line(call.name), about_call(call.arguments))
            self._cards.append((call, found))
            self._stage.add(found)
        return found
