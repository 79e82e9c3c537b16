"""Features: what a line and a name show of themselves, as the numbers that their worth is judged by.

Rule: readable and few. A value needs the text, its call and the log up to now, and nothing else. The order of the
names here is the order in the vectors. A file of weights that does not know a new feature gives it none; what would
make such a file mean something else raises `VERSION`.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from math import log1p
from typing import Literal

from msgspec import Struct

from holdfast.tool_use import CHANGING, ToolKind

LineOrigin = Literal["user", "said", "call", "argument", "result"]
"""Where a line is from: what the user said, what the agent said, what a call was, what was written with it, what it
returned."""

LONG_LINE = 40
"""Tokens from which a line is a long one."""
EDGE_ROWS = 5
"""Rows at either end of a text that say how it begins and how it ended."""
SHORTEST_NAME, LONGEST_NAME = 5, 300
MAX_NAMES = 12
"""Names above which a line is a crowd of them."""

NAMES_PER_TOKEN = 2
"""At most: a path and its last part."""

CACHED_LINES, CACHED_TOKENS = 1024, 2048
"""A long result is read when it is reduced and again when it is indexed, and most words of a project come often."""

_NAME = re.compile(r"https?://[^\s\"'<>`)\]}|]+|[A-Za-z0-9_][A-Za-z0-9_./@~+\-]{4,}")
_SHAPE = re.compile(r"[0-9_./\-]|(?<=[A-Za-z])[A-Z]")
_TROUBLE = re.compile(
    r"(?i)\b(?:error|errors|fail|failed|failure|fatal|panic|exception|traceback|undefined|cannot|denied|not found"
    r"|expected|unexpected|warning)\b"
)
_TROUBLE_WORDS = (
    *"error fail fatal panic exception traceback undefined cannot denied expected warning".split(),
    "not found",
)
"""One of these is in every word of trouble: most texts, and most lines of the others, have none."""
_OPENING = re.compile(
    r"\s*+(?:(?P<number>\d++[→:\t|])\s*+|(?:Line |L)?\d++(?:[→:\t|]|\.(?= ))\s*+)?+(?:[+\-]\s*+)?+(?:"
    r"(?P<definition>(?:(?:export|default|public|private|protected|async|static|pub|abstract)\s)*+"
    r"(?:func|def|class|type|interface|struct|fn|impl|const|enum|trait|function|var|let)\b)"
    r"|(?P<include>#include\b)|(?P<import>(?:import|from|package|use|require)\b)"
    r"|(?P<comment>//|#|\*|/\*|--|\"\"\"))?"
)
"""How a line begins, after the marks of a listing or a diff. It matches every line."""
_NUMBERED = re.compile(
    r"\s*+(?:(?=\d*+[^\s:\d])[^\s:]++:|Line |L)?\d++(?:\s?[→:|\t\-]|\.(?=\s))|[+\- ]\s?(?=\S)"
)
_OWN_NUMBER = re.compile(r"\s*+(?:Line |L)?\d++(?:[→|\t]|\.(?=\s)|[:\-](?!\d))")
"""The number of a line in a listing: no part of the names in the line."""
_WIDE = re.compile("[\u3000-\U0010ffff]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_EXTENSION = re.compile(r"\.[A-Za-z]{1,5}$")
_CODE = re.compile(r"[0-9a-f\-]{7,}|[\d.,:\-TZ+]+")
_CAMEL = re.compile(r"[a-z][A-Z]")
_EDGES = "./@~+-"


class LineFacts(Struct, frozen=True, gc=False):
    """A line by itself. `key` is the line as it is known without a listing's numbers; `size` its tokens, roughly.

    `is_lone` says that it is one name and nothing else: only its neighbours tell what it is.
    """

    key: str
    names: tuple[str, ...]
    size: int
    is_definition: bool
    is_trouble: bool
    is_import: bool
    is_comment: bool
    is_numbered: bool
    is_lone: bool


def facts_of_lines(lines: Sequence[str]) -> list[LineFacts]:
    """`line_facts` of each line of a text. Trouble is looked for in all of them at once: most texts have none."""
    read = line_facts if _may_tell_trouble("\n".join(lines)) else calm_line_facts
    return [*map(read, lines)]


@lru_cache(CACHED_LINES)
def line_facts(line: str) -> LineFacts:
    return _facts(line, is_trouble=_may_tell_trouble(line) and _TROUBLE.search(line) is not None)


@lru_cache(CACHED_LINES)
def calm_line_facts(line: str) -> LineFacts:
    """Of a line in a text that tells of no trouble."""
    return _facts(line, is_trouble=False)


def _facts(line: str, is_trouble: bool) -> LineFacts:
    names = names_in(line)
    opening = _OPENING.match(line)
    assert opening is not None, "it matches every line"
    kind = opening.lastgroup
    return LineFacts(
        line_key(line),
        names,
        rough_tokens(line),
        kind == "definition",
        is_trouble,
        kind in ("import", "include"),
        kind in ("comment", "include"),
        opening["number"] is not None,
        bool(names) and _is_lone(line, names),
    )


def _may_tell_trouble(text: str) -> bool:
    lower = text.lower()
    for word in _TROUBLE_WORDS:
        if word in lower:
            return True
    # These two are an `i` to a pattern that ignores case, and to nothing else here.
    return not text.isascii() and ("İ" in text or "ı" in text)


def line_key(line: str) -> str:
    numbered = _NUMBERED.match(line)
    return (line[numbered.end() :] if numbered else line).strip()


def names_in(text: str) -> tuple[str, ...]:
    """Paths with their last part, identifiers, ids and numbers: what has a shape that prose has not."""
    return _names_among(_tokens(text))


def _tokens(text: str) -> list[str]:
    number = _OWN_NUMBER.match(text)
    return _NAME.findall(text, number.end() if number else 0)


def uncrowded_names(lines: Iterable[str]) -> set[str]:
    """All names of some lines, but for those in a crowd of them."""
    names: set[str] = set()
    tokens: set[str] = set()
    for line in lines:
        found = _tokens(line)
        if len(found) * NAMES_PER_TOKEN <= MAX_NAMES:
            tokens.update(found)
        elif not is_crowd(line, one_by_one := _names_among(found)):
            names.update(one_by_one)
    return names.union(_names_among(tokens))


def _names_among(tokens: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(map(_names_of, tokens))))


@lru_cache(CACHED_TOKENS)
def _names_of(token: str) -> tuple[str, ...]:
    """The name itself, and the last part of a path; nothing for a word of prose."""
    name = token.rstrip(_EDGES)
    if not SHORTEST_NAME <= len(name) <= LONGEST_NAME or not _SHAPE.search(name):
        return ()
    if "/" not in name:
        return (name,)
    last = name.rsplit("/", 1)[1]
    has_last = len(last) >= SHORTEST_NAME and _SHAPE.search(last)
    return (name, last) if has_last else (name,)


def is_crowd(line: str, names: tuple[str, ...]) -> bool:
    """Whether a line holds too many names for any of them to be told apart; in a record each has its key."""
    return len(names) > MAX_NAMES and not line.startswith('{"')


def rough_tokens(line: str) -> int:
    """Close enough to rank by: four characters a token, and every other script's character one."""
    stripped = line.strip()
    if stripped.isascii():
        return len(stripped) // 4 + 2
    return len(stripped) // 4 + len(_WIDE.findall(stripped)) + 2


def _is_lone(line: str, names: tuple[str, ...]) -> bool:
    longest = names[0] if len(names) == 1 else max(names, key=len)
    for name in names:
        if name not in longest:
            return False
    return _WORD.search(line.replace(longest, " ")) is None


VERSION = 1

FIXED_LINE = (
    "always", "user", "said", "call", "argument", "result", "read", "search", "shell", "listing", "change",
    "other_tool", "log_size", "long", "indent", "definition", "trouble", "import", "comment", "log_names",
    "first_rows", "last_rows", "log_rows", "added", "removed", "numbered", "lone",
)  # fmt: skip
"""Features of a line that never change."""
_OF_TEXT = FIXED_LINE.index("log_size")
"""Features before this one are the same for all lines of a text."""
MOVING_LINE = ("log_age", "log_repeats", "in_goal", "file_changed", "log_file_age", "file_changed_since")
"""Features of a line that change as the log grows."""
LINE_FEATURES = (*FIXED_LINE, *MOVING_LINE)

FIXED_NAME = (
    "always", "own", "path", "deep_path", "extension", "number", "address", "camel", "snake", "dotted",
    "log_length",
)  # fmt: skip
SEEN_NAME = (
    "log_count", "log_messages", "used", "log_used", "in_user", "log_said", "in_trouble", "in_definition",
    "last_in_read", "last_in_search", "last_in_shell", "last_in_call", "log_brought_up",
)  # fmt: skip
"""Features of a name that change when it is seen again."""
MOVING_NAME = (
    "log_age", "used_lately", "file_touched", "file_changed", "log_steps", "new", "source_used",
    "log_source_used",
)  # fmt: skip
NAME_FEATURES = (*FIXED_NAME, *SEEN_NAME, *MOVING_NAME)

RECENT_STEPS = 10
"""Steps that count as recent."""
NEW = 5
"""Steps since its first sight for which a name is new."""


def fixed_line_features(
    facts: LineFacts, line: str, origin: LineOrigin, kind: ToolKind | None, row: int, rows: int
) -> tuple[float, ...]:
    """`kind` is the call's, None where there is no call; `row` is the line's place among `rows`."""
    result = kind if origin == "result" else None
    return (
        1.0,
        origin == "user",
        origin == "said",
        origin == "call",
        origin == "argument",
        origin == "result",
        result == "read",
        result == "grep",
        result == "bash",
        result in ("ls", "glob"),
        kind in CHANGING,
        result == "other",
        log1p(facts.size),
        facts.size > LONG_LINE,
        log1p(len(line) - len(line.lstrip())),
        facts.is_definition,
        facts.is_trouble,
        facts.is_import,
        facts.is_comment,
        log1p(len(facts.names)),
        row < EDGE_ROWS,
        row >= rows - EDGE_ROWS,
        log1p(rows),
        line.startswith("+"),
        line.startswith("-"),
        facts.is_numbered,
        facts.is_lone,
    )


class LineRater:
    """What `fixed_line_features` of the lines of one text come to, weighted, written out because it is computed for
    every line of a log. Features that are 0 are left out; the others are added up in their order."""

    def __init__(
        self, weights: Sequence[float], origin: LineOrigin, kind: ToolKind | None, rows: int
    ) -> None:
        plain = LineFacts("", (), 0, *(False,) * 6)
        shared = fixed_line_features(plain, "", origin, kind, EDGE_ROWS, 0)[:_OF_TEXT]
        self._of_text = 0.0
        for weight, value in zip(weights, shared, strict=False):
            self._of_text += weight if value else 0.0
        self._weights = weights[_OF_TEXT:]
        self._rows = rows
        self._of_rows = weights[FIXED_LINE.index("log_rows")] * log1p(rows)

    def rate(self, facts: LineFacts, line: str, row: int) -> float:
        (
            of_size, if_long, of_indent, if_definition, if_trouble, if_import, if_comment, of_names,
            if_first, if_last, _, if_added, if_removed, if_numbered, if_lone,
        ) = self._weights  # fmt: skip
        size = facts.size
        worth = self._of_text + of_size * log1p(size)
        if size > LONG_LINE:
            worth += if_long
        worth += of_indent * log1p(len(line) - len(line.lstrip()))
        if facts.is_definition:
            worth += if_definition
        if facts.is_trouble:
            worth += if_trouble
        if facts.is_import:
            worth += if_import
        if facts.is_comment:
            worth += if_comment
        worth += of_names * log1p(len(facts.names))
        if row < EDGE_ROWS:
            worth += if_first
        if row >= self._rows - EDGE_ROWS:
            worth += if_last
        worth += self._of_rows
        if line.startswith("+"):
            worth += if_added
        elif line.startswith("-"):
            worth += if_removed
        if facts.is_numbered:
            worth += if_numbered
        return worth + if_lone if facts.is_lone else worth


def fixed_name_features(name: str, own: bool) -> tuple[float, ...]:
    """`own` says that the agent itself brought the name up."""
    return (
        1.0,
        own,
        "/" in name,
        name.count("/") >= 3,
        _EXTENSION.search(name) is not None,
        _CODE.fullmatch(name) is not None,
        name.startswith("http"),
        _CAMEL.search(name) is not None,
        "_" in name,
        "." in name and "/" not in name,
        log1p(len(name)),
    )


def rate_name(weights: Sequence[float], name: str, own: bool) -> float:
    """What `fixed_name_features` come to, weighted, written out because it is computed for every name of a log."""
    (
        worth, if_own, if_path, if_deep, if_extension, if_number, if_address, if_camel, if_snake, if_dotted,
        of_length,
    ) = weights  # fmt: skip
    is_path, has_dot = "/" in name, "." in name
    if own:
        worth += if_own
    if is_path:
        worth += if_path
        if name.count("/") >= 3:
            worth += if_deep
    if has_dot and _EXTENSION.search(name):
        worth += if_extension
    if _CODE.fullmatch(name):
        worth += if_number
    if name.startswith("http"):
        worth += if_address
    if _CAMEL.search(name):
        worth += if_camel
    if "_" in name:
        worth += if_snake
    if has_dot and not is_path:
        worth += if_dotted
    return worth + of_length * log1p(len(name))
