"""Import statements of a file, as they are written.

Rule: one pass over the lines, whatever they hold: the text under review is anybody's. What is no statement may be
taken for one; whether it means a file of the project is told elsewhere.
"""

import re
from collections.abc import Callable, Collection, Iterator

from msgspec import Struct

MOST_LINES = 20_000
LONGEST_LINE = 2_000

_PYTHON_FROM = re.compile(r"\s*+from\s++(\.*+[\w.]*+)\s*+import\b(.*)")
_PYTHON_IMPORT = re.compile(r"\s*+import\s++(.*)")
_SCRIPT = re.compile(r"""\b(?:from|import|require)\s*+\(?\s*+["']([^"']{1,300})["']""")
_GO = re.compile(r"""\s*+(?:import\s++)?(?:[\w.]++\s++)?["`]([^"`]{1,300})["`]\s*+(?://.*)?;?\s*$""")
_OTHERS = {
    "c": re.compile(r"""\s*+#\s*+include\s*+[<"]([^>"]{1,300})[>"]"""),
    "java": re.compile(r"\s*+import\s++(?:static\s++)?([\w.]++)"),
    "rust": re.compile(r"\s*+(?:pub(?:\([^)]{0,40}\))?\s++)?(?:use|mod)\s++([\w:]++)"),
    "ruby": re.compile(r"""\s*+(require(?:_relative)?\s*+\(?\s*+["'][^"']{1,300})["']"""),
}

_FAMILIES = {
    "python": "python",
    "typescript": "script",
    "tsx": "script",
    "javascript": "script",
    "vue": "script",
    "svelte": "script",
    "go": "go",
    "c": "c",
    "cpp": "c",
    "java": "java",
    "kotlin": "java",
    "scala": "java",
    "rust": "rust",
    "ruby": "ruby",
}


class Import(Struct, frozen=True):
    """`target` is what the statement names; `names` what it takes out of it, which may be modules too (Python)."""

    line: int
    target: str
    names: tuple[str, ...] = ()


def family_of(language: str) -> str:
    """Languages that import each other's files have one name; empty where imports are not known."""
    return _FAMILIES.get(language, "")


def imports_in(text: str, family: str, comments: Collection[int] = ()) -> list[Import]:
    """In the order they stand, those on lines that are comments left out."""
    lines = [line[:LONGEST_LINE] for line in text.split("\n", MOST_LINES)[:MOST_LINES]]
    read: Callable[[list[str]], Iterator[Import]]
    match family:
        case "python":
            read = _python
        case "script":
            read = _script
        case "go":
            read = _go
        case _ if family in _OTHERS:
            read = _other(_OTHERS[family])
        case _:
            return []
    return [one for one in read(lines) if one.line not in comments]


def _python(lines: list[str]) -> Iterator[Import]:
    numbered = iter(enumerate(lines, start=1))
    for number, line in numbered:
        if found := _PYTHON_FROM.match(line):
            taken = found[2]
            if "(" in taken:
                while ")" not in taken:
                    _, more = next(numbered, (0, ")"))
                    taken += " " + more.partition("#")[0]
            elif taken.rstrip().endswith("\\"):
                taken = taken.rstrip()[:-1] + next(numbered, (0, ""))[1]
            if found[1]:
                yield Import(number, found[1], _names(taken.strip(" ()")))
        elif found := _PYTHON_IMPORT.match(line):
            for name in _names(found[1]):
                yield Import(number, name)


def _names(taken: str) -> tuple[str, ...]:
    """`a as b, c` as `a` and `c`."""
    parts = (part.strip(" ()\t\r") for part in taken.partition("#")[0].partition(";")[0].split(","))
    firsts = (part.split()[0] for part in parts if part)
    return tuple(name for name in firsts if re.fullmatch(r"[\w.]+", name))


def _script(lines: list[str]) -> Iterator[Import]:
    for number, line in enumerate(lines, start=1):
        if not line.lstrip().startswith(("//", "*")):
            yield from (Import(number, target) for target in _SCRIPT.findall(line))


def _go(lines: list[str]) -> Iterator[Import]:
    is_inside = False
    for number, line in enumerate(lines, start=1):
        word = line.strip()
        if re.match(r"import\s*\(", word):
            is_inside = ")" not in word
        elif is_inside and word.startswith(")"):
            is_inside = False
        elif (is_inside or word.startswith("import")) and (found := _GO.match(line)):
            yield Import(number, found[1])
        elif word.startswith(("func ", "type ")):
            # Imports stand before all else.
            return


def _other(pattern: re.Pattern[str]) -> Callable[[list[str]], Iterator[Import]]:
    def read(lines: list[str]) -> Iterator[Import]:
        for number, line in enumerate(lines, start=1):
            if found := pattern.match(line):
                yield Import(number, found[1])

    return read
