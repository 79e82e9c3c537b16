"""What stands inside commands and words: scripts, programs, moves.

Rule: nothing nested is left out, however deep.
"""

from collections.abc import Iterable, Iterator

from holdfast.tools.commands.flow import name_of
from holdfast.tools.commands.syntax import (
    Branch,
    Command,
    Function,
    Group,
    Loop,
    Parameter,
    Script,
    Simple,
    Substitution,
    Sum,
    Test,
    Word,
)

_MOVES = frozenset({"cd", "pushd", "popd"})


def scripts_of(word: Word) -> Iterator[Script]:
    """Scripts in a word; those inside them are theirs."""
    for piece in word.pieces:
        match piece:
            case Substitution(script):
                yield script
            case Parameter() | Sum():
                for inner in piece.inner:
                    yield from scripts_of(inner)
            case _:
                pass


def sums_of(word: Word) -> Iterator[tuple[str, ...]]:
    for piece in word.pieces:
        if isinstance(piece, Sum):
            yield piece.names
        elif isinstance(piece, Parameter):
            for inner in piece.inner:
                yield from sums_of(inner)


def words_of(command: Command) -> Iterator[str]:
    """All plain words of a command and of everything in it."""
    match command:
        case Simple():
            words: list[Word] = [*command.words, *(redirect.target for redirect in command.redirects)]
            for assignment in command.assignments:
                words += assignment.items if assignment.value is None else (assignment.value,)
            yield from _plain(words)
        case Group(body):
            yield from _in_script(body)
        case Branch(scripts, found) | Loop(scripts, _, found):
            yield from _plain(found or ())
            for script in scripts:
                yield from _in_script(script)
        case Function(_, body):
            yield from words_of(body)
        case Test(found):
            yield from _plain(found)


def _plain(words: Iterable[Word]) -> Iterator[str]:
    for word in words:
        if word.literal is not None:
            yield word.literal
        for script in scripts_of(word):
            yield from _in_script(script)


def _in_script(script: Script) -> Iterator[str]:
    for pipeline, _ in script.steps:
        for command in pipeline.commands:
            yield from words_of(command)


def programs_of(command: Command) -> frozenset[str]:
    return frozenset(name_of(word) for word in words_of(command))


def does_name(what: Script | Command, programs: frozenset[str]) -> bool:
    """Whether anything in it is one of these programs, judged by its words."""
    words = _in_script(what) if isinstance(what, Script) else words_of(what)
    return any(name_of(part) in programs for word in words for part in word.split())


def moves(scripts: Iterable[Script]) -> bool:
    """Whether a script may leave its shell in another folder. What is evaluated counts by its words; where they are
    not known it is asked about already."""
    return any(part in _MOVES for script in scripts for word in _in_script(script) for part in word.split())
