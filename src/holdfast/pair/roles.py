"""Roles, and the pair that two of them make: prompts, tools, profile, model and what each hands over.

Rule: plain values out of TOML. There is no code for any one role: what Init and Execute are stands in
`init_execute.toml` and the prompts beside it, and a pair of your own is such a file.
"""

import re
import tomllib
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from importlib.resources import files as package_files
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from holdfast.errors import ConfigError, InputError
from holdfast.messages import Json
from holdfast.pair.handover import Handover
from holdfast.pair.layout import Outputs
from holdfast.pair.stopping import StopRules

BUILT_IN = "init_execute.toml"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_FIELDS = tuple(field.name for field in msgspec.structs.fields(Handover))


class HandoverForm(Struct, frozen=True, forbid_unknown_fields=True):
    """What a role hands over: the tag that it stands in, what may not be missing, and how long it may be."""

    name: str
    requires: tuple[str, ...] = ()
    least_tokens: Annotated[int, Meta(ge=0)] = 200
    most_tokens: Annotated[int, Meta(ge=1)] = 5_000


class Role(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One agent. `layers` are the kinds of problems that are its own; one that `measures` evaluates, and what it
    says of success is compared with the results on the disk."""

    name: str
    prompt: str
    tools: tuple[str, ...]
    profile: str
    model: str = ""
    window: Annotated[int, Meta(ge=0)] = 0
    """Tokens in place of the profile's window."""
    layers: tuple[int, ...] = ()
    measures: bool = False
    handover: HandoverForm


class Pair(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first role begins and designs; the second works on what it was handed."""

    name: str
    task: str = "task.md"
    """File of the folder that says what is to be done."""
    roles: tuple[Role, Role]
    outputs: Outputs = Outputs()
    stop: StopRules = StopRules()

    def role(self, name: str) -> Role:
        return next(role for role in self.roles if role.name == name)

    def other(self, name: str) -> Role:
        return next(role for role in self.roles if role.name != name)


def built_in() -> Pair:
    """Init and Execute."""
    folder = package_files(__package__)
    text = (folder / BUILT_IN).read_text("utf-8")
    return parse_pair(text, BUILT_IN, lambda name: (folder / name).read_text("utf-8"))


def load_pair(path: Path) -> Pair:
    """A pair of a user's own. Prompts that name a file are read from beside it."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"the pair {path} cannot be read: {error}", hint="`--pair` names a TOML file"
        ) from None

    def beside(name: str) -> str:
        try:
            return (path.parent / name).read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: the prompt `{name}` cannot be read: {error}") from None

    return parse_pair(text, str(path), beside)


def parse_pair(text: str, where: str, read: Callable[[str], str]) -> Pair:
    """A pair out of TOML; `prompt_file` of a role is read by `read`."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where} is no valid TOML: {error}") from None
    roles = table.get("roles")
    if not isinstance(roles, list) or not all(isinstance(role, dict) for role in roles):
        raise ConfigError(f"{where}: there are no roles", hint="write two tables `[[roles]]`")
    for role in roles:
        if isinstance(file := role.pop("prompt_file", None), str):
            role.setdefault("prompt", read(file))
    return checked(table, where)


def checked(table: Json, where: str) -> Pair:
    """A pair whose parts fit together."""
    try:
        pair = msgspec.convert(table, Pair)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {error}", hint="docs/pair.md lists what a pair has") from None
    for sentence, hint in _wrong(pair):
        raise ConfigError(f"{where}: {sentence}", hint=hint)
    return replace(pair, roles=tuple(replace(role, prompt=role.prompt.strip()) for role in pair.roles))


def check_tools(pair: Pair, known: Iterable[str]) -> None:
    """Raises `ConfigError` for a tool that there is not."""
    names = sorted(known)
    for role in pair.roles:
        for tool in role.tools:
            if tool not in names:
                near = get_close_matches(tool, names, n=1, cutoff=0.0)[0]
                raise ConfigError(
                    f"the role `{role.name}` has a tool `{tool}`, which there is not",
                    hint=f"the nearest is `{near}`; there are: {', '.join(names)}",
                )


def _wrong(pair: Pair) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    names = [role.name for role in pair.roles]
    found += [
        (f"`{name}` cannot be a name here", "use small letters, digits and `_`, a letter first")
        for name in (*names, *(role.handover.name for role in pair.roles))
        if not _NAME.fullmatch(name)
    ]
    if len(set(names)) < 2:
        found.append((f"both roles are called `{names[0]}`", "give each a name of its own"))
    for role in pair.roles:
        if not role.prompt.strip():
            found.append((f"the role `{role.name}` has no prompt", "write `prompt` or `prompt_file`"))
        found += [
            (f"`{role.name}` requires `{name}`, which no handover has", f"there are: {', '.join(_FIELDS)}")
            for name in role.handover.requires
            if name not in _FIELDS
        ]
        if role.handover.least_tokens >= role.handover.most_tokens:
            found.append(
                (f"the handover of `{role.name}` has no size that is allowed", "raise `most_tokens`")
            )
    if any(
        part.startswith(("/", "~")) or ".." in part.split("/") for part in (pair.outputs.folder, pair.task)
    ):
        found.append(("`outputs.folder` or `task` leads out of the folder", "name it from the folder"))
    return found
