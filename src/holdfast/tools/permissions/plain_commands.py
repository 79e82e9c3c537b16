"""Plain commands: the small part of bash that permissions understand.

Rule: literal words, joined by pipes, `&&`, `||`, `;` and new lines, with redirections to `/dev/null` or between
descriptors, and comments. Everything else (variables, substitutions, functions, groups, assignments) is not
understood, and said so; nothing is guessed.
"""

import re

from msgspec import Struct

LONGEST = 4_000
"""Characters of a command; a longer one is a script."""

_END = r"(?=[ \t;|&\n]|$)"
_TOKEN = re.compile(
    r"(?P<blank>[ \t]+|(?<=[ \t])\\\n(?=[ \t]))"
    r"|(?P<comment>#[^\n]*)"
    rf"|(?P<redirect>(?:[0-9]*|&)>>?[ \t]*/dev/null{_END}|[0-9]*<[ \t]*/dev/null{_END}|[0-9]*>&[0-9]{_END})"
    r"|(?P<join>\|\||&&|\||;|\n)"
    r"|(?P<word>(?:[^\s'\"\\$`(){}<>|&;#~!*?\[\]]|(?<=[^\s|&;])[#!]|(?<=[^\s|&;=:])~|[*?]|\[[^\s'\"\\$`(){}<>|&;]*\]|\[(?=\s)"
    r"|(?<=\s)\]|!=?(?=\s)|\{\}|'[^']*'|\"(?:[^\"\\$`]|\\.)*\"|\\[^\n])+)"
)
_PIECE = re.compile(r"'([^']*)'|\"((?:[^\"\\]|\\.)*)\"|\\(.)|([^'\"\\]+)", re.DOTALL)
_GLOB = re.compile(r"[*?\[]")
_RESERVED = frozenset(
    "! if then elif else fi for while until do done case esac select function coproc".split()
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")


class LiteralWord(Struct, frozen=True):
    text: str
    has_glob: bool = False
    """Whether bash expands it to names of files."""
    may_be_option: bool = False
    """Whether an expanded name may look like an option."""


class PlainCommand(Struct, frozen=True):
    words: tuple[LiteralWord, ...]
    text: str

    @property
    def texts(self) -> list[str]:
        return [word.text for word in self.words]


class NotPlainError(Exception):
    """A command is more than simple commands; the message says what it has."""


def split_commands(text: str) -> list[PlainCommand]:
    """The simple commands of a text, in order. NotPlainError if there is anything else."""
    text = text.strip(" \t\n")
    if control := _CONTROL.search(text):
        raise NotPlainError(f"it has the control character {control[0]!r}")
    if len(text) > LONGEST:
        raise NotPlainError(f"it has more than {LONGEST:,} characters")
    commands: list[PlainCommand] = []
    words: list[LiteralWord] = []
    at, begin, waits, last = 0, 0, True, None
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            mark = next((one for one in text[at:] if one in "$`"), '"') if text[at] == '"' else text[at]
            what = "reads or writes a file" if mark in "<>" else "makes it more than plain words"
            raise NotPlainError(f"`{mark}` {what}")
        if found["comment"] and last == "word":
            raise NotPlainError("`#` makes it more than plain words")
        at, last = found.end(), found.lastgroup
        if found["word"]:
            words.append(_word(found["word"]))
        elif found["join"] and (words or found["join"] != "\n"):
            commands.append(_command(words, text[begin : found.start()]))
            words, begin, waits = [], at, found["join"] not in (";", "\n")
    if words or waits:
        commands.append(_command(words, text[begin:]))
    return commands


def _command(words: list[LiteralWord], text: str) -> PlainCommand:
    if not words:
        raise NotPlainError("a command is missing in it")
    if _ASSIGNMENT.match(words[0].text):
        raise NotPlainError(f"it sets a variable (`{words[0].text.split('=')[0]}`)")
    if words[0].text in _RESERVED or ("[" in words[0].text and words[0].text != "["):
        raise NotPlainError(f"`{words[0].text}` makes it more than plain words")
    return PlainCommand(tuple(words), text.strip())


def _word(raw: str) -> LiteralWord:
    parts, has_glob = [], False
    for single, double, escaped, plain in _PIECE.findall(raw):
        parts.append(single or re.sub(r"\\([\"\\$`])", r"\1", double) or escaped or plain)
        has_glob = has_glob or bool(_GLOB.search(plain))
    text = "".join(parts)
    return LiteralWord(text, has_glob, has_glob and text.startswith(("*", "?", "[", "-")))
