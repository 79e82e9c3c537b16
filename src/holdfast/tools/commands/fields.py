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

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice, product
from typing import Literal

from msgspec import Struct

from holdfast.tools.commands.syntax import (
    Parameter,
    Piece,
    ShellScript,
    ShellText,
    ShellWord,
    Substitution,
    Sum,
)

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

    fetches: Callable[[ShellScript], bool]
    lists: Callable[[ShellScript], str]


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


def cases(words: Iterable[ShellWord], values: Values) -> Iterator[Values]:
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


def expand(words: Iterable[ShellWord], values: Values, prints: Prints) -> list[str]:
    """The fields that words become in one case."""
    return [field for word in words for field in _fields(word, values, prints)]


def expand_text(word: ShellWord, values: Values, prints: Prints) -> str:
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


def _plain_names(word: ShellWord) -> Iterator[str]:
    return (piece.name for piece in word.pieces if isinstance(piece, Parameter) and piece.plain)


def _fields(word: ShellWord, values: Values, prints: Prints) -> list[str]:
    literal = word.literal
    if literal is not None and not _SHAPED.search(word.raw):
        return [literal]
    if listed := _listed(word, prints):
        return listed
    cells = _cells(word, values, prints)
    return [_shown(one) for one in _braced(cells)]


def _listed(word: ShellWord, prints: Prints) -> list[str]:
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


def _cells(word: ShellWord, values: Values, prints: Prints) -> Cells:
    cells: Cells = []
    for piece in word.pieces:
        if isinstance(piece, ShellText):
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
        case ShellText(text):
            return text


def _fetched(word: ShellWord, prints: Prints) -> bool:
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


# Where a path lies: inside the root, in a guarded part of it, outside, in the system.
#
# Rule: paths are read as text, and what seems to lie inside is looked up by whoever knows where links lead. What
# cannot be told is `unknown`, never `inside`.

PathPlace = Literal[
    "inside", "root", "guarded", "outside", "temporary", "system", "stream", "device", "network", "unknown"
]

_STREAM = re.compile(r"/dev/(?:null|zero|u?random|full|tty|std(?:in|out|err)|fd/(?:\d+|\ue001))")
_SYSTEM = re.compile(
    r"/(?:etc|usr|bin|sbin|lib\w*|boot|sys|proc|root|var|opt|home|System|Library|Users)?(?:/.*)?", re.DOTALL
)
_OPEN_PLACES = re.compile(r"/(?:home|Users|root|opt|var/tmp|var/folders)/.+", re.DOTALL)
_TEMPORARY = re.compile(r"(?:/private)?/(?:tmp|var/tmp|var/folders)/.+", re.DOTALL)
_UP = re.compile(r"\.[.\ue000\ue007]*")
"""A part of a path that is, or by a pattern may be, the folder above."""


_ANY_NAME = re.compile(f"[{''.join(NAMES)}]+")

OURS = frozenset({"inside", "root", "guarded"})
Follow = Callable[[str], tuple[str, ...] | None]
"""The real paths that an absolute one leads to, those of links below it where it ends so; None where that cannot be
told."""


def stay(path: str) -> tuple[str, ...]:  # noqa: ARG001 - as `Follow` says
    """Where there are no links."""
    return ()


class CommandRoots(Struct, frozen=True):
    """The folders that belong to the work, and the names in them that do not."""

    folders: tuple[str, ...]
    """Absolute and without a closing slash, the root first."""
    guarded: tuple[str, ...] = ()
    """Names of files and folders, in small letters, with which other programs can be made to run commands."""
    follow: Follow = stay


def places_of(path: str, cwd: str | None, ground: CommandRoots) -> set[PathPlace]:
    """Where a path lies by its text, and where it leads."""
    near = place_of(path, cwd, ground)
    if near not in OURS:
        return {near}
    # Not made shorter before: behind a link, `..` is the folder above the place that it leads to.
    led = ground.follow(posixpath.join(cwd or "/", path))
    if led is None:
        return {near, "unknown"}
    return {near, *(place_of(real, None, ground) for real in led)}


def place_of(path: str, cwd: str | None, ground: CommandRoots) -> PathPlace:
    """`cwd` is the absolute folder that the command runs in, or None where it is not known."""
    path = path.replace(f"{FETCHED}/dev/fd/", "/dev/fd/")
    if _STREAM.fullmatch(path):
        return "stream"
    if not is_known(path):
        return "unknown"
    if path.startswith(HOME):
        return "system" if path.strip("/") == HOME else "outside"
    whole = absolute(path, cwd)
    if whole is None:
        return "unknown"
    if whole.startswith("/dev/"):
        return "network" if whole.startswith(("/dev/tcp/", "/dev/udp/")) else "device"
    return _placed(whole, ground)


def absolute(path: str, cwd: str | None) -> str | None:
    """The path from the top, `..` resolved as text; None where it cannot be told."""
    if not is_known(path) or HOME in path or (cwd is None and not path.startswith("/")):
        return None
    parts = posixpath.join(cwd or "/", path).split("/")
    first = next((at for at, part in enumerate(parts) if _is_open(part)), len(parts))
    if any(_UP.fullmatch(part) and part != "." for part in parts[first:]):
        return None  # what is above a name that is not known is not known either
    return "/" + posixpath.normpath("/" + posixpath.join(cwd or "/", path)).lstrip("/")


def _placed(whole: str, ground: CommandRoots) -> PathPlace:
    for folder in ground.folders:
        if whole == folder:
            return "root"
        if whole.startswith(folder.rstrip("/") + "/"):
            inner = whole[len(folder) :].strip("/").split("/")
            return "guarded" if any(_is_guarded(part, ground) for part in inner) else "inside"
    if any(folder.startswith(whole.rstrip("/") + "/") for folder in ground.folders):
        return "system"
    if _TEMPORARY.fullmatch(whole):
        return "temporary"
    if _SYSTEM.fullmatch(whole) and not _OPEN_PLACES.fullmatch(whole):
        return "system"
    return "outside"


def _is_guarded(part: str, ground: CommandRoots) -> bool:
    part = part.lower()
    if not _is_open(part):
        return part in ground.guarded or part.endswith(".git")
    return any(name_pattern(part).fullmatch(name) for name in ground.guarded)


def _is_open(part: str) -> bool:
    return any(mark in part for mark in NAMES)


def name_pattern(part: str) -> re.Pattern[str]:
    """The names that a part of a path with marks in it may stand for."""
    return re.compile(".*".join(re.escape(text) for text in re.split(_ANY_NAME, part)), re.DOTALL)
