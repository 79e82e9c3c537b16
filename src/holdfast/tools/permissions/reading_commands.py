"""Commands that only read: a table of programs and options, for simple commands.

Rule: what is not known is not called reading. At the access level `read` a mistake costs no more than a failed
command. Where it would count, without a sandbox and beside a command that a rule allows more, a strict list says
which options a few programs may have.
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
LONGEST_PATH = 500
_CLEAR_GLOB = re.compile(r"(?![-*])[^*?\[]*/(?:(?!\.\*|/\.\*)[^?\[])*")
"""A pattern that becomes no option, that cannot be the folder above, and that means the same to all: `src/*.py`."""

LeadsOut = Callable[[LiteralWord], bool]
"""Whether a word, taken as a path, leads to a file outside the workspace."""


class StrictScope(Struct, frozen=True):
    """Where a mistake would count: what may be read there. Without `leads_out` a sandbox holds that."""

    leads_out: LeadsOut | None = None
    has_git: bool = True
    """Whether the repository that Git would find is the workspace's own, and no command could have made it."""


class ReadingRule(Struct, frozen=True):
    """A row of the table: words that a command begins with, and what it may not have besides."""

    refuse: tuple[str, ...] = ()
    """Options that write, run something or wait for a person; a long one also by its beginning."""
    only: tuple[str, ...] = ()
    """The only words that may follow, if there are any here."""
    operands: bool = True
    """Whether words that are no options may follow,"""
    plus: bool = False
    """or at least those with a plus sign, as in `date +%F`."""
    unless: tuple[str, ...] = ()
    """Options that permit operands although `operands` is false."""


class NotReading(Struct, frozen=True):
    """Why a command may do more than read, and the part of it that may."""

    reason: str
    part: str


def why_not_reading(
    command: str,
    scope: StrictScope | None = None,
    is_allowed: Callable[[PlainCommand], bool] = lambda _: False,
) -> NotReading | None:
    """None for a command that only reads, except for the parts that are allowed. `scope` is for where a mistake
    would count."""
    try:
        commands = split_commands(command)
    except NotPlainError as error:
        return NotReading(str(error), command)
    reasons = ((one.text, why_not_reading_one(one, scope)) for one in commands if not is_allowed(one))
    return next((NotReading(reason, part) for part, reason in reasons if reason), None)


def why_not_reading_one(command: PlainCommand, scope: StrictScope | None = None) -> str:
    """Why a plain command may do more than read; empty if it does not."""
    if scope:
        return _why_not(command.words, command.text) or _why_not_strictly(command.words, scope)
    outer, inner = _parts(_without_git_options(command.words))
    reason = _why_not(outer, command.text) if outer else ""
    return reason or (why_not_reading_one(PlainCommand(tuple(inner), command.text)) if inner else "")


def _why_not(words: Sequence[LiteralWord], text: str) -> str:
    rule, length = _rule(words)
    if rule is None:
        has_more = words[0].text in program_list("subcommands") and len(words) > 1
        name = " ".join(word.text for word in words[: 1 + has_more])
        return f"`{name}` is not known to only read"
    is_reading = _reads(rule, words[length:], _SCRIPTS.get(words[0].text))
    return "" if is_reading else f"`{text}` may do more than read"


def _why_not_strictly(words: Sequence[LiteralWord], scope: StrictScope) -> str:
    """What speaks against a command that only reads, where a mistake would count."""
    program = words[0].text
    allowed, length = _strict(words)
    if allowed is None:
        return f"`{program}` counts as reading only at the access level `read`"
    if program == "git" and not scope.has_git:
        return "the repository that `git` finds may be another one"
    if program == "cd" and scope.leads_out:
        return "`cd` changes where its paths lead"
    for word in words[length:]:
        if word.text.startswith("-") and word.text != "-":
            if word.has_glob or not _is_allowed(word.text, allowed):
                return f"`{program} {word.text}` counts as reading only at the access level `read`"
        elif len(word.text) > LONGEST_PATH or (word.has_glob and not _is_clear(word, program)):
            return f"`{word.text[:40]}` may mean anything"
        elif scope.leads_out and scope.leads_out(word):
            return f"`{word.text}` is outside the workspace"
    return ""


def _is_clear(word: LiteralWord, program: str) -> bool:
    """Whether all that a pattern can become are paths for a program that only reads them."""
    return program not in _SCRIPTS and bool(_CLEAR_GLOB.fullmatch(word.text))


def _is_allowed(option: str, allowed: Sequence[str]) -> bool:
    """Whether an option is in the list, is a cluster of letters in it, with or without a number, or has a value
    that the list writes as a star."""
    if option in allowed or any(one.endswith("*") and option.startswith(one[:-1]) for one in allowed):
        return True
    letters = re.fullmatch(r"-([A-Za-z]*)[0-9]*", option)
    return letters is not None and all(f"-{letter}" in allowed for letter in letters[1])


def _parts(words: Sequence[LiteralWord]) -> tuple[Sequence[LiteralWord], Sequence[LiteralWord]]:
    """A command and the one that it runs, if any: `xargs -n 1 wc`, `timeout 5 grep x`, `find . -exec cat {} +`."""
    texts = [word.text for word in words]
    if texts[0] == "find" and texts[-1] in ("+", ";") and texts.count("-exec") == 1:
        at = texts.index("-exec")
        return words[:at], words[at + 1 : -1]
    if texts[0] not in program_list("wrappers") or _rule(words)[0]:
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
    if operands and not rule.operands and not (rule.plus and all(word.startswith("+") for word in operands)):
        return any(option.split("=", 1)[0] in rule.unless for option in options)
    return reads is None or reads(rest)


def _rule(words: Sequence[LiteralWord]) -> tuple[ReadingRule | None, int]:
    """The row with the most words that a command begins with, and how many; None if there is none."""
    texts = [word.text for word in words[:LONGEST_NAME]]
    for length in range(len(texts), 0, -1):
        if rule := _rules().get(" ".join(texts[:length])):
            return rule, length
    is_version = len(words) == 2 and texts[1] in ("--version", "-version", "-V", "version")
    return (ReadingRule(), 2) if is_version and texts[0] in program_list("versioned") else (None, 0)


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
        rest[at + 1] for at, word in enumerate(rest[:-1]) if re.fullmatch(r"--expression|-[nErsuz]*e", word)
    ]
    operands = [word for word in rest if not word.startswith("-")]
    scripts = scripts or operands[:1]
    parts = [
        part.strip() for script in scripts for part in ([script] if "s" in script else script.split(";"))
    ]
    return bool(parts) and all(_SED.fullmatch(part) for part in parts)


def _uniq_reads(rest: Sequence[str]) -> bool:
    """A second file would be written."""
    return sum(not word.startswith("-") or word in ("-", "--") for word in rest) <= 1


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
def _data() -> dict[str, object]:
    text = files("holdfast.tools.permissions").joinpath("reading_commands.toml").read_text("utf-8")
    return tomllib.loads(text)


@cache
def program_list(name: str) -> frozenset[str]:
    """A list of programs of the table."""
    return frozenset(str(_data()[name]).split())


@cache
def _strict_options() -> dict[str, tuple[str, ...]]:
    rows = _data()["strict"]
    assert isinstance(rows, dict)
    return {name: tuple(options.split()) for names, options in rows.items() for name in names.split(", ")}


def _strict(words: Sequence[LiteralWord]) -> tuple[tuple[str, ...] | None, int]:
    """The options that the strict list allows a command, and how many words name it."""
    texts = [word.text for word in words[:LONGEST_NAME]]
    names = ((" ".join(texts[:length]), length) for length in range(len(texts), 0, -1))
    found = ((_strict_options()[name], length) for name, length in names if name in _strict_options())
    return next(found, (None, 0))


@cache
def _rules() -> dict[str, ReadingRule]:
    table: dict[str, ReadingRule] = {}
    rows = _data()["commands"]
    assert isinstance(rows, list)
    for row in rows:
        rule = ReadingRule(
            refuse=tuple(row.get("refuse", "").split()),
            only=tuple(row.get("only", "").split()),
            operands=row.get("operands", True),
            plus=row.get("plus", False),
            unless=tuple(row.get("unless", "").split()),
        )
        for name in row["names"]:
            assert name not in table, name
            table[name] = rule
    return table
