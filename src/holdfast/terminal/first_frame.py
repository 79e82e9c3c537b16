"""The first frame: the screen as it is going to be, painted before the library that draws it is loaded.

Rule: it shows only what is known and reads no key. What is typed in the meantime stays with the terminal until the
prompt is there, and whatever ends the program before that leaves the terminal as it was.
"""

import shutil
import sys
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct
from rich.cells import cell_len

from holdfast.terminal.interface import StatusFigures
from holdfast.terminal.safe_text import one_line, truncate
from holdfast.terminal.status_line import BETWEEN, status_parts

PLACEHOLDER = "Say what to do · / commands · @ files · Shift+Tab mode"
LOADING = "loading"
ENTER = "\x1b[?1049h"
"""Switches to the alternate screen, which is gone when the program is."""
LEAVE = "\x1b[?1049l\x1b[?25h"
_HIDE_CURSOR = "\x1b[?25l"
_LEAST = (24, 8)
"""Columns and rows below which there is no first frame."""
_BLUE, _DIM = "34", "2"
_MODES = {"plan": "34", "edit": "33", "auto": "1;31"}


class PaintedFrame(Struct):
    """A terminal with the first frame on it. `before` are its attributes as they were. The code that draws next
    sets `is_taken_over`, and restores the screen."""

    before: list[Any]
    is_taken_over: bool = False


def default_banner(root: Path) -> str:
    """The line above an empty session."""
    return f"holdfast in {one_line(root.name or str(root))} · /help lists keys and commands"


@contextmanager
def first_frame(banner: str, figures: StatusFigures, env: Mapping[str, str]) -> Iterator[PaintedFrame | None]:
    """Paint the first frame; None where that is not possible, and then nothing was changed."""
    size = _size(env)
    if size is None:
        yield None
        return
    entry = sys.__stdin__.fileno()  # type: ignore[union-attr]
    painted = PaintedFrame(termios.tcgetattr(entry))
    try:
        # Echo nothing, and pass Enter on as pressed. Ctrl+C still interrupts.
        silent = [*painted.before]
        silent[0] &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR | termios.IXON | termios.IXOFF)
        silent[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
        termios.tcsetattr(entry, termios.TCSANOW, silent)
        _write(ENTER + _HIDE_CURSOR + frame(banner, figures, *size, is_coloured="NO_COLOR" not in env))
        yield painted
    finally:
        if not painted.is_taken_over:
            _write(LEAVE)
        termios.tcsetattr(entry, termios.TCSANOW, painted.before)


def frame(banner: str, figures: StatusFigures, width: int, height: int, *, is_coloured: bool) -> str:
    """What is sent to the terminal. Each line is placed on its row, so that none can push another."""

    def styled(text: str, style: str) -> str:
        if not is_coloured:
            style = ";".join(code for code in style.split(";") if len(code) == 1)
        return f"\x1b[{style}m{text}\x1b[0m" if style and text else text

    inner = width - 4
    shown = truncate(PLACEHOLDER, inner - 3)
    prompt = f"› {styled(shown[:1], '7')}{styled(shown[1:], _DIM)}{' ' * (inner - 2 - cell_len(shown))}"
    side = styled("│", _BLUE)
    status = styled(BETWEEN, _DIM).join(
        styled(text, f"{_DIM};{_MODES.get(figures.mode, '')}".strip(";") if name == "mode" else _DIM)
        for name, text in status_parts(figures, width - 4)
    )
    lines = {
        height - 6: f" {styled(truncate(one_line(banner), width - 3), _DIM)}",
        height - 4: f"  {styled('● ', f'1;{_BLUE}')}{LOADING}{styled(' · 0 s', _DIM)}",
        height - 3: f" {styled('╭' + '─' * inner + '╮', _BLUE)}",
        height - 2: f" {side}{prompt}{side}",
        height - 1: f" {styled('╰' + '─' * inner + '╯', _BLUE)}",
        height: f"  {status}",
    }
    return "\x1b[2J" + "".join(f"\x1b[{row};1H{line}" for row, line in lines.items())


def _size(env: Mapping[str, str]) -> tuple[int, int] | None:
    """Columns and rows of a terminal that understands escape sequences."""
    streams = (sys.__stdin__, sys.__stderr__)
    if env.get("TERM", "") in ("", "dumb", "unknown"):
        return None
    if any(stream is None or stream.closed or not stream.isatty() for stream in streams):
        return None
    # COLUMNS and LINES come before the terminal's own size, as in Textual.
    columns, lines = shutil.get_terminal_size((0, 0))
    return (columns, lines) if columns >= _LEAST[0] and lines >= _LEAST[1] else None


def _write(text: str) -> None:
    # To where Textual writes.
    sys.__stderr__.write(text)  # type: ignore[union-attr]
    sys.__stderr__.flush()  # type: ignore[union-attr]
