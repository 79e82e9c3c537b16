"""A place in a shell script, and where the here-documents of its line end.

Rule: every step forward consumes at least one character or ends the reading, so a script is read in linear time.
"""

from collections.abc import Callable
from typing import NoReturn

from msgspec import Struct

from holdfast.tools.commands.syntax import Script, Unreadable

DEEPEST = 24
"""Brackets, substitutions and compound commands inside each other."""


class Cursor(Struct):
    text: str
    read_script: Callable[["Cursor", str], Script]
    """Reads commands up to a closing bracket, or up to the end for an empty one."""
    at: int = 0
    depth: int = 0
    is_posix: bool = False
    """For `sh`, which may be any shell: forms that only bash has mean something else there."""
    resume: int = 0
    """Where the line after the next line break begins, behind here-documents; 0 where the line has none."""

    @property
    def is_done(self) -> bool:
        return self.at >= len(self.text)

    def peek(self, count: int = 1) -> str:
        return self.text[self.at : self.at + count]

    def follows(self, text: str) -> bool:
        return self.text.startswith(text, self.at)

    def take(self, text: str) -> bool:
        if self.follows(text):
            self.at += len(text)
            return True
        return False

    def need(self, text: str) -> None:
        if not self.take(text):
            self.fail(f"`{text}` is missing")

    def until(self, text: str) -> str:
        """Everything before the next `text`, which is taken too."""
        end = self.text.find(text, self.at)
        if end < 0:
            self.fail(f"`{text}` is missing")
        taken = self.text[self.at : end]
        self.at = end + len(text)
        return taken

    def fail(self, why: str) -> NoReturn:
        raise Unreadable(why)

    def only_bash(self, form: str) -> None:
        if self.is_posix:
            self.fail(f"`{form}` means something else in other shells")

    def skip_blanks(self) -> None:
        while self.take(" ") or self.take("\t") or self.take("\\\n"):
            pass

    def skip_lines(self) -> None:
        """Past blanks, comments and line breaks, and past the here-documents behind them."""
        while True:
            self.skip_blanks()
            if self.follows("#"):
                end = self.text.find("\n", self.at)
                self.at = end if end >= 0 else len(self.text)
            if not self.take("\n"):
                return
            self.at, self.resume = max(self.at, self.resume), 0

    def one_line(self, text: str) -> str:
        """A text of this line; with a line break in it, shells disagree where a here-document begins."""
        if self.resume and "\n" in text:
            self.fail("a here-document and a line break in quotes or brackets stand in one line")
        return text

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail("it is nested too deeply")

    def inner_script(self, closing: str) -> Script:
        """A script inside brackets."""
        self.deeper()
        resume, self.resume, start = self.resume, 0, self.at
        script = self.read_script(self, closing)
        if self.resume:
            self.fail("a here-document reaches across brackets")
        self.resume = resume
        self.one_line(self.text[start : self.at])
        self.depth -= 1
        return script

    def other(self, text: str) -> "Cursor":
        """A cursor on a text that stood in this one, as deep as this one."""
        return Cursor(text, self.read_script, depth=self.depth, is_posix=self.is_posix)
