"""The prompt: the box that a person types into, and its history.

Rule: nothing typed is lost, sent or not. On disk it is redacted. Enter sends; a new line is Alt+Enter, Shift+Enter,
Ctrl+J or a backslash at the end.
"""

import contextlib
import json
import os
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual import events, on
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.binding import Binding, BindingType
from textual.keys import Keys
from textual.message import Message
from textual.widgets import TextArea

from holdfast.numbers import counted
from holdfast.terminal.candidates import Candidate, CompletionQuery, find_query, format_mention
from holdfast.terminal.first_frame import PLACEHOLDER
from holdfast.terminal.pasted_path import pasted_picture
from holdfast.terminal.safe_text import truncate
from holdfast.terminal.widgets import SuggestionList

MOST_HISTORY_LINES = 500
"""Lines of the file that are read."""
LARGEST = 4 * 1024 * 1024


class PromptHistory:
    """Lines typed before; they outlive the process once `keep_in` names a file."""

    def __init__(self) -> None:
        self._file: Path | None = None
        self._lines: list[str] = []
        self._at = 0
        self._draft = ""

    def keep_in(self, file: Path) -> None:
        """Keep lines in this file from now on, also those already typed, and read back those in it."""
        if file == self._file:
            return
        typed, self._file = self._lines, file
        self._lines = [*_read(file), *typed]
        self._at = len(self._lines)
        for line in typed:
            _append(file, line)

    @property
    def lines(self) -> Sequence[str]:
        return self._lines

    def add(self, text: str) -> None:
        """Add a line, and return to the end."""
        if text.strip() and (not self._lines or self._lines[-1] != text):
            self._lines.append(text)
            if self._file:
                _append(self._file, text)
        self._at = len(self._lines)
        self._draft = ""

    def older(self, typed: str) -> str | None:
        """The line before; what is in the box is kept."""
        if self._at == 0:
            return None
        if self._at == len(self._lines):
            self._draft = typed
        self._at -= 1
        return self._lines[self._at]

    def newer(self) -> str | None:
        if self._at >= len(self._lines):
            return None
        self._at += 1
        return self._lines[self._at] if self._at < len(self._lines) else self._draft


def _read(file: Path) -> list[str]:
    """The last lines of a file; a damaged line is skipped."""
    lines: list[str] = []
    with contextlib.suppress(OSError):
        with file.open("rb") as opened:
            size = opened.seek(0, os.SEEK_END)
            opened.seek(max(0, size - LARGEST))
            raw = opened.read().decode("utf-8", "replace").split("\n")
        for line in raw[-MOST_HISTORY_LINES - 1 :]:
            with contextlib.suppress(ValueError):
                if isinstance(text := json.loads(line), str):
                    lines.append(text)
    return lines


def _append(file: Path, text: str) -> None:
    # Imported with the first line that is sent: it takes longer to load than the screen.
    from holdfast.redaction import loads_kingfisher  # noqa: PLC0415

    if loads_kingfisher(text):
        # The screen goes on meanwhile. Python waits for this thread at its end.
        threading.Thread(target=_write, args=(file, text)).start()
    else:
        _write(file, text)


def _write(file: Path, text: str) -> None:
    from holdfast.redaction import redact  # noqa: PLC0415

    line = json.dumps(redact(text)) + "\n"
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "w") as opened:
            opened.write(line)


NEW_LINE = frozenset({"ctrl+j", "alt+enter", "shift+enter", "shift+\r", "alt+\r"})


def register_alt_enter() -> None:
    """Older terminals send Alt+Enter as escape and return, which Textual would take for Enter."""
    assert isinstance(ANSI_SEQUENCES_KEYS, dict), "Textual's table of keys can be added to"
    ANSI_SEQUENCES_KEYS["\x1b\r"] = (Keys.ControlJ,)
    ANSI_SEQUENCES_KEYS["\x1b\n"] = (Keys.ControlJ,)


LONG_LINES = 8
LONG_CHARACTERS = 1_000
"""A paste longer than either is shown as a short mark, and sent whole."""

_MARK = re.compile(r"\[pasted #(\d+): [^\]\n]*\]")
FindCandidates = Callable[[CompletionQuery], Sequence[Candidate]]


class Prompt(TextArea):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "app.scroll_transcript(-1)", show=False),
        Binding("pagedown", "app.scroll_transcript(1)", show=False),
        Binding("ctrl+up", "app.look_back", show=False),
    ]

    @dataclass
    class Sent(Message):
        text: str

    def __init__(
        self,
        history: PromptHistory,
        suggestions: SuggestionList,
        offer: FindCandidates,
        take_back: Callable[[], str],
    ) -> None:
        """`take_back` gives the newest message that was sent and not read yet, if there is one."""
        super().__init__(id="prompt", compact=True, highlight_cursor_line=False, placeholder=PLACEHOLDER)
        self.cursor_blink = False
        self.lines_kept = history
        self._suggestions = suggestions
        self._offer = offer
        self._take_back = take_back
        self._pastes: list[str] = []
        self._completes = True
        """Not while a line of the history is shown unchanged."""

    @property
    def whole(self) -> str:
        """The text with every paste in full."""
        return _MARK.sub(self._unshortened, self.text)

    def keep_draft(self) -> str:
        """Empty the box; Up brings back what was in it."""
        text = self.whole
        self.lines_kept.add(text)
        self._put("")
        return text

    def put(self, text: str) -> None:
        """Replace what is in the box; long text becomes a mark."""
        self._put(self._shortened(text))

    def on_resize(self) -> None:
        self.placeholder = truncate(PLACEHOLDER, self.size.width - 1)  # as in the first frame

    async def _on_key(self, event: events.Key) -> None:
        if self._takes(event.key):
            event.prevent_default()
            event.stop()
        else:
            self._completes = True
            await super()._on_key(event)

    def _takes(self, key: str) -> bool:
        """Whether a key was handled here and is not for the text."""
        if key in NEW_LINE:
            self.insert("\n")
            return True
        chosen = self._suggestions.chosen if self._suggestions.display else None
        match key:
            case "tab":
                if chosen and not self._extend():
                    self._complete(chosen)
            case "enter":
                if not (chosen and self._complete(chosen)):
                    self._send()
            case "escape" if chosen:
                self._suggestions.offer(())
            case "up" | "down" if chosen:
                self._suggestions.move(-1 if key == "up" else 1)
            case "up" if not self.text.strip() and (taken := self._take_back()):
                self._recall(taken)
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
        self._replace_via_keyboard(pasted_picture(text) or self._shortened(text), *self.selection)

    @on(TextArea.Changed)
    def look_for_candidates(self) -> None:
        """Offer completions of the word at the cursor."""
        asked = self._asked() if self._completes and self.has_focus else None
        self._suggestions.offer(self._offer(asked) if asked else ())

    def _asked(self) -> CompletionQuery | None:
        row, column = self.cursor_location
        asked = find_query(self.document.get_line(row)[:column])
        return None if asked and asked.kind == "command" and row else asked

    def _extend(self) -> bool:
        """Type what all offered commands begin with, as a shell does; whether there was anything to type."""
        asked, (row, column) = self._asked(), self.cursor_location
        shared = self._suggestions.common_start
        if asked is None or asked.kind != "command" or len(shared) <= column:
            return False
        self.replace(shared, (row, 0), (row, column))
        return True

    def _complete(self, chosen: Candidate) -> bool:
        """Insert what is chosen; whether that changed anything."""
        asked = self._asked()
        row, column = self.cursor_location
        if asked is None:
            return False
        text = chosen.text if asked.kind == "command" else format_mention(chosen.text)
        before = self.document.get_line(row)[asked.start : column]
        self._suggestions.offer(())
        if before == text:
            return False
        # No space after a folder, so that the next part can be typed at once.
        tail = "" if text.endswith("/") else " "
        self.replace(text + tail, (row, asked.start), (row, column))
        return True

    def _send(self) -> None:
        if self.text.endswith("\\") and self.cursor_at_end_of_text:
            self.action_delete_left()
            self.insert("\n")
            return
        if self.whole.strip():
            text = self.keep_draft()
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
