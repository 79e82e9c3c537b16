"""The pieces of a session as widgets, and Markdown laid out for a width.

Rule: a widget is made from its piece alone, and can be dropped and made again at any time. A reply is one widget
for some thousand characters, however many paragraphs they have, and its text can be selected.
"""

from collections.abc import Callable, Collection
from functools import cache
from io import StringIO
from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content, Span
from textual.style import Style

from holdfast.numbers import counted, grouped
from holdfast.terminal.cards import render_card
from holdfast.terminal.interface import CallCard, NotePiece, Piece, ReplyPiece, ThinkingPiece, UserPiece
from holdfast.terminal.markdown_chunks import MarkdownChunk, cut_blocks, cut_chunks
from holdfast.terminal.safe_text import sanitize
from holdfast.terminal.widgets import ResponsiveWidget

LONGEST = 60_000
"""Characters beyond which a text stays plain: laying it out would block the screen."""

_THEME = {
    "markdown.code": "cyan",
    "markdown.code_block": "none",
    "markdown.h1": "bold underline",
    "markdown.h2": "bold underline",
    "markdown.h3": "bold",
    "markdown.h4": "bold italic",
    "markdown.block_quote": "dim",
    "markdown.item.bullet": "bold",
    "markdown.item.number": "bold",
    "markdown.hr": "dim",
    "markdown.link": "underline",
    "markdown.link_url": "dim underline",
    "markdown.table.border": "dim",
    "markdown.table.header": "bold",
}


def render_markdown(text: str, width: int, *, is_dark: bool = True) -> Content:
    if len(text) > LONGEST or width < 4:
        return Content(sanitize(text))
    # Imported with the first reply, not with the screen: they take longer to load than the rest of it.
    from rich.console import Console  # noqa: PLC0415
    from rich.markdown import Heading  # noqa: PLC0415
    from rich.theme import Theme  # noqa: PLC0415

    Heading.LEVEL_ALIGN.update(dict.fromkeys(Heading.LEVEL_ALIGN, "left"))
    console = Console(
        width=width, theme=Theme(_THEME), file=StringIO(), force_terminal=True, color_system="standard"
    )
    code_theme = "ansi_dark" if is_dark else "ansi_light"
    document = _markdown_class()(sanitize(text), code_theme=code_theme, hyperlinks=False)
    lines: list[Content] = []
    kept: set[int] = set()
    for segments in console.render_lines(document, pad=False):
        parts, spans, at = [], [], 0
        for segment in segments:
            parts.append(segment.text)
            if segment.style:
                spans.append(Span(at, at + len(segment.text), Style.from_rich_style(segment.style)))
            at += len(segment.text)
        if len(segments) > 1:  # a line of code is never a single segment
            kept.add(len(lines))
        lines.append(Content("".join(parts), spans).rstrip())
    return Content("\n").join(_trimmed(lines, kept))


@cache
def _markdown_class() -> type[Any]:
    """Markdown whose tables break a long word over lines: rich would cut it off, and a name would be lost."""
    from rich.console import Console, ConsoleOptions, RenderResult  # noqa: PLC0415
    from rich.markdown import Markdown, TableElement  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    class FoldingTable(TableElement):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            for shown in super().__rich_console__(console, options):
                if isinstance(shown, Table):
                    for column in shown.columns:
                        column.overflow = "fold"
                yield shown

    class FoldingMarkdown(Markdown):
        elements = {**Markdown.elements, "table_open": FoldingTable}  # noqa: RUF012 - as in its base

    return FoldingMarkdown


def _trimmed(lines: list[Content], kept: Collection[int]) -> list[Content]:
    """Without blank lines at either end, and never two in a row, except in code."""
    first = next((n for n, line in enumerate(lines) if line.plain.strip()), len(lines))
    last = next((n for n in range(len(lines), 0, -1) if lines[n - 1].plain.strip()), first)
    return [line for n, line in enumerate(lines) if first <= n < last and (line or lines[n - 1] or n in kept)]


MOST_SAID = 12
"""Lines of a person's message that are shown at first."""
LIVE_LINES = 3
"""Lines of the model's thinking that are shown while it streams."""
MOST_THOUGHT = 2_000
"""Characters of the model's thinking that are looked at for those."""

_TONES = {"quiet": "dim", "plain": "", "warning": "$warning", "error": "bold $error"}


class PieceWidget(ResponsiveWidget):
    """A piece as a widget; some can be opened to show more."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,space", "open", show=False)]

    def __init__(self, piece: Piece) -> None:
        super().__init__()
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


class UserWidget(PieceWidget):
    DEFAULT_CLASSES = "said"
    piece: UserPiece

    def __init__(self, piece: UserPiece) -> None:
        super().__init__(piece)
        self.can_focus = self.can_open

    @property
    def can_open(self) -> bool:
        return self.piece.text.count("\n") >= MOST_SAID or len(self.piece.text) > 80 * MOST_SAID

    def content_at(self, width: int) -> Content:
        lines = sanitize(self.piece.text).split("\n")
        content = [Content(line) for line in lines]
        if self.can_open and not self.is_open:
            content = [Content(line[: 4 * width]) for line in lines[: MOST_SAID - 2]]
            left = counted(len(lines) - len(content), "more line")
            size = f"{grouped(len(self.piece.text))} characters"
            content.append(Content.styled(f"… {left}, {size} in all", "dim"))
        if self.piece.is_queued:
            content.append(Content.styled("queued: read at the next step; Up takes it back", "dim italic"))
        return Content("\n").join(content)


class ThinkingWidget(PieceWidget, can_focus=True):
    DEFAULT_CLASSES = "thought"
    piece: ThinkingPiece

    @property
    def can_open(self) -> bool:
        return bool(self.piece.text.strip())

    def content_at(self, width: int) -> Content:  # noqa: ARG002
        text = self.piece.text.strip()
        if self.is_open:
            return Content(f"▾ thought\n{sanitize(text)}")
        if self.piece.is_whole:
            return Content(f"▸ thought, {counted(len(text.split()), 'word')}")
        lines = sanitize(text[-MOST_THOUGHT:]).split("\n")
        return Content("▸ thinking\n" + "\n".join(lines[-LIVE_LINES:]))


class CardWidget(PieceWidget, can_focus=True):
    DEFAULT_CLASSES = "card"
    piece: CallCard

    @property
    def can_open(self) -> bool:
        return self.piece.is_over or bool(self.piece.live)

    def content_at(self, width: int) -> Content:
        return render_card(self.piece, width, is_open=self.is_open)


class NoteWidget(PieceWidget):
    piece: NotePiece

    def __init__(self, piece: NotePiece) -> None:
        super().__init__(piece)
        self.add_class("note", f"-{piece.tone}")

    def content_at(self, width: int) -> Content:
        if self.piece.is_markdown:
            return render_markdown(self.piece.text, width, is_dark=self.app.current_theme.dark)
        return Content.styled(sanitize(self.piece.text), _TONES[self.piece.tone])


class ReplyChunk(ResponsiveWidget):
    """A part of a reply that is laid out by itself."""

    def __init__(self, text: str, *, begins_block: bool) -> None:
        super().__init__(classes="-next" if begins_block else "")
        self._text = text
        self._blocks: dict[tuple[str, int], Content] = {}
        """What is laid out already, for a width."""

    def put(self, text: str) -> None:
        if text != self._text:
            self._text = text
            self.changed()

    def content_at(self, width: int) -> Content:
        known, self._blocks = self._blocks, {}
        shown = []
        for block in cut_blocks(self._text):
            key = (block, width)
            self._blocks[key] = known.get(key) or render_markdown(
                block, width, is_dark=self.app.current_theme.dark
            )
            shown.append(self._blocks[key])
        return Content("\n\n").join(shown)


class ReplyWidget(Vertical):
    """A reply as Markdown. While it streams, only the last chunk is laid out again."""

    def __init__(self, piece: ReplyPiece) -> None:
        super().__init__(classes="answer")
        self.piece = piece
        self._done = MarkdownChunk("", 0)
        """The last chunk that is complete."""
        self._live = ReplyChunk("", begins_block=False)
        self._is_composed = False

    def compose(self) -> ComposeResult:
        self._is_composed = True
        yield from [self._live, *self._added()]

    def changed(self) -> None:
        if self._is_composed:
            self.mount_all(self._added())

    def _added(self) -> list[ReplyChunk]:
        """Bring the chunks up to date; returns those that are new."""
        added: list[ReplyChunk] = []
        text, done = self.piece.text, self._done
        for chunk in cut_chunks(text, done.end, done.opens):
            self._live.put(chunk.text)
            self._live = ReplyChunk("", begins_block=not chunk.is_inside)
            added.append(self._live)
            self._done = chunk
        self._live.put(self._done.opens + text[self._done.end :])
        return added


AnyPieceWidget = UserWidget | ReplyWidget | ThinkingWidget | CardWidget | NoteWidget

WIDGETS: dict[type[Piece], Callable[..., AnyPieceWidget]] = {
    UserPiece: UserWidget,
    ReplyPiece: ReplyWidget,
    ThinkingPiece: ThinkingWidget,
    CallCard: CardWidget,
    NotePiece: NoteWidget,
}
