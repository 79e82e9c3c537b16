"""The pieces of a talk as widgets, one for each.

Rule: a widget is made from its piece alone, and can be thrown away and made again at any time.
"""

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content

from holdfast.terminal.cards import card_content
from holdfast.terminal.laid import Laid
from holdfast.terminal.markdown import rendered
from holdfast.terminal.plain import counted, neutral
from holdfast.terminal.values import Answer, Card, Note, Piece, Said, Thought

MOST_SAID = 12
"""Lines of a message of the person that are shown at first."""
LIVE_LINES = 3
"""Lines of a thought that are shown while it is thought."""
CHUNK = 2_000
"""Characters of a streaming reply that are laid out anew with each piece that comes."""

_TONES = {"quiet": "dim", "plain": "", "warning": "$warning", "error": "bold $error"}


class Opening(Laid):
    """A piece; some can be opened to show more."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,space", "open", show=False)]

    def __init__(self, piece: Piece, classes: str) -> None:
        super().__init__(classes=classes)
        self.piece = piece
        self.is_open = False

    @property
    def can_open(self) -> bool:
        return False

    def action_open(self) -> None:
        if self.can_open:
            self.is_open = not self.is_open
            self.changed()

    def on_click(self, event: events.Click) -> None:
        if event.chain == 1 and not self.screen.get_selected_text():
            self.action_open()


class SaidEntry(Opening):
    piece: Said

    def __init__(self, piece: Said) -> None:
        super().__init__(piece, "said")
        self.can_focus = self.can_open

    @property
    def can_open(self) -> bool:
        return self.piece.text.count("\n") >= MOST_SAID or len(self.piece.text) > 80 * MOST_SAID

    def content_at(self, width: int) -> Content:
        lines = neutral(self.piece.text).split("\n")
        shown = lines
        if self.can_open and not self.is_open:
            shown = [line[: 4 * width] for line in lines[: MOST_SAID - 2]]
        content = [Content(line) for line in shown]
        if self.can_open and not self.is_open:
            left = len(lines) - len(shown)
            size = f"{len(self.piece.text):,} characters"
            content.append(Content.styled(f"… {counted(left, 'more line')}, {size} in all", "dim"))
        if self.piece.is_queued:
            content.append(Content.styled("queued: read at the next step, or at once with Esc", "dim italic"))
        return Content("\n").join(content)


class ThoughtEntry(Opening):
    piece: Thought

    def __init__(self, piece: Thought) -> None:
        super().__init__(piece, "thought")
        self.can_focus = True

    @property
    def can_open(self) -> bool:
        return bool(self.piece.text.strip())

    def content_at(self, width: int) -> Content:  # noqa: ARG002
        text = self.piece.text.strip()
        if self.is_open:
            return Content(f"▾ thought\n{neutral(text)}")
        if self.piece.is_whole:
            return Content(f"▸ thought, {counted(len(text.split()), 'word')}")
        lines = neutral(text[-CHUNK:]).split("\n")
        return Content("▸ thinking\n" + "\n".join(lines[-LIVE_LINES:]))


class CardEntry(Opening):
    piece: Card

    def __init__(self, piece: Card) -> None:
        super().__init__(piece, "card")
        self.can_focus = True

    @property
    def can_open(self) -> bool:
        return self.piece.is_over

    def content_at(self, width: int) -> Content:
        return card_content(self.piece, width, is_open=self.is_open)


class NoteEntry(Opening):
    piece: Note

    def __init__(self, piece: Note) -> None:
        super().__init__(piece, f"note -{piece.tone}")

    def content_at(self, width: int) -> Content:
        if self.piece.is_markdown:
            return rendered(self.piece.text, width)
        return Content.styled(neutral(self.piece.text), _TONES[self.piece.tone])


class WholeAnswer(Opening):
    piece: Answer

    def __init__(self, piece: Answer) -> None:
        super().__init__(piece, "whole")

    def content_at(self, width: int) -> Content:
        return rendered(self.piece.text, width)


class Chunk(Laid):
    """A part of a reply that is still being written, as plain text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def put(self, text: str) -> None:
        self._text = text
        self.changed()

    def content_at(self, width: int) -> Content:  # noqa: ARG002
        return Content(neutral(self._text))


class AnswerEntry(Vertical):
    """A reply: plain chunks while it comes, of which only the last is laid out anew; then one piece of Markdown."""

    def __init__(self, piece: Answer) -> None:
        super().__init__(classes="answer")
        self.piece = piece
        self._frozen = 0
        """Characters of the text that stand in finished chunks."""
        self._live: Chunk | None = None

    def compose(self) -> ComposeResult:
        if self.piece.is_whole:
            yield WholeAnswer(self.piece)
        else:
            self._live = Chunk(self.piece.text)
            yield self._live

    def changed(self) -> None:
        if self._live is None:
            return
        if self.piece.is_whole:
            self._live = None
            self.remove_children()
            self.mount(WholeAnswer(self.piece))
            return
        text = self.piece.text
        while len(text) - self._frozen > CHUNK:
            end = text.rfind("\n", self._frozen, self._frozen + CHUNK)
            end = end + 1 if end > self._frozen else self._frozen + CHUNK
            self._live.put(text[self._frozen : end].removesuffix("\n"))
            self._frozen = end
            self._live = Chunk("")
            self.mount(self._live)
        self._live.put(text[self._frozen :])


Entry = SaidEntry | AnswerEntry | ThoughtEntry | CardEntry | NoteEntry

_ENTRIES: dict[type[Piece], Callable[..., Entry]] = {
    Said: SaidEntry,
    Answer: AnswerEntry,
    Thought: ThoughtEntry,
    Card: CardEntry,
    Note: NoteEntry,
}


def entry_of(piece: Piece) -> Entry:
    return _ENTRIES[type(piece)](piece)
