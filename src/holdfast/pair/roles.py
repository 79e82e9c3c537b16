"""Roles, and the pair that two of them make: prompts, tools, profile, model and what each hands over.

Rule: plain values out of TOML. There is no code for any one role: what Init and Execute are stands in
`init_execute.toml` and the prompts beside it, and a pair of your own is such a file.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from importlib.resources import files as package_files
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from holdfast.errors import ConfigError, InputError
from holdfast.messages import Json
from holdfast.pair.folder import RESULTS, Outputs, path_fault
from holdfast.pair.handover import Handover, Layer
from holdfast.pair.stop_rules import StopRules, contradictions

BUILT_IN = "init_execute.toml"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_FIELDS = tuple(field.name for field in msgspec.structs.fields(Handover))
_PLACE = re.compile(r" - at (?:`key` in )?`\$\.?(.*)`$")
MOST_TOKENS = 100_000_000
TWO = "write two tables `[[roles]]`"
LISTED = "docs/pair.md lists what a pair has"

Definitions = Literal["full", "short"]
"""How tools are defined to a model: in full, or in few words with lean schemas."""


class HandoverForm(Struct, frozen=True, forbid_unknown_fields=True):
    """What a role hands over: the tag that it stands in, what may not be missing, and how long it may be."""

    name: str
    requires: tuple[str, ...] = ()
    least_tokens: Annotated[int, Meta(ge=0, le=MOST_TOKENS)] = 200
    most_tokens: Annotated[int, Meta(ge=1, le=MOST_TOKENS)] = 5_000


class Role(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One agent. `layers` are the kinds of problems that are its own; one that `measures` evaluates, and what it
    says of success is compared with the results on the disk."""

    name: str
    prompt: str
    tools: tuple[str, ...]
    profile: str
    model: str = ""
    window: Annotated[int, Meta(ge=0, le=MOST_TOKENS)] = 0
    """Tokens in place of the profile's window."""
    definitions: Definitions = "full"
    layers: tuple[Layer, ...] = ()
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


def built_in_pair() -> Pair:
    """Init and Execute."""
    folder = package_files(__package__)
    text = (folder / BUILT_IN).read_text("utf-8")
    return parse_pair(text, BUILT_IN, lambda name: (folder / name).read_text("utf-8"))


def load_pair(path: Path) -> Pair:
    """A pair of a user's own. Prompts that name a file are read from beside it."""
    return _loaded(path, _text_of(path))


def load_stop_table(path: Path) -> dict[str, Any]:
    """Of a pair's file what stands in `[stop]`, and nothing that does not."""
    text = _text_of(path)
    stop = _loaded(path, text).stop
    return {name: getattr(stop, name) for name in tomllib.loads(text).get("stop", {})}


def _text_of(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        raise InputError(
            f"the pair {path} cannot be read: {_why(error)}", hint="`--pair` names a TOML file"
        ) from None


def _loaded(path: Path, text: str) -> Pair:
    def beside(name: str) -> str:
        try:
            return (path.parent / name).read_text("utf-8-sig")
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"{path}: the prompt `{name}` cannot be read: {_why(error)}",
                hint="`prompt_file` names a text beside the pair; `prompt` is the text itself",
            ) from None

    return parse_pair(text, str(path), beside)


def parse_pair(text: str, where: str, read: Callable[[str], str]) -> Pair:
    """A pair out of TOML; `prompt_file` of a role is read by `read`."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where} is no valid TOML: {error}", hint="docs/pair.md has one to copy") from None
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
            raise ConfigError(f"{where}: a role has both `prompt` and `prompt_file`", hint="leave one away")
        if file:
            role["prompt"] = read(file)
    return validate_pair(table, where)


def validate_pair(table: Json, where: str) -> Pair:
    """A pair whose parts fit together."""
    try:
        pair = msgspec.convert(table, Pair)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {_sentence(str(error))}", hint=LISTED) from None
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


def _wrong(pair: Pair) -> Iterator[tuple[str, str]]:
    """What is wrong with a pair, each with what to do about it."""
    names = [role.name for role in pair.roles]
    for name in (*names, *(role.handover.name for role in pair.roles)):
        if not _NAME.fullmatch(name):
            yield f"`{name}` cannot be a name here", "use small letters, digits and `_`, a letter first"
    if len(set(names)) < 2:
        yield f"both roles are called `{names[0]}`", "give each a name of its own"
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
            "give the second role `measures = true`, or leave `success` away",
        )
    if form.least_tokens >= form.most_tokens:
        yield f"the handover of `{role.name}` has no size that is allowed", "raise `most_tokens`"


def _wrong_names(pair: Pair) -> Iterator[tuple[str, str]]:
    """Files and folders that would be missed only when the work is half done."""
    outputs = pair.outputs
    named = [("task", pair.task), ("outputs.folder", outputs.folder), ("outputs.report", outputs.report)]
    for key, path in (*named, *(("outputs.parts", part) for part in outputs.parts)):
        if wrong := path_fault(path):
            yield f"`{key}`: {wrong}", "name it from the folder that both work in"
    if outputs.report in outputs.parts:
        yield f"`outputs.report` and a folder are both called `{outputs.report}`", "give it another name"
    if any(role.measures for role in pair.roles) and RESULTS not in outputs.parts:
        yield f"`outputs.parts` has no `{RESULTS}`, which results are read from", f"add `{RESULTS}`"


def _sentence(message: str) -> str:
    """msgspec's words about a value, the place of it first."""
    place = _PLACE.search(message)
    if place is None or not place[1]:
        return message[:1].lower() + message[1:]
    said = message[: place.start()]
    return f"`{place[1]}`: {said[:1].lower()}{said[1:]}"


def _why(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else "") or str(error)
