"""A person's patterns for commands: `Bash(git show:*)`, `Bash(npm run test)`, `Bash`.

Rule: a pattern names one command by its words, unquoted, so that no spelling of a word slips past it.
"""

import re
import shlex
from collections.abc import Sequence

from msgspec import Struct

from holdfast.errors import ConfigError
from holdfast.tools.commands.reader import read_script
from holdfast.tools.commands.syntax import Simple, Text, Unreadable, Word

_FORM = re.compile(r"Bash(?:\((.*)\))?", re.DOTALL)
_REST = re.compile(r"(?::|[ \t]+)\*$|^\*$")


class Pattern(Struct, frozen=True):
    """Words that a command begins with or, where `is_whole`, that it is."""

    words: tuple[str, ...]
    is_whole: bool
    text: str

    @property
    def is_everything(self) -> bool:
        return not self.words

    def matches(self, words: Sequence[str]) -> bool:
        if self.is_whole:
            return tuple(words) == self.words
        return tuple(words[: len(self.words)]) == self.words


def parse_pattern(text: str, where: str) -> Pattern:
    """A pattern as people write it, or an error that says what is wrong with it."""
    form = _FORM.fullmatch(text.strip())
    if not form:
        raise ConfigError(
            f"{where}: `{text}` is no pattern", hint="write `Bash(git show:*)` or `Bash(make test)`"
        )
    inner = (form[1] if form[1] is not None else "*").strip()
    rest = _REST.search(inner)
    words = _words(inner[: rest.start()] if rest else inner, f"{where}: `{text}`") if inner != "*" else ()
    return Pattern(words, is_whole=rest is None, text=text.strip())


def _words(command: str, where: str) -> tuple[str, ...]:
    try:
        steps = read_script(command).steps
    except Unreadable as error:
        raise ConfigError(f"{where} cannot be read as a command: {error}") from error
    commands = [one for pipeline, _ in steps for one in pipeline.commands]
    if len(commands) != 1 or not isinstance(one := commands[0], Simple) or one.redirects or one.assignments:
        raise ConfigError(
            f"{where} should name one command",
            hint="commands joined by `|`, `&&` or `;` are judged one by one, so each has its own pattern",
        )
    plain = [text for text in map(plain_text, one.words) if text is not None]
    if len(plain) < len(one.words):
        raise ConfigError(
            f"{where} holds a variable, a substitution or a `*` in the middle",
            hint="a pattern is plain words, with `:*` at the end for more of them",
        )
    return tuple(plain)


def plain_text(word: Word) -> str | None:
    """The text of a word that a shell leaves as it is."""
    bare = "".join(piece.text for piece in word.pieces if isinstance(piece, Text) and not piece.quoted)
    return None if any(mark in bare for mark in "*?[{~") else word.literal


def written(words: Sequence[str], *, is_whole: bool) -> str:
    """The pattern for words, as people would write it."""
    return f"Bash({shlex.join(words)}{'' if is_whole else ':*'})"
