"""What was typed before, to be had again with Up and Down, also in the next session.

Rule: nothing that was typed is lost, sent or not. On disk it is redacted, like everything else that is kept.
"""

import contextlib
import json
import os
from pathlib import Path

MOST = 500
"""Lines of the file that are read."""
LARGEST = 4 * 1024 * 1024


class History:
    """Lines outlive the process once a file for them is named."""

    def __init__(self) -> None:
        self._file: Path | None = None
        self._lines: list[str] = []
        self._at = 0
        self._draft = ""

    def keep_in(self, file: Path) -> None:
        """From now on lines go into this file too, also those typed already; and those in it come back."""
        if file == self._file:
            return
        typed, self._file = self._lines, file
        self._lines = [*_read(file), *typed]
        self._at = len(self._lines)
        for line in typed:
            _append(file, line)

    def add(self, text: str) -> None:
        """Keep what was typed, and go back to the end."""
        if text.strip() and (not self._lines or self._lines[-1] != text):
            self._lines.append(text)
            if self._file:
                _append(self._file, text)
        self._at = len(self._lines)
        self._draft = ""

    def older(self, typed: str) -> str | None:
        """The line before; what stands in the box is kept for the way back."""
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
    """The last lines of a file; a line that is none, such as a torn one, is passed over."""
    lines: list[str] = []
    with contextlib.suppress(OSError):
        with file.open("rb") as opened:
            size = opened.seek(0, os.SEEK_END)
            opened.seek(max(0, size - LARGEST))
            raw = opened.read().decode("utf-8", "replace").split("\n")
        for line in raw[-MOST - 1 :]:
            with contextlib.suppress(ValueError):
                if isinstance(text := json.loads(line), str):
                    lines.append(text)
    return lines


def _append(file: Path, text: str) -> None:
    # Loaded with the first line that is sent: its nets take longer to load than the screen.
    from holdfast.redaction import redact  # noqa: PLC0415

    line = json.dumps(redact(text)) + "\n"
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "w") as opened:
            opened.write(line)
