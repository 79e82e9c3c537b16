"""Rules for commands, as data: what programs do with their arguments, and what a person allows, asks or denies.

Rule: a program or an option that no rule knows is asked about. A person's deny beats ask beats allow; an allow
raises `ask` only, unless it names the whole command.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from holdfast.errors import ConfigError, found
from holdfast.messages import Json
from holdfast.tools.commands.patterns import Pattern, parse_pattern

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


class Table(Struct, frozen=True, forbid_unknown_fields=True):
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


class Rules(Struct, frozen=True):
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
def built_in() -> Rules:
    """The rules that come with Holdfast, nobody's own among them."""
    text = files("holdfast.tools.commands").joinpath("rules.toml").read_text("utf-8")
    table = msgspec.convert(tomllib.loads(text), Table)
    specs = {name: spec for spec in table.programs for name in spec.names}
    return Rules(
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


def parse_rules(table: Mapping[str, Json], where: str) -> Rules:
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
        raise ConfigError(f"{where} should be a list of texts, found {found(value)}")
    for one in value:
        if not isinstance(one, str):
            raise ConfigError(f"{where} should hold only texts, found {found(one)}")
    return value
