"""What a shell script is made of, as values.

Rule: a script that stands in these values was read in full; nothing was skipped and nothing guessed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NoReturn

from msgspec import Struct, field

Connector = Literal["&&", "||", ";", "&"]


class ShellText(Struct, frozen=True, gc=False):
    """Characters as they are. Quoted ones are never a pattern, a tilde or a brace."""

    text: str
    quoted: bool


class Parameter(Struct, frozen=True):
    """`$name` or `${name…}`. `plain` is the value itself; `inner` are words inside the braces."""

    name: str
    quoted: bool
    plain: bool = True
    inner: tuple[ShellWord, ...] = ()


class Substitution(Struct, frozen=True):
    """`$(…)` and backquotes, or `<(…)` and `>(…)`, which stand for a file."""

    script: ShellScript
    quoted: bool
    is_file: bool = False


class Sum(Struct, frozen=True):
    """`$((…))` and the variables in it."""

    names: tuple[str, ...]
    inner: tuple[ShellWord, ...] = ()


Piece = ShellText | Parameter | Substitution | Sum


class ShellWord(Struct, frozen=True):
    pieces: tuple[Piece, ...]
    raw: str

    @property
    def literal(self) -> str | None:
        """The word's text where it depends on nothing, quotes removed."""
        texts = [piece.text for piece in self.pieces if isinstance(piece, ShellText)]
        return "".join(texts) if len(texts) == len(self.pieces) else None


class Redirect(Struct, frozen=True):
    """`operator` as written without its number. Of a here-document or here-string, `target` is the text."""

    operator: str
    target: ShellWord


class Assignment(Struct, frozen=True):
    """`name=value`. A list `name=(…)` and `name[0]=…` have no value that is kept track of."""

    name: str
    value: ShellWord | None
    items: tuple[ShellWord, ...] = ()


class Simple(Struct, frozen=True):
    words: tuple[ShellWord, ...]
    raw: str
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()


class ShellGroup(Struct, frozen=True):
    """`( … )` and `{ … }`."""

    body: ShellScript
    is_subshell: bool
    redirects: tuple[Redirect, ...] = ()


class Branch(Struct, frozen=True):
    """`if` and `case`: scripts of which any may run, and words that are looked at."""

    scripts: tuple[ShellScript, ...]
    words: tuple[ShellWord, ...] = ()
    redirects: tuple[Redirect, ...] = ()


class Loop(Struct, frozen=True):
    """`for`, `select`, `while` and `until`. `items` is None where nothing is listed. Without a `name`, the first of
    the scripts is the condition."""

    scripts: tuple[ShellScript, ...]
    name: str = ""
    items: tuple[ShellWord, ...] | None = None
    is_until: bool = False
    redirects: tuple[Redirect, ...] = ()


class Function(Struct, frozen=True):
    name: str
    body: Command
    raw: str


class ShellTest(Struct, frozen=True):
    """`[[ … ]]`, or `(( … ))` with the variables in it."""

    words: tuple[ShellWord, ...]
    raw: str
    names: tuple[str, ...] = ()
    redirects: tuple[Redirect, ...] = ()


Command = Simple | ShellGroup | Branch | Loop | Function | ShellTest


class Pipeline(Struct, frozen=True):
    commands: tuple[Command, ...]
    is_negated: bool = False


class ShellScript(Struct, frozen=True):
    """Pipelines, each with what stands behind it."""

    steps: tuple[tuple[Pipeline, Connector], ...] = field(default=())


class UnreadableScript(Exception):
    """The text is no script that can be read surely. Never leaves this room."""


# A place in a shell script, and where the here-documents of its line end.
#
# Rule: every step forward consumes at least one character or ends the reading, so a script is read in linear time.

DEEPEST = 24
"""Brackets, substitutions and compound commands inside each other."""


class ScriptCursor(Struct):
    text: str
    read_script: Callable[[ScriptCursor, str], ShellScript]
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
        raise UnreadableScript(why)

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
            self.fail("a here-document shares its line with a quoted line break")
        return text

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail("it is nested too deeply")

    def inner_script(self, closing: str) -> ShellScript:
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

    def other(self, text: str) -> ScriptCursor:
        """A cursor on a text that stood in this one, as deep as this one."""
        return ScriptCursor(text, self.read_script, depth=self.depth, is_posix=self.is_posix)
