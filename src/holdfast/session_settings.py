"""What a session and a packed list are made with: profile, weights, format, tools; and what a log keeps of these.

Rule: whatever a user gives is checked here, and refused in one sentence.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import get_args

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from holdfast.errors import InputError, NotFound
from holdfast.events import LogStarted
from holdfast.log import Log
from holdfast.messages import Json, ToolDefinition
from holdfast.packing.amounts import parse_tokens
from holdfast.packing.lines.weights import HINT, Weights, read_weights
from holdfast.packing.profile import BUILT_IN, Profile
from holdfast.recall import RECALL_TOOL
from holdfast.sender import Packed, Provider
from holdfast.store import MemoryStore, Store, open_store
from holdfast.store_places import parse_place
from holdfast.wire.content_blocks import tool_definitions
from holdfast.wire.foreign_json import Losses

SESSION = "session"
"""The key in a log's meta under which a session keeps its settings."""


class SessionSettings(Struct, frozen=True):
    """What a session was made with, as its log keeps it."""

    profile: Profile
    model: str = ""
    to: Provider | None = None


def kept_settings(settings: SessionSettings) -> dict[str, Json]:
    """Settings as a log keeps them: of the profile what differs from the default."""
    plain = Profile(name=settings.profile.name)
    changed = {
        name: value for name, value in asdict(settings.profile).items() if value != getattr(plain, name)
    }
    kept = SessionSettings(plain, settings.model, settings.to)
    return {**msgspec.to_builtins(kept), "profile": {"name": plain.name, **msgspec.to_builtins(changed)}}


def session_settings(store: Store, log: str) -> SessionSettings:
    """The settings of the session that wrote a log; the defaults where the log does not tell."""
    entries = Log.open(store, log).entries()
    started = entries[0].event if entries else None
    kept = started.meta.get(SESSION) if isinstance(started, LogStarted) else None
    fields: dict[str, Json] = kept if isinstance(kept, dict) else {}
    # One by one: another version may have had other settings, and the log itself is as good as before.
    try:
        profile = msgspec.convert(fields.get("profile"), Profile)
    except (msgspec.ValidationError, InputError):
        profile = BUILT_IN["code"]
    model = fields.get("model")
    return SessionSettings(profile, model if isinstance(model, str) else "", known_format(fields.get("to")))


def known_format(name: Json) -> Provider | None:
    return next((provider for provider in get_args(Provider) if provider == name), None)


def read_tools(offered: Sequence[Json]) -> tuple[ToolDefinition, ...]:
    """Tools of any provider's shape. Raises InputError for what is none, and for a name that is taken."""
    definitions: list[ToolDefinition] = []
    for at, tool in enumerate(offered):
        if isinstance(tool, ToolDefinition):
            definitions.append(tool)
        elif isinstance(tool, dict):
            definitions += tool_definitions([tool], Losses())
        else:
            raise InputError(
                f"tool {at} is of type `{type(tool).__name__}`, not a definition",
                hint='a tool is a dict, such as {"type": "function", "function": {"name": …, "parameters": …}}',
            )
    check_tool_names(definitions)
    return tuple(definitions)


def newest_log(store: Store) -> str:
    """The log that was written to last, imported recordings apart. Raises NotFound where there is none."""
    live = [info for info in store.logs() if info.head.origin == "live"]
    if not live:
        raise NotFound("the store has no session to resume", hint="begin one with `Session(store=…)`")
    return max(live, key=lambda info: info.last_at or 0.0).head.id


def chosen_store(store: Store | Path | str | None) -> Store:
    """The store in a file or at a URL, or as it is given; one in memory for None."""
    if store is None:
        return MemoryStore()
    if isinstance(store, Path | str):
        return open_store(parse_place(store))
    if not hasattr(store, "logs"):
        raise InputError(
            f"the store is of type `{type(store).__name__}`",
            hint='pass the name of a file, such as `"agent.db"`, or a URL of PostgreSQL',
        )
    return store


def check_texts(**given: object) -> None:
    """Raises InputError for the first that is neither a text nor None."""
    for name, value in given.items():
        if not isinstance(value, str | None):
            raise InputError(f"`{name}` is of type `{type(value).__name__}`", hint="pass a `str`")


def choose_profile(profile: str | Profile, budget: int | str | None) -> Profile:
    """A profile by name or value, scaled to a budget such as 32000 or "32k"."""
    if isinstance(profile, str):
        if profile not in BUILT_IN:
            raise InputError(
                f"there is no profile `{profile}`", hint=f"built in: {', '.join(sorted(BUILT_IN))}"
            )
        profile = BUILT_IN[profile]
    if not isinstance(profile, Profile):
        raise InputError(
            f"the profile is of type `{type(profile).__name__}`", hint="pass its name, or a `Profile`"
        )
    return profile if budget is None else profile.scaled_to(parse_tokens(budget))


def choose_weights(weights: Weights | Path | str | None) -> Weights | None:
    """Weights as they are, or out of a file; None for those of the profile."""
    if weights is None or isinstance(weights, Weights):
        return weights
    if not isinstance(weights, Path | str):
        raise InputError(f"the weights are of type `{type(weights).__name__}`", hint=HINT)
    file = Path(weights).expanduser()
    try:
        return read_weights(file.read_bytes(), str(file))
    except OSError as error:
        raise InputError(f"the weights {file} cannot be read: {error.strerror}", hint=HINT) from None


def check_provider(name: str) -> Provider:
    found: Provider | None = next((p for p in get_args(Provider) if p == name), None)
    if found is None:
        known = ", ".join(f"`{p}`" for p in get_args(Provider))
        raise InputError(f"messages cannot be written for `{name}`", hint=f"`to` is one of {known}")
    return found


def check_tool_names(tools: Sequence[ToolDefinition]) -> None:
    if any(tool.name == RECALL_TOOL.name for tool in tools):
        raise InputError(
            f"the tool name `{RECALL_TOOL.name}` is taken: every pack brings a tool of that name",
            hint="rename your tool; if it is the one that came with a pack, leave it out",
        )


def check_messages(packed: Packed) -> Packed:
    """The pack, if anything was said. Raises InputError where nothing was."""
    if not packed.messages:
        raise InputError(
            f"there is nothing to pack: {packed.losses[0] if packed.losses else 'no message says anything'}",
            hint='start with a message such as {"role": "user", "content": "Fix the parser."}',
        )
    return packed


def choose_redaction(profile: Profile) -> Callable[[str], str] | None:
    """What a log uses on every string: None for the default rules, the identity where a profile wants none."""
    return None if profile.redact else str
