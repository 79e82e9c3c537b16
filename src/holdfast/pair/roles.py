"""The two roles of a pair: their prompts, tools, profiles, models and handovers.

Rule: plain values from TOML. No role has code of its own: `init_execute.toml` and the prompts beside it define Init
and Execute, and a pair of your own is such a file.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from importlib.resources import files as package_files
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from holdfast.effort import Effort
from holdfast.errors import ConfigError, InputError, suggest
from holdfast.messages import Json
from holdfast.pair.folder import RESULTS, Outputs, path_fault
from holdfast.pair.handover import Handover, LayerNumber
from holdfast.pair.stop_rules import StopRules, contradictions

BUILT_IN = "init_execute.toml"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_FIELDS = tuple(field.name for field in msgspec.structs.fields(Handover))
_PLACE = re.compile(r" - at (?:`key` in )?`\$\.?(.*)`$")
MOST_TOKENS = 100_000_000
TWO = "write two tables `[[roles]]`"
LISTED = "docs/pair.md lists what a pair has"

Definitions = Literal["full", "short"]
"""How tools are defined to a model: in full, or in a few words with small schemas."""


class HandoverForm(Struct, frozen=True, forbid_unknown_fields=True):
    """The handover of a role: its tag, the required fields, and how long it may be."""

    name: str
    requires: tuple[str, ...] = ()
    least_tokens: Annotated[int, Meta(ge=0, le=MOST_TOKENS)] = 200
    most_tokens: Annotated[int, Meta(ge=1, le=MOST_TOKENS)] = 5_000


class Role(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One agent. `layers` are the kinds of problems that belong to it. A role that `measures` evaluates, and the
    success that it reports is compared with the results on the disk."""

    name: str
    prompt: str
    tools: tuple[str, ...]
    profile: str
    model: str = ""
    effort: Effort | None = None
    """How much its model thinks; None as its provider recommends."""
    window: Annotated[int, Meta(ge=0, le=MOST_TOKENS)] = 0
    """Tokens, instead of the profile's window."""
    definitions: Definitions = "full"
    layers: tuple[LayerNumber, ...] = ()
    measures: bool = False
    handover: HandoverForm


class Pair(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first role begins and designs; the second works on what it is handed."""

    name: str
    task: str = "task.md"
    """The file in the folder that says what to do."""
    roles: tuple[Role, Role]
    outputs: Outputs = Outputs()
    stop: StopRules = StopRules()

    def role(self, name: str) -> Role:
        return next(role for role in self.roles if role.name == name)

    def other(self, name: str) -> Role:
        return next(role for role in self.roles if role.name != name)


def built_in_pair() -> Pair:
    """Init and Execute."""
    folder = package_files(__package__)
    text = (folder / BUILT_IN).read_text("utf-8")
    return parse_pair(text, BUILT_IN, lambda name: (folder / name).read_text("utf-8"))


def load_pair(path: Path) -> Pair:
    """A pair from a user's file. Prompt files are read from beside it."""
    return _load(path)[0]


def load_stop_table(path: Path) -> dict[str, Any]:
    """Only what the `[stop]` table of a pair's file says."""
    pair, text = _load(path)
    return {name: getattr(pair.stop, name) for name in tomllib.loads(text).get("stop", {})}


def _load(path: Path) -> tuple[Pair, str]:
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        raise InputError(
            f"the pair {path} cannot be read: {_why(error)}", hint="`--pair` names a TOML file"
        ) from None

    def beside(name: str) -> str:
        try:
            return (path.parent / name).read_text("utf-8-sig")
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"{path}: the prompt `{name}` cannot be read: {_why(error)}",
                hint="`prompt_file` names a text beside the pair; `prompt` is the text itself",
            ) from None

    return parse_pair(text, str(path), beside), text


def parse_pair(text: str, where: str, read: Callable[[str], str]) -> Pair:
    """A pair from TOML; `read` reads the `prompt_file` of a role."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where} is not valid TOML: {error}", hint="docs/pair.md has an example") from None
    except RecursionError:
        raise ConfigError(f"{where} is nested too deeply", hint=LISTED) from None
    roles = table.get("roles")
    if not isinstance(roles, list) or not all(isinstance(role, dict) for role in roles):
        raise ConfigError(f"{where}: there are no roles", hint=TWO)
    if len(roles) != 2:
        found = "is 1 role" if len(roles) == 1 else f"are {len(roles)} roles"
        raise ConfigError(f"{where}: there {found}, and a pair has two", hint=TWO)
    for role in roles:
        file = role.pop("prompt_file", "")
        if not isinstance(file, str):
            raise ConfigError(f"{where}: `prompt_file` is the name of a file", hint=LISTED)
        if file and "prompt" in role:
            raise ConfigError(
                f"{where}: a role has both `prompt` and `prompt_file`", hint="remove one of them"
            )
        if file:
            role["prompt"] = read(file)
    return validate_pair(table, where)


def validate_pair(table: Json, where: str) -> Pair:
    """A pair whose parts fit together, from plain data."""
    try:
        pair = msgspec.convert(table, Pair)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {_sentence(str(error))}", hint=LISTED) from None
    for sentence, hint in _wrong(pair):
        raise ConfigError(f"{where}: {sentence}", hint=hint)
    return replace(pair, roles=tuple(replace(role, prompt=role.prompt.strip()) for role in pair.roles))


def check_tools(pair: Pair, known: Iterable[str]) -> None:
    """Raises `ConfigError` for an unknown tool."""
    names = sorted(known)
    for role in pair.roles:
        for tool in role.tools:
            if tool not in names:
                raise ConfigError(
                    f"the role `{role.name}` has a tool `{tool}`, which does not exist",
                    hint=suggest(tool, names, lists=True),
                )


def _wrong(pair: Pair) -> Iterator[tuple[str, str]]:
    """The mistakes in a pair, each with a hint."""
    names = [role.name for role in pair.roles]
    for name in (*names, *(role.handover.name for role in pair.roles)):
        if not _NAME.fullmatch(name):
            yield (
                f"`{name}` is not a valid name",
                "use lower-case letters, digits and `_`, with a letter first",
            )
    if len(set(names)) < 2:
        yield f"both roles are called `{names[0]}`", "give them different names"
    for role in pair.roles:
        yield from _wrong_in(role)
    if pair.roles[0].measures:
        yield (
            f"`{names[0]}` measures, and it is the first: when it begins there is nothing to evaluate",
            "`measures` belongs to the second role",
        )
    yield from _wrong_names(pair)
    for sentence in contradictions(pair.stop):
        yield f"[stop]: {sentence}", "docs/pair.md says when a pair stops"


def _wrong_in(role: Role) -> Iterator[tuple[str, str]]:
    form = role.handover
    if not role.prompt.strip():
        yield f"the role `{role.name}` has no prompt", "write `prompt` or `prompt_file`"
    for name in form.requires:
        if name not in _FIELDS:
            yield (
                f"`{role.name}` requires `{name}`, which no handover has",
                f"there are: {', '.join(_FIELDS)}",
            )
    if "success" in form.requires and not role.measures:
        yield (
            f"`{role.name}` requires `success`, and does not measure it",
            "set `measures = true` for the second role, or remove `success`",
        )
    if form.least_tokens >= form.most_tokens:
        yield f"the handover of `{role.name}` cannot have any size", "raise `most_tokens`"


def _wrong_names(pair: Pair) -> Iterator[tuple[str, str]]:
    """Names of files and folders that would fail only when the work is half done."""
    outputs = pair.outputs
    named = [("task", pair.task), ("outputs.folder", outputs.folder), ("outputs.report", outputs.report)]
    for key, path in (*named, *(("outputs.parts", part) for part in outputs.parts)):
        if wrong := path_fault(path):
            yield f"`{key}`: {wrong}", "name it from the folder that both work in"
    if outputs.report in outputs.parts:
        yield f"`outputs.report` and a folder are both called `{outputs.report}`", "rename one of them"
    if any(role.measures for role in pair.roles) and RESULTS not in outputs.parts:
        yield f"`outputs.parts` has no `{RESULTS}`, which results are read from", f"add `{RESULTS}`"


def _sentence(message: str) -> str:
    """An error of msgspec, with the place of the value first."""
    place = _PLACE.search(message)
    if place is None or not place[1]:
        return message[:1].lower() + message[1:]
    said = message[: place.start()]
    return f"`{place[1]}`: {said[:1].lower()}{said[1:]}"


def _why(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else "") or str(error)
