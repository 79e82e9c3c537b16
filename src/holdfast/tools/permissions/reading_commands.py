"""Commands that only read: a small grammar, and a table of programs and options.

Rule: what the grammar does not know is not called reading. It knows simple commands with literal words, joined by
pipes, `&&`, `||`, `;` and new lines, with redirections to `/dev/null` or between descriptors: no variables,
substitutions, functions, groups or assignments. A mistake costs no more than a failed command where a sandbox holds
commands, so what runs settings of the project is called reading only there.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

from msgspec import Struct

LONGEST = 4_000
"""Characters of a command; a longer one is a script."""
LONGEST_NAME = 4
"""Words of a row of the table: `python3 -m pip list`."""

_END = r"(?=[ \t;|&\n]|$)"
_TOKEN = re.compile(
    r"(?P<blank>[ \t]+)"
    rf"|(?P<redirect>(?:[0-9]*|&)>>?[ \t]*/dev/null{_END}|[0-9]*<[ \t]*/dev/null{_END}|[0-9]*>&[0-9]{_END})"
    r"|(?P<join>\|\||&&|\||;|\n)"
    r"|(?P<word>(?:[^\s'\"\\$`(){}<>|&;#~!*?\[\]]|(?<=[^\s|&;])[#~!]|[*?]|\[[^\s'\"\\$`(){}<>|&;]*\]|\[(?=\s)"
    r"|(?<=\s)\]|!=?(?=\s)|'[^']*'|\"(?:[^\"\\$`]|\\.)*\"|\\[^\n])+)"
)
_PIECE = re.compile(r"'([^']*)'|\"((?:[^\"\\]|\\.)*)\"|\\(.)|([^'\"\\]+)", re.DOTALL)
_GLOB = re.compile(r"[*?\[]")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")


class LiteralWord(Struct, frozen=True):
    text: str
    starts_with_glob: bool = False
    """Whether it begins with a pattern, so that it may become an option."""


class ReadingRule(Struct, frozen=True):
    """A row of the table: words that a command begins with, and what it may not have besides."""

    refuse: tuple[str, ...] = ()
    """Options that write, run something or wait for a person; a long one also by its beginning."""
    only: tuple[str, ...] = ()
    """The only words that may follow, if there are any here."""
    operands: bool = True
    """Whether words that are no options may follow; those with a plus sign always may,"""
    unless: tuple[str, ...] = ()
    """or only behind one of these options."""
    sandboxed: bool = False
    """Whether it runs what the project configures, and so only reads where a sandbox holds it."""


def only_reads(command: str, *, in_sandbox: bool) -> bool:
    """Whether a command is known to change nothing."""
    if len(command) > LONGEST:
        return False
    commands = list(_split(command))
    return bool(commands) and all(words and _reads(words, in_sandbox=in_sandbox) for words in commands)


def _split(text: str) -> Iterator[list[LiteralWord] | None]:
    """The words of each simple command; None for what the grammar does not know."""
    words: list[LiteralWord] = []
    at, is_joined = 0, False
    text = text.strip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            yield None
            return
        at = found.end()
        if found["word"]:
            words.append(_word(found["word"]))
        elif found["join"]:
            if not words:
                yield None
                return
            yield words
            words, is_joined = [], found["join"] in ("||", "&&", "|")
    if words:
        yield words
    elif is_joined:
        yield None


def _word(raw: str) -> LiteralWord:
    parts = []
    for single, double, escaped, plain in _PIECE.findall(raw):
        parts.append(single or re.sub(r"\\([\"\\$`])", r"\1", double) or escaped or plain)
    return LiteralWord("".join(parts), bool(_GLOB.match(raw) or (raw.startswith("-") and _GLOB.search(raw))))


def _reads(words: Sequence[LiteralWord], *, in_sandbox: bool) -> bool:
    if words[0].text == "git":
        words = _without_git_options(words)
    texts = [word.text for word in words]
    if _ASSIGNMENT.match(texts[0]):
        return False
    found = _rule(texts)
    if found is None:
        return False
    rule, length = found
    rest, after = texts[length:], words[length:]
    if rule.sandboxed and not in_sandbox:
        return False
    if rule.only:
        return all(word in rule.only for word in rest)
    if rule.refuse and any(word.starts_with_glob for word in after):
        return False
    options = [word for word in rest if word.startswith("-") and word != "-"]
    if any(_is_refused(option, rule.refuse) for option in options):
        return False
    operands = [word for word in rest if word not in options]
    if operands and not rule.operands and not all(word.startswith("+") for word in operands):
        return any(option.split("=", 1)[0] in rule.unless for option in options)
    return _SCRIPTS[texts[0]](rest) if texts[0] in _SCRIPTS else True


def _rule(words: Sequence[str]) -> tuple[ReadingRule, int] | None:
    """The row with the most words that a command begins with."""
    table = _table()
    for length in range(min(LONGEST_NAME, len(words)), 0, -1):
        if rule := table.get(" ".join(words[:length])):
            return rule, length
    if (
        len(words) == 2
        and words[0] in _versioned()
        and words[1] in ("--version", "-version", "-V", "version")
    ):
        return ReadingRule(), 2
    return None


def _without_git_options(words: Sequence[LiteralWord]) -> list[LiteralWord]:
    """A command of Git without harmless options before its sub-command."""
    rest = list(words[1:])
    while rest and rest[0].text in ("--no-pager", "-P", "-C", "--no-optional-locks"):
        del rest[: 2 if rest[0].text == "-C" else 1]
    return [words[0], *rest]


def _is_refused(option: str, refused: Sequence[str]) -> bool:
    name = option.split("=", 1)[0]
    for one in refused:
        if name == one or (one.startswith("--") and len(name) > 2 and one.startswith(name)):
            return True
        if len(one) == 2 and not option.startswith("--") and one[1] in option[1:]:
            return True
    return False


_ADDRESS = r"(?:[0-9]+|\$|/(?:[^/\\]|\\.)+/)"
_SED = re.compile(
    rf"(?:{_ADDRESS}(?:,{_ADDRESS}|,\+[0-9]+)?!?)?\s*"
    r"(?:[pdq=]|s(?P<mark>[/|,#:])(?:(?!(?P=mark))[^\\\n]|\\.)*(?P=mark)(?:(?!(?P=mark))[^\\\n]|\\.)*(?P=mark)[gpiI0-9]*)"
)
_AWK = re.compile(r"system|getline|[|@`]|print[^;}]*>|close|fflush")


def _sed_reads(rest: Sequence[str]) -> bool:
    """Only scripts that print, delete and substitute; `w`, `e` and the like write and run."""
    scripts = [
        rest[at + 1] for at, word in enumerate(rest[:-1]) if word in ("-e", "--expression", "-ne", "-Ee")
    ]
    operands = [word for word in rest if not word.startswith("-")]
    scripts = scripts or operands[:1]
    parts = [
        part.strip() for script in scripts for part in ([script] if "s" in script else script.split(";"))
    ]
    return bool(parts) and all(_SED.fullmatch(part) for part in parts)


def _uniq_reads(rest: Sequence[str]) -> bool:
    """A second file would be written."""
    return sum(not word.startswith("-") for word in rest) <= 1


def _awk_reads(rest: Sequence[str]) -> bool:
    return all(re.fullmatch(r"-F.*|-v", word) for word in rest if word.startswith("-")) and not any(
        _AWK.search(word) for word in rest
    )


_SCRIPTS = {
    "sed": _sed_reads,
    "awk": _awk_reads,
    "gawk": _awk_reads,
    "mawk": _awk_reads,
    "uniq": _uniq_reads,
}
"""Programs whose arguments say more than options do."""


@cache
def _tables() -> dict[str, object]:
    text = files("holdfast.tools.permissions").joinpath("reading_commands.toml").read_text("utf-8")
    return tomllib.loads(text)


@cache
def _versioned() -> frozenset[str]:
    return frozenset(str(_tables()["versioned"]).split())


@cache
def _table() -> dict[str, ReadingRule]:
    table: dict[str, ReadingRule] = {}
    rows = _tables()["commands"]
    assert isinstance(rows, list)
    for row in rows:
        rule = ReadingRule(
            refuse=tuple(row.get("refuse", "").split()),
            only=tuple(row.get("only", "").split()),
            operands=row.get("operands", True),
            unless=tuple(row.get("unless", "").split()),
            sandboxed=row.get("sandboxed", False),
        )
        for name in row["names"]:
            assert name not in table, name
            table[name] = rule
    return table
