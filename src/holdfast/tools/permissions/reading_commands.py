"""Commands that only read: a table of programs and options, for simple commands.

Rule: what is not known is not called reading. Where a sandbox holds commands, a mistake costs no more than a failed
command. Without one, only the programs that are marked for it are called reading, and only of files in the
workspace.
"""

import re
import tomllib
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files

from msgspec import Struct

from holdfast.tools.permissions.plain_commands import (
    LiteralWord,
    NotPlainError,
    PlainCommand,
    split_commands,
)

LONGEST_NAME = 4
"""Words of a row of the table: `python3 -m pip list`."""
LONGEST_OPTION = 60
"""Characters of an option that is searched for paths."""

LeadsOut = Callable[[LiteralWord], bool]
"""Whether a word, taken as a path, leads to a file outside the workspace."""


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
    unconfined: bool = False
    """Whether it is called reading without a sandbox too,"""
    follows: tuple[str, ...] = ()
    """then without these options, which read other files than those that are named."""


class CommandDoubt(Struct, frozen=True):
    """Why a command may do more than read, and the part of it that may."""

    reason: str
    part: str


def find_doubt(command: str, leads_out: LeadsOut | None = None) -> CommandDoubt | None:
    """None for a command that only reads. `leads_out` is for one that no sandbox holds."""
    try:
        commands = split_commands(command)
    except NotPlainError as error:
        return CommandDoubt(str(error), command)
    reasons = ((one.text, doubt_of(one, leads_out)) for one in commands)
    return next((CommandDoubt(reason, part) for part, reason in reasons if reason), None)


def doubt_of(command: PlainCommand, leads_out: LeadsOut | None = None) -> str:
    """Why a simple command may do more than read; empty if it does not."""
    if leads_out:
        return _doubt(command.words, command.text) or _doubt_unconfined(command.words, leads_out)
    outer, inner = _parts(_without_git_options(command.words))
    doubt = _doubt(outer, command.text) if outer else ""
    return doubt or (doubt_of(PlainCommand(tuple(inner), command.text)) if inner else "")


def _doubt(words: Sequence[LiteralWord], text: str) -> str:
    rule, length = _rule(words)
    if rule is None:
        return f"`{words[0].text}` is not known to only read"
    is_reading = _reads(rule, words[length:], _SCRIPTS.get(words[0].text))
    return "" if is_reading else f"`{text}` may do more than read"


def _doubt_unconfined(words: Sequence[LiteralWord], leads_out: LeadsOut) -> str:
    """What speaks against a command that only reads, if there is no sandbox to hold it."""
    rule, length = _rule(words)
    rest = words[length:]
    if rule is None or not rule.unconfined or any(_is_refused(word.text, rule.follows) for word in rest):
        return f"`{words[0].text}` only reads where a sandbox holds it, and there is none"
    outside = (word.text for word in rest if _is_unclear(word) or any(map(leads_out, _paths(word))))
    return next((f"`{text}` may be outside the workspace" for text in outside), "")


def _is_unclear(word: LiteralWord) -> bool:
    """Whether a pattern may be the folder above, or means to bash what it may not mean to others."""
    return word.has_glob and bool(re.search(r"(?:^|/)\.[*?]|\[", word.text))


def _parts(words: Sequence[LiteralWord]) -> tuple[Sequence[LiteralWord], Sequence[LiteralWord]]:
    """A command and the one that it runs, if any: `xargs -n 1 wc`, `timeout 5 grep x`, `find . -exec cat {} +`."""
    texts = [word.text for word in words]
    if texts[0] == "find" and texts[-1] in ("+", ";") and texts.count("-exec") == 1:
        at = texts.index("-exec")
        return words[:at], words[at + 1 : -1]
    if texts[0] not in listed("wrappers") or _rule(words)[0]:
        return words, ()
    at = 1
    while at < len(words) and re.fullmatch(r"-.*|[0-9.]+[smhd]?|\{\}", texts[at]):
        at += 1
    return (words, ()) if at == len(words) else ((), words[at:])


def _reads(
    rule: ReadingRule, words: Sequence[LiteralWord], reads: Callable[[Sequence[str]], bool] | None
) -> bool:
    rest = [word.text for word in words]
    if rule.only:
        return all(word in rule.only for word in rest)
    if rule.refuse and any(word.may_be_option for word in words):
        return False
    options = [word for word in rest if word.startswith("-") and word != "-"]
    if any(_is_refused(option, rule.refuse) for option in options):
        return False
    operands = [word for word in rest if word not in options]
    if operands and not rule.operands and not all(word.startswith("+") for word in operands):
        return any(option.split("=", 1)[0] in rule.unless for option in options)
    return reads is None or reads(rest)


def _paths(word: LiteralWord) -> list[LiteralWord]:
    """What a program may take for a path: a word, or any end of an option."""
    if not word.text.startswith("-"):
        return [word]
    if len(word.text) > LONGEST_OPTION:
        return [LiteralWord("/")]
    return [LiteralWord(word.text[at:], word.has_glob) for at in range(2, len(word.text))]


def _rule(words: Sequence[LiteralWord]) -> tuple[ReadingRule | None, int]:
    """The row with the most words that a command begins with, and how many; None if there is none."""
    texts = [word.text for word in words[:LONGEST_NAME]]
    for length in range(len(texts), 0, -1):
        if rule := _table().get(" ".join(texts[:length])):
            return rule, length
    is_version = len(words) == 2 and texts[1] in ("--version", "-version", "-V", "version")
    return (ReadingRule(), 2) if is_version and texts[0] in listed("versioned") else (None, 0)


def _without_git_options(words: Sequence[LiteralWord]) -> list[LiteralWord]:
    """A command of Git without harmless options before its sub-command."""
    if words[0].text != "git":
        return list(words)
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
_AWK_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|/(?:[^/\\\n]|\\.)+/|\|\|')
"""Texts and patterns of a script, which do nothing themselves."""


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
        _AWK.search(_AWK_TEXT.sub(" ", word)) for word in rest
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
def listed(name: str) -> frozenset[str]:
    """A list of programs of the table."""
    return frozenset(str(_tables()[name]).split())


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
            unconfined=row.get("unconfined", False),
            follows=tuple(row.get("follows", "").split()),
        )
        for name in row["names"]:
            assert name not in table, name
            table[name] = rule
    return table
