"""Rules for shell commands: a person's patterns, what programs do with their arguments, and how arguments are read.

Rule: deny beats ask beats allow. A program or an option that no rule knows is asked about.
"""

import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from holdfast.errors import ConfigError, describe_value
from holdfast.messages import Json
from holdfast.tools.commands.fields import EVEN, HOME, SMOOTH, WILD, is_known, is_plain, may_be_option
from holdfast.tools.commands.reader import read_script
from holdfast.tools.commands.syntax import ShellText, ShellWord, Simple, UnreadableScript

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
            f"{where}: `{text}` is not a pattern", hint="write `Bash(git show:*)` or `Bash(make test)`"
        )
    inner = (form[1] if form[1] is not None else "*").strip()
    rest = _REST.search(inner)
    words = _words(inner[: rest.start()] if rest else inner, f"{where}: `{text}`") if inner != "*" else ()
    return Pattern(words, is_whole=rest is None, text=text.strip())


def _words(command: str, where: str) -> tuple[str, ...]:
    try:
        steps = read_script(command).steps
    except UnreadableScript as error:
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


def plain_text(word: ShellWord) -> str | None:
    """The text of a word that a shell leaves as it is."""
    bare = "".join(piece.text for piece in word.pieces if isinstance(piece, ShellText) and not piece.quoted)
    return None if any(mark in bare for mark in "*?[{~") else word.literal


def written(words: Sequence[str], *, is_whole: bool) -> str:
    """The pattern for words, as people would write it."""
    return f"Bash({shlex.join(words)}{'' if is_whole else ':*'})"


# Rules for commands, as data: what programs do with their arguments, and what a person allows, asks or denies.
#
# Rule: a program or an option that no rule knows is asked about. A person's deny beats ask beats allow; an allow
# raises `ask` only, unless it names the whole command.

Verdict = Literal["allow", "ask", "deny"]
SEVERITY: dict[str, int] = {"allow": 0, "ask": 1, "deny": 2}
Operands = Literal["read", "none", "write", "last", "move", "delete"]


class Spec(Struct, frozen=True, forbid_unknown_fields=True):
    """What a program does with its arguments. Options stand in lists by what they do, parted by blanks; where
    `flags` are listed, an option that stands in no list is asked about."""

    names: list[str]
    """Programs, or a program with its sub-command, that this holds for."""
    verdict: Verdict = "allow"
    why: str = ""
    operands: Operands = "read"
    """What becomes of operands: `last` writes the last and reads the others, `move` also takes those away."""
    text: int = 0
    """So many operands at the front are no files,"""
    instead: str = ""
    """unless one of these options gives that text."""
    most: int = -1
    """With more operands than these it changes something and is asked about."""
    flags: str = ""
    takes: str = ""
    """Options with a value that is no file,"""
    reads: str = ""
    writes: str = ""
    folder: str = ""
    """with a folder that the command then works in,"""
    asks: str = ""
    denies: str = ""
    recursive: str = ""
    follows: str = ""
    """With these, links in folders are followed, wherever they lead."""
    wraps: int = -1
    """So many operands stand before a command that this program runs."""
    by: str = ""
    """The reader of its arguments where options do not say it all."""

    def effects(self) -> dict[str, str]:
        """What each listed option does."""
        lists = ("flags", "takes", "reads", "writes", "folder", "asks", "denies", "recursive", "follows")
        return {option: name for name in lists for option in getattr(self, name).split()}


class RuleTable(Struct, frozen=True, forbid_unknown_fields=True):
    """The file of built-in rules."""

    programs: list[Spec]
    fetchers: str
    trusted: str
    guarded: str
    exported: str
    special: str
    named: str
    places: dict[str, dict[str, Verdict]]
    why: dict[str, str]


class CommandRules(Struct, frozen=True):
    """Built-in rules with a person's own on top."""

    specs: dict[str, Spec]
    effects: dict[str, dict[str, str]]
    """By name of a spec, what its options do."""
    deeper: frozenset[str]
    """Names that have sub-commands."""
    fetchers: frozenset[str]
    trusted: tuple[str, ...]
    guarded: tuple[str, ...]
    exported: tuple[str, ...]
    special: tuple[str, ...]
    named: frozenset[str]
    places: dict[str, dict[str, Verdict]]
    why: dict[str, str]
    allow: tuple[Pattern, ...] = ()
    ask: tuple[Pattern, ...] = ()
    deny: tuple[Pattern, ...] = ()
    folders: tuple[str, ...] = field(default=())
    """Folders besides the root that commands may work in."""


@cache
def built_in() -> CommandRules:
    """The rules that come with Holdfast, nobody's own among them."""
    text = files("holdfast.tools.commands").joinpath("rules.toml").read_text("utf-8")
    table = msgspec.convert(tomllib.loads(text), RuleTable)
    specs = {name: spec for spec in table.programs for name in spec.names}
    return CommandRules(
        specs=specs,
        effects={name: spec.effects() for name, spec in specs.items()},
        deeper=frozenset(name.rsplit(" ", 1)[0] for name in specs if " " in name),
        fetchers=frozenset(table.fetchers.split()),
        trusted=tuple(table.trusted.split()),
        guarded=tuple(table.guarded.lower().split()),
        exported=tuple(table.exported.split()),
        special=tuple(table.special.split()),
        named=frozenset(table.named.split()),
        places=table.places,
        why=table.why,
    )


def parse_rules(table: Mapping[str, Json], where: str) -> CommandRules:
    """The built-in rules with a person's `[permissions]` on top: lists `allow`, `ask`, `deny` and `folders`."""
    known = ("allow", "ask", "deny", "folders")
    lists: dict[str, list[str]] = {}
    for key, value in table.items():
        if key not in known:
            names = ", ".join(f"`{name}`" for name in known)
            raise ConfigError(f"{where}: unknown key `permissions.{key}`", hint=f"there are {names}")
        lists[key] = _texts(value, f"{where}: `permissions.{key}`")
    for folder in lists.get("folders", []):
        if not folder.startswith("/") or ".." in folder.split("/"):
            raise ConfigError(
                f"{where}: the folder `{folder}` in `permissions.folders` is not absolute",
                hint="write the whole path, without `..`",
            )
    return replace(
        built_in(),
        folders=tuple(folder.rstrip("/") or "/" for folder in lists.get("folders", [])),
        **{
            key: tuple(parse_pattern(text, f"{where}: `permissions.{key}`") for text in lists.get(key, []))
            for key in ("allow", "ask", "deny")
        },
    )


def _texts(value: Json, where: str) -> list[str]:
    if not isinstance(value, list):
        raise ConfigError(f"{where} should be a list of texts, found {describe_value(value)}")
    for one in value:
        if not isinstance(one, str):
            raise ConfigError(f"{where} should hold only texts, found {describe_value(one)}")
    return value


# A program's arguments, read by its rule: options and what they do, operands and what becomes of them.
#
# Rule: an argument that might be an option is treated as the worst one it could be; abbreviations of long options
# and clusters of short ones count as the options they hold.

_NUMBER = re.compile(r"-\d+")
_TAKING = frozenset({"takes", "reads", "writes", "folder"})
"""Lists whose options have a value."""
_HARMFUL = frozenset({"writes", "folder", "asks", "denies", "recursive"})


class ProgramOption(Struct, frozen=True, gc=False):
    name: str
    effect: str
    """The list it stands in; `unknown` for none where all are listed."""
    word: str
    value: str = ""


class Arguments(Struct):
    options: list[ProgramOption] = field(default_factory=list)
    operands: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)
    """Words that might be options of harm."""
    loose: list[str] = field(default_factory=list)
    """Words that stand in options no list has, and may be files that are read."""

    def has(self, *effects: str) -> bool:
        return any(option.effect in effects for option in self.options)


def read_arguments(
    words: Sequence[str], spec: Spec, effects: Mapping[str, str], *, stops: bool = False
) -> tuple[Arguments, int]:
    """The arguments, and how many words they are. With `stops`, options end at the first operand."""
    found, at = Arguments(), 0
    harms = bool(_HARMFUL & set(effects.values()))
    while at < len(words):
        word = words[at]
        if word == "--":
            found.operands += words[at + 1 :]
            return found, at + 1 if stops else len(words)
        if len(word) > 1 and word.startswith("-"):
            following = words[at + 1] if at + 1 < len(words) else ""
            at += _read_option(found, word, following, spec, effects)
        elif stops:
            return found, at
        else:
            # The name of a file holds no path of another, so as an option it only switches something.
            if may_be_option(word) and (harms or (spec.flags and not word.startswith((WILD, EVEN, SMOOTH)))):
                found.unsure.append(word)
            found.operands.append(word)
        at += 1
    return found, at


def _read_option(found: Arguments, word: str, following: str, spec: Spec, effects: Mapping[str, str]) -> int:
    """How many words behind it belong to an option."""
    if not is_plain(word.split("=", 1)[0]):
        found.unsure.append(word)
        return 0
    options = list(_long(word, spec, effects) if word.startswith("--") else _short(word, spec, effects))
    used = 0
    for name, effect, attached in options:
        value = attached
        if effect in _TAKING and attached is None:
            value, used = following, 1
        elif attached and effect == "flags":
            found.loose.append(attached)
        found.options.append(ProgramOption(name, effect, word, value or ""))
    return used


def _long(word: str, spec: Spec, effects: Mapping[str, str]) -> Iterator[tuple[str, str, str | None]]:
    name, equals, value = word.partition("=")
    attached = value if equals else None
    if name in effects:
        yield name, effects[name], attached
        return
    if spec.flags:
        yield name, "unknown", attached
        return
    # Getopt takes any beginning of a long option for the whole.
    meant = [option for option in effects if option.startswith(name)]
    for option in meant:
        yield option, effects[option], attached
    if not meant:
        yield name, "flags", attached


def _short(word: str, spec: Spec, effects: Mapping[str, str]) -> Iterator[tuple[str, str, str | None]]:
    if word in effects:  # also of programs that write long options with one dash
        yield word, effects[word], None
        return
    name, equals, value = word.partition("=")
    if equals and name in effects and len(name) > 2:
        yield name, effects[name], value
        return
    if _NUMBER.fullmatch(word):
        yield word, "flags", None
        return
    for at, letter in enumerate(word[1:], 2):
        option = "-" + letter
        effect = effects.get(option, "unknown" if spec.flags and not letter.isdigit() else "flags")
        if effect in _TAKING:
            yield option, effect, word[at:] or None
            return
        yield option, effect, None
    if any(mark in word for mark in ("/", "..", HOME)) or not is_known(word):
        yield word[:2], "flags", word[2:]
