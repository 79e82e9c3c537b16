"""What the words of a command become when a shell expands them, as far as that can be known.

Rule: a field holds a character as it is only if bash gives the program exactly that character. Everything else is
a mark:

- `ANY` some text in one field, `MANY` in any number of fields, `FETCHED` before them if it was fetched or decoded
- `WILD` part of a file's name, no `..` in it; `EVEN` the same, of names that stay one word whoever splits them and
  that do not begin with a dash
- `BELOW` some path below the folder that stands before it, and what follows is how it ends; `SMOOTH` the same, of
  names as with `EVEN`; `SOLID` behind these two where it is no link
- `HOME` a person's folder
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice, product

from msgspec import Struct

from holdfast.tools.commands.syntax import Parameter, Piece, Script, Substitution, Sum, Text, Word

WILD, ANY, MANY, FETCHED = "\ue000", "\ue001", "\ue002", "\ue003"
BELOW, SMOOTH, SOLID, EVEN, HOME = "\ue004", "\ue005", "\ue006", "\ue007", "\ue008"
_HIDDEN = "\ue009"
"""A character of which the shape of a word knows only that it is not bare."""
UNKNOWN = (ANY, MANY, FETCHED)
NAMES = (WILD, EVEN, BELOW, SMOOTH, SOLID)
"""Marks for names of files that are there."""

Values = Mapping[str, frozenset[str]]


class Prints(Struct, frozen=True):
    """What is known of the output of scripts in words: whether it was fetched or decoded, and the field that each
    word of it is like, where all of them are names of files."""

    fetches: Callable[[Script], bool]
    lists: Callable[[Script], str]


QUIET = Prints(lambda _: False, lambda _: "")
"""Nothing is known of any output."""

MOST_CASES, MOST_USES, LONGEST_VALUE = 16, 2_000, 100
"""Bounds on what variables stand for: without them, short scripts could make long work."""
_WHOLE = re.compile(r"[\w./:@%+,=\ue005-\ue007-]+", re.ASCII)
"""A value that stays one field without quotes, whatever separates fields by default."""
_NAMED = re.compile(f"[{''.join(NAMES)}]")
_SHAPED = re.compile(r"[*?\[~{]")
_BRACES = re.compile(r"\{([^{}]*)\}")
_TILDE = re.compile(r"(?:^|(?<=[=:]))~[\w.+-]*(?=/|:|$)")
_SERIES = re.compile(r"-?\w+\.\.-?\w+(?:\.\.-?\d+)?", re.ASCII)
_GLOB = re.compile(r"[*?]|\[[^/\]\ue009]*\]?")


def cases(words: Iterable[Word], values: Values) -> Iterator[Values]:
    """What the variables in words may stand for, one mapping for each case; one empty mapping for too many."""
    used = [name for word in words for name in _plain_names(word) if name in values]
    names = sorted(set(used))
    found = list(islice(product(*(sorted(values[name]) for name in names)), MOST_CASES + 1))
    if len(found) > MOST_CASES or len(found) * len(used) > MOST_USES:
        yield {}
        return
    for case in found:
        yield {name: frozenset({value}) for name, value in zip(names, case, strict=True)}


def is_kept(value: str) -> bool:
    """Whether a variable's value is kept track of."""
    return len(value) <= LONGEST_VALUE and is_plain(value)


def is_name(value: str) -> bool:
    """Whether it is text but for names of files in it, as a pattern gives them."""
    return len(value) <= LONGEST_VALUE and is_plain(_NAMED.sub("", value))


def expand(words: Iterable[Word], values: Values, prints: Prints) -> list[str]:
    """The fields that words become in one case."""
    return [field for word in words for field in _fields(word, values, prints)]


def expand_text(word: Word, values: Values, prints: Prints) -> str:
    """A word where no fields are made: an assignment's value, a redirection's text."""
    cells = _cells(word, values, prints)
    return _shown(cells).replace(MANY, ANY)


def is_known(text: str) -> bool:
    return not any(mark in text for mark in UNKNOWN)


def is_plain(text: str) -> bool:
    """Whether a text has no mark at all."""
    return not any(WILD <= character <= HOME for character in text)


def may_be_option(text: str) -> bool:
    """Whether a field might begin with a dash though none is seen."""
    return MANY in text or text[:1] in (ANY, WILD, EVEN, SMOOTH, FETCHED)


def _plain_names(word: Word) -> Iterator[str]:
    return (piece.name for piece in word.pieces if isinstance(piece, Parameter) and piece.plain)


def _fields(word: Word, values: Values, prints: Prints) -> list[str]:
    literal = word.literal
    if literal is not None and not _SHAPED.search(word.raw):
        return [literal]
    if listed := _listed(word, prints):
        return listed
    cells = _cells(word, values, prints)
    return [_shown(one) for one in _braced(cells)]


def _listed(word: Word, prints: Prints) -> list[str]:
    """The fields of a substitution that prints names of files and stands alone. They count as two, since with more
    than one some programs do more than read."""
    match word.pieces:
        case (Substitution(script, quoted=False, is_file=False),) if not prints.fetches(script):
            field = prints.lists(script)
            return [field, field] if field else []
        case _:
            return []


Cells = list[tuple[str, bool]]
"""Characters of a word, and whether each is bare: neither quoted nor expanded from something."""


def _cells(word: Word, values: Values, prints: Prints) -> Cells:
    cells: Cells = []
    for piece in word.pieces:
        if isinstance(piece, Text):
            cells += [(character, not piece.quoted) for character in piece.text]
        else:
            cells += [(character, False) for character in _expanded(piece, values, prints)]
    return cells


def _expanded(piece: Piece, values: Values, prints: Prints) -> str:
    match piece:
        case Parameter(name, quoted, plain):
            if plain and len(found := values.get(name, frozenset[str]())) == 1:
                (value,) = found
                return value if quoted or _WHOLE.fullmatch(value) else MANY
            if name == "HOME" and plain and name not in values:
                return HOME
            if name in "#?$!":  # numbers
                return ANY
            fetched = any(_fetched(word, prints) for word in piece.inner)
            return FETCHED * fetched + (ANY if quoted and plain and name != "@" else MANY)
        case Substitution(script, quoted, is_file):
            mark = "/dev/fd/" + ANY if is_file else ANY if quoted else MANY
            return FETCHED + mark if prints.fetches(script) else mark
        case Sum():
            return ANY
        case Text(text):
            return text


def _fetched(word: Word, prints: Prints) -> bool:
    for piece in word.pieces:
        if isinstance(piece, Substitution) and prints.fetches(piece.script):
            return True
        if isinstance(piece, Parameter | Sum) and any(_fetched(inner, prints) for inner in piece.inner):
            return True
    return False


def _shape(cells: Cells) -> str:
    return "".join(character if bare else _HIDDEN for character, bare in cells)


def _braced(cells: Cells) -> list[Cells]:
    """The words that braces make of one: `a{b,c}`. Braces inside braces are not followed."""
    shape = _shape(cells)
    found = [m for m in _BRACES.finditer(shape) if "," in m[1] or _SERIES.fullmatch(m[1])]
    if not found:
        loose = shape.count("{") > 1 and "," in shape
        return [[(MANY, False)]] if loose else [cells]
    if shape.count("{") > len(_BRACES.findall(shape)) or shape.count("}") > len(_BRACES.findall(shape)):
        return [[(MANY, False)]]
    made: list[Cells] = [[]]
    at = 0
    for match in found:
        choices = [cells[a:b] for a, b in _choices(match)] if "," in match[1] else [[(WILD, False)]]
        made = [[*one, *cells[at : match.start()], *choice] for one in made for choice in choices]
        at = match.end()
        if len(made) > MOST_CASES * 4:
            return [[(MANY, False)]]
    return [[*one, *cells[at:]] for one in made]


def _choices(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    at = match.start(1)
    for choice in match[1].split(","):
        yield at, at + len(choice)
        at += len(choice) + 1


def _shown(cells: Cells) -> str:
    """The text of one field, patterns and tildes replaced by their marks."""
    text = "".join(character for character, _ in cells)
    shape = _shape(cells)
    if not any(mark in shape for mark in "*?[~"):
        return text
    marked, at = list[str](), 0
    places = [(m.span(), HOME) for m in _TILDE.finditer(shape)]
    places += [(m.span(), WILD) for m in _GLOB.finditer(shape) if m[0] != "[" or len(shape) > 1]
    for (start, end), mark in sorted(places):
        marked += [text[at:start], mark]
        at = end
    return "".join(marked) + text[at:]
