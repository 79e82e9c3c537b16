"""What a shell script is made of, as values.

Rule: a script that stands in these values was read in full; nothing was skipped and nothing guessed.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

Connector = Literal["&&", "||", ";", "&"]


class Text(Struct, frozen=True, gc=False):
    """Characters as they are. Quoted ones are never a pattern, a tilde or a brace."""

    text: str
    quoted: bool


class Parameter(Struct, frozen=True):
    """`$name` or `${name…}`. `plain` is the value itself; `inner` are words inside the braces."""

    name: str
    quoted: bool
    plain: bool = True
    inner: tuple[Word, ...] = ()


class Substitution(Struct, frozen=True):
    """`$(…)` and backquotes, or `<(…)` and `>(…)`, which stand for a file."""

    script: Script
    quoted: bool
    is_file: bool = False


class Sum(Struct, frozen=True):
    """`$((…))` and the variables in it."""

    names: tuple[str, ...]
    inner: tuple[Word, ...] = ()


Piece = Text | Parameter | Substitution | Sum


class Word(Struct, frozen=True):
    pieces: tuple[Piece, ...]
    raw: str

    @property
    def literal(self) -> str | None:
        """The word's text where it depends on nothing, quotes removed."""
        texts = [piece.text for piece in self.pieces if isinstance(piece, Text)]
        return "".join(texts) if len(texts) == len(self.pieces) else None


class Redirect(Struct, frozen=True):
    """`operator` as written without its number. Of a here-document or here-string, `target` is the text."""

    operator: str
    target: Word


class Assignment(Struct, frozen=True):
    """`name=value`. A list `name=(…)` and `name[0]=…` have no value that is kept track of."""

    name: str
    value: Word | None
    items: tuple[Word, ...] = ()


class Simple(Struct, frozen=True):
    words: tuple[Word, ...]
    raw: str
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()


class Group(Struct, frozen=True):
    """`( … )` and `{ … }`."""

    body: Script
    is_subshell: bool
    redirects: tuple[Redirect, ...] = ()


class Branch(Struct, frozen=True):
    """`if` and `case`: scripts of which any may run, and words that are looked at."""

    scripts: tuple[Script, ...]
    words: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()


class Loop(Struct, frozen=True):
    """`for`, `select`, `while` and `until`. `items` is None where nothing is listed. Without a `name`, the first of
    the scripts is the condition."""

    scripts: tuple[Script, ...]
    name: str = ""
    items: tuple[Word, ...] | None = None
    is_until: bool = False
    redirects: tuple[Redirect, ...] = ()


class Function(Struct, frozen=True):
    name: str
    body: Command
    raw: str


class Test(Struct, frozen=True):
    """`[[ … ]]`, or `(( … ))` with the variables in it."""

    words: tuple[Word, ...]
    raw: str
    names: tuple[str, ...] = ()
    redirects: tuple[Redirect, ...] = ()


Command = Simple | Group | Branch | Loop | Function | Test


class Pipeline(Struct, frozen=True):
    commands: tuple[Command, ...]
    is_negated: bool = False


class Script(Struct, frozen=True):
    """Pipelines, each with what stands behind it."""

    steps: tuple[tuple[Pipeline, Connector], ...] = field(default=())


class Unreadable(Exception):
    """The text is no script that can be read surely. Never leaves this room."""
