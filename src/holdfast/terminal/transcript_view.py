"""The session on the screen: its newest pieces as widgets, older ones as values until somebody scrolls up to them.

Rule: its cost does not grow with the session. Nothing ticks unless something runs.
"""

import time
from collections.abc import Sequence
from typing import ClassVar

from textual._styles_cache import StylesCache
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.message import Message

from holdfast.terminal.interface import CallCard, Piece
from holdfast.terminal.piece_widgets import WIDGETS, AnyPieceWidget, CardWidget, PieceWidget

MOST_WIDGETS = 40
"""Widgets at which the oldest are removed, down to `KEPT`."""
KEPT = 24
STRIDE = 30
"""Pieces that come back when somebody scrolls up to the first widget."""
PAUSE = 0.08
"""Seconds between two repaints of streaming text, at least."""
LONGEST_PAUSE = 1.0
SHARE = 0.2
"""How much of the time repaints may take, from the change to the end of painting; keys come between them."""
WAITING_SHARE = 0.05
"""How much of it they may wait for the processor. On a busy machine keys wait behind a repaint for longer."""


class TranscriptView(VerticalScroll):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+up", "next_entry(-1)", show=False),
        Binding("ctrl+down", "next_entry(1)", show=False),
    ]

    class FocusReleased(Message):
        """The focus should go back to the prompt."""

    def __init__(self) -> None:
        super().__init__(id="transcript", can_focus=False)
        self.pieces: list[Piece] = []
        self._first = 0
        """Index of the first piece that has a widget."""
        self._entries: dict[int, AnyPieceWidget] = {}
        """Widgets by the identity of their piece."""
        self._stale: dict[int, Piece] = {}
        """Changes that wait to be painted."""
        self._is_loading = False
        self._pause = PAUSE

    def on_mount(self) -> None:
        self.anchor()

    def load(self, pieces: Sequence[Piece]) -> None:
        """Show another session, from its newest pieces on."""
        self.remove_children()
        self._entries.clear()
        self._stale.clear()
        self.pieces = list(pieces)
        # A tall screen shows many short pieces.
        self._first = max(0, len(pieces) - max(KEPT, self.app.size.height))
        self.mount_all(self._made(self.pieces[self._first :]))
        self.anchor()

    def add(self, piece: Piece) -> None:
        self.pieces.append(piece)
        if self.is_attached:  # what comes after the screen is gone is still in the log
            self.mount_all(self._made([piece]))
            self._let_go()

    def change(self, piece: Piece) -> None:
        """Repaint a piece, together with what else changed in the same moment."""
        entry = self._entries.get(id(piece))
        if entry is None or not self.is_running:
            return  # what comes after the screen is gone needs no timer
        if isinstance(entry, CardWidget) and entry.is_open and entry.piece.live:
            return  # `tick` paints it: laying out a thousand lines takes a while
        if not self._stale:
            self.set_timer(self._pause, self._repaint)
        self._stale[id(piece)] = piece

    def drop(self, piece: Piece) -> None:
        """Remove a piece, such as half a reply before a retry."""
        at = next((n for n in range(len(self.pieces) - 1, -1, -1) if self.pieces[n] is piece), -1)
        if at < 0:
            return
        del self.pieces[at]
        if at < self._first:
            self._first -= 1
        self._stale.pop(id(piece), None)
        if entry := self._entries.pop(id(piece), None):
            entry.remove()

    def tick(self) -> None:
        """Update the running calls, once a second."""
        for entry in self._entries.values():
            if isinstance(entry, CardWidget) and entry.piece.state == "running":
                entry.changed()

    def toggle_newest(self) -> None:
        """Open or close the newest card; with an older one in focus, that one."""
        focused = self.screen.focused
        if isinstance(focused, PieceWidget) and focused.can_open:
            focused.action_open()
            return
        if cards := [card for card in self.query(CardWidget) if card.can_open]:
            cards[-1].action_open()
            self.call_after_refresh(cards[-1].scroll_visible, animate=False)

    def action_next_entry(self, by: int) -> None:
        """Move the focus among what can be opened; past the newest one it goes back to the prompt."""
        found = [entry for entry in self.query(PieceWidget) if entry.can_focus]
        focused = self.screen.focused
        at = found.index(focused) + by if focused in found else len(found) - 1
        if 0 <= at < len(found):
            found[at].focus()
        elif at >= len(found):
            self.post_message(self.FocusReleased())

    def watch_scroll_y(self, old: float, new: float) -> None:
        super().watch_scroll_y(old, new)
        if new < 1 and old > new and self._first and not self._is_loading:
            self._is_loading = True
            self.call_later(self._load_older)

    async def _load_older(self) -> None:
        first = max(0, self._first - STRIDE)
        older = self.pieces[first : self._first]
        before, at = self.virtual_size.height, self.scroll_y
        self._first = first
        if older:
            await self.mount_all(self._made(older), before=0)
        self.call_after_refresh(self._stay, before, at)

    def _stay(self, before: int, at: float) -> None:
        """Keep what is shown in place after older pieces were added above it."""
        self.scroll_to(y=at + self.virtual_size.height - before, animate=False, force=True)
        self._is_loading = False

    def _made(self, pieces: Sequence[Piece]) -> list[AnyPieceWidget]:
        made = [WIDGETS[type(piece)](piece) for piece in pieces]
        self._entries.update((id(piece), entry) for piece, entry in zip(pieces, made, strict=True))
        return made

    def _let_go(self) -> None:
        """Remove the oldest of many widgets, unless somebody is looking at them."""
        kept = max(KEPT, self.app.size.height)
        if len(self.pieces) - self._first <= MOST_WIDGETS - KEPT + kept or self._anchor_released:
            return
        first = len(self.pieces) - kept
        going = self.pieces[self._first : first]
        if any(isinstance(piece, CallCard) and not piece.is_over for piece in going):
            return
        self._first = first
        self.remove_children([entry for piece in going if (entry := self._entries.pop(id(piece), None))])
        # Textual keeps what was painted of up to a thousand removed widgets (its issue 6665).
        StylesCache.get_inner_outer.cache_clear()

    def _repaint(self) -> None:
        began, worked = time.monotonic(), time.thread_time()
        stale, self._stale = self._stale, {}
        for key in stale:
            if entry := self._entries.get(key):
                entry.changed()
        # Laying out and painting take most of it, and come after this.
        self.call_after_refresh(self._painted, began, worked)

    def _painted(self, began: float, worked: float) -> None:
        worked = time.thread_time() - worked
        waited = max(0.0, time.monotonic() - began - worked)
        self._pause = min(max(PAUSE, worked / SHARE + waited / WAITING_SHARE), LONGEST_PAUSE)
