"""The box that a person types into.

Rule: nothing typed is lost. Enter sends; a new line is Alt+Enter, Shift+Enter, Ctrl+J or a backslash at the end.
"""

import re
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

from holdfast.terminal.completion import Candidate, Wanted, mention, wanted
from holdfast.terminal.first_frame import PLACEHOLDER
from holdfast.terminal.history import History
from holdfast.terminal.keys import NEW_LINE
from holdfast.terminal.plain import counted
from holdfast.terminal.suggestions import Suggestions

LONG_LINES = 8
LONG_CHARACTERS = 1_000
"""A paste beyond one of these is shown as a short mark, and sent whole."""

_MARK = re.compile(r"\[pasted #(\d+): [^\]\n]*\]")

Offer = Callable[[Wanted], Sequence[Candidate]]


class Prompt(TextArea):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "app.scroll_talk(-1)", show=False),
        Binding("pagedown", "app.scroll_talk(1)", show=False),
        Binding("ctrl+up", "app.look_back", show=False),
    ]

    class Sent(Message):
        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, history: History, suggestions: Suggestions, offer: Offer) -> None:
        super().__init__(
            id="prompt",
            compact=True,
            highlight_cursor_line=False,
            placeholder=PLACEHOLDER,
        )
        self.cursor_blink = False
        self.lines_kept = history
        self._suggestions = suggestions
        self._offer = offer
        self._pastes: list[str] = []
        self._completes = True
        """Not while a line of the history stands there as it was."""

    @property
    def whole(self) -> str:
        """The text with every paste in full."""
        return _MARK.sub(self._unshortened, self.text)

    def keep_draft(self) -> str:
        """Empty the box; what stood in it is had again with Up."""
        text = self.whole
        self.lines_kept.add(text)
        self._put("")
        return text

    def put(self, text: str) -> None:
        """Text into the box, in place of what stands there; long text as a mark."""
        self._put(self._shortened(text))

    async def _on_key(self, event: events.Key) -> None:
        if self._takes(event.key):
            event.prevent_default()
            event.stop()
        else:
            self._completes = True
            await super()._on_key(event)

    def _takes(self, key: str) -> bool:
        """Whether a key was for us and not for the text."""
        if key in NEW_LINE:
            self.insert("\n")
            return True
        chosen = self._suggestions.chosen if self._suggestions.display else None
        match key:
            case "tab":
                if chosen:
                    self._complete(chosen)
            case "enter":
                if not (chosen and self._complete(chosen)):
                    self._send()
            case "escape" if chosen:
                self._suggestions.offer(())
            case "up" | "down" if chosen:
                self._suggestions.move(-1 if key == "up" else 1)
            case "up" if self.cursor_at_first_line:
                self._recall(self.lines_kept.older(self.whole))
            case "down" if self.cursor_at_last_line:
                self._recall(self.lines_kept.newer())
            case _:
                return False
        return True

    async def _on_paste(self, event: events.Paste) -> None:
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        event.prevent_default()
        event.stop()
        self._replace_via_keyboard(self._shortened(text), *self.selection)

    def on_text_area_changed(self) -> None:
        self.look_for_candidates()

    def look_for_candidates(self) -> None:
        """Offer what the word at the cursor could become."""
        asked = self._asked() if self._completes and self.has_focus else None
        self._suggestions.offer(self._offer(asked) if asked else ())

    def _asked(self) -> Wanted | None:
        row, column = self.cursor_location
        asked = wanted(self.document.get_line(row)[:column])
        return None if asked and asked.kind == "command" and row else asked

    def _complete(self, chosen: Candidate) -> bool:
        """Take what is chosen. Whether that changed anything."""
        asked = self._asked()
        row, column = self.cursor_location
        if asked is None:
            return False
        text = chosen.text if asked.kind == "command" else mention(chosen.text)
        before = self.document.get_line(row)[asked.start : column]
        self._suggestions.offer(())
        if before == text:
            return False
        # A folder is only half the way, so that the next part can be typed at once.
        tail = "" if text.endswith("/") else " "
        self.replace(text + tail, (row, asked.start), (row, column))
        return True

    def _send(self) -> None:
        if self.text.endswith("\\") and self.cursor_at_end_of_text:
            self.action_delete_left()
            self.insert("\n")
            return
        text = self.whole
        if text.strip():
            self.lines_kept.add(text)
            self._put("")
            self._pastes.clear()
            self.post_message(self.Sent(text))

    def _recall(self, line: str | None) -> None:
        if line is not None:
            self._completes = False
            self.put(line)

    def _put(self, text: str) -> None:
        self.text = text
        self.move_cursor(self.document.end)

    def _shortened(self, text: str) -> str:
        if text.count("\n") < LONG_LINES and len(text) < LONG_CHARACTERS:
            return text
        self._pastes.append(text)
        lines = counted(text.count("\n") + 1, "line")
        return f"[pasted #{len(self._pastes)}: {lines}, {counted(len(text), 'character')}]"

    def _unshortened(self, mark: re.Match[str]) -> str:
        number = int(mark[1])
        return self._pastes[number - 1] if 0 < number <= len(self._pastes) else mark[0]
