"""What RECORDING names: a file, or a log of the store; and where that store is.

Rule: a file is read whole before a store is touched, and only a command that stores something makes a store.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import click
from msgspec import Struct

from holdfast.cli.options import STORE
from holdfast.cli.streams import note, show_activity, track, warn
from holdfast.config import load_config, resolve_profile
from holdfast.errors import InputError, NotFound
from holdfast.events import AssistantReplied, Entry, Folded, LogStarted, Noted
from holdfast.log import Log
from holdfast.packing.counting.families import family_for_model
from holdfast.packing.log_walk import walk_log
from holdfast.packing.profile import Profile, parse_tokens
from holdfast.packing.window import Window
from holdfast.recordings import find_recording
from holdfast.store import MemoryStore, SqliteStore, Store, default_path
from holdfast.tokenizers import counter_for_model
from holdfast.views import Transcript, path

Redact = Callable[[str], str]

LARGE = 1 << 20
"""Bytes of a file that takes long enough to read to be worth a bar."""


class RecordingChoice(Struct, frozen=True):
    """A recording as the command line names it."""

    recording: str
    id: str | None = None
    format: str | None = None
    chain: str = ""

    @property
    def file(self) -> Path | None:
        """The file, if there is one; else the name may be a log's."""
        # Path.exists raises for a name that is too long to be one.
        return Path(self.recording) if os.path.exists(self.recording) else None  # noqa: PTH110


def store_path(ctx: click.Context) -> Path:
    if STORE in ctx.meta:
        given: Path = ctx.meta[STORE]
        return given.expanduser()
    config = load_config(cwd=Path.cwd(), env=os.environ)
    return Path(config.store) if config.store else default_path(os.environ)


def writable_store(ctx: click.Context) -> Store:
    """The store, made if there is none, closed when the command ends."""
    store: Store = ctx.with_resource(SqliteStore(store_path(ctx)))
    return store


def readable_store(ctx: click.Context) -> Store:
    """The store, or an empty one where there is none: reading makes no file."""
    place = store_path(ctx)
    if not os.path.exists(place):  # noqa: PTH110
        note(f"there is no store at `{place}` yet")
        return MemoryStore()
    return writable_store(ctx)


def open_log(
    ctx: click.Context, choice: RecordingChoice, *, keep: bool = False, redact: Redact | None = str
) -> Log:
    """The log that a choice names. A file is imported: into the store if it shall be kept, else into memory.

    What is kept in memory only is not redacted unless asked: nothing of it reaches a disk.
    """
    if choice.file is None:
        return _stored_log(ctx, choice)
    large = choice.file.stat().st_size > LARGE
    with show_activity(f"reading {choice.file.name}", shown=large):
        recording = find_recording(choice.file, choice.id, choice.format)
    store = writable_store(ctx) if keep else MemoryStore()
    with show_activity(f"{'storing' if keep else 'reading'} {recording.id}", shown=large):
        return Log.import_recording(store, recording, redact=redact)


def _stored_log(ctx: click.Context, choice: RecordingChoice) -> Log:
    unknown = InputError(
        f"`{choice.recording}` is neither a file nor the id of a log",
        hint="check the path; `holdfast logs` lists the logs of the store",
    )
    if Path(choice.recording).name != choice.recording:
        raise unknown
    store = readable_store(ctx)
    try:
        store.resolve(choice.recording)
    except NotFound:
        raise unknown from None
    if choice.id or choice.format:
        raise InputError(
            f"`{choice.recording}` is no file, and `--id` and `--from` choose within files",
            hint="leave them out",
        )
    return Log.open(store, choice.recording)


def chain_path(entries: Sequence[Entry], chain: str) -> list[Entry]:
    """The path of a chain. NotFound names the chains there are."""
    found = path(entries, chain=chain)
    if not found:
        there = ", ".join(f"`{name}`" for name in chain_names(entries)[:5])
        raise NotFound(
            f"there is no side chain `{chain}`", hint=f"there are: {there}" if there else "there is none"
        )
    return found


def chain_names(entries: Sequence[Entry]) -> list[str]:
    """Side chains in the order in which they began."""
    return list(dict.fromkeys(entry.chain for entry in entries if entry.chain))


def recorded_model(entries: Sequence[Entry]) -> str:
    """The model that first replied, by a name whose family is known if there is one; "" if none is named."""
    names = [e.event.model for e in entries if isinstance(e.event, AssistantReplied) and e.event.model]
    started = entries[0].event if entries else None
    if isinstance(started, LogStarted) and isinstance(model := started.meta.get("model"), str):
        names.append(model)
    known = (name for name in names if family_for_model(name).name != "other")
    return next(known, names[0] if names else "")


def import_notes(entries: Sequence[Entry]) -> list[str]:
    """What was forgiven or lost when the recording was read."""
    return [e.event.text for e in entries if isinstance(e.event, Noted) and e.event.kind == "import"]


# Going through a recording under a profile and a budget, up to a step.
#
# Rule: the same options give the same window, whichever command asks.

MANY = 1_000
"""Entries that take long enough to pack to be worth a bar."""


def choose_profile(name: str, budget: str | None) -> Profile:
    """The profile as configuration and environment have it, at the budget that was asked for."""
    env = os.environ
    loaded = resolve_profile(load_config(cwd=Path.cwd(), env=env), env, name)
    for warning in loaded.warnings:
        warn(warning)
    return loaded.profile if budget is None else loaded.profile.scaled_to(parse_tokens(budget))


def entries_before_step(entries: Sequence[Entry], step: int | None) -> Sequence[Entry]:
    """The entries before the reply of a step; one more than there are steps means all of them."""
    if step is None:
        return entries
    steps = Transcript(entries).steps
    if step == len(steps) + 1:
        return entries
    if step > len(steps):
        raise InputError(
            f"`--at {step}` lies behind the last step, which is {len(steps)}",
            hint="`holdfast show` lists rounds with the numbers of their steps",
        )
    reply = steps[step - 1].entry
    return entries[: next(at for at, entry in enumerate(entries) if entry.id == reply)]


def build_window(entries: Sequence[Entry], settings: Profile, model: str) -> tuple[Window, list[Folded]]:
    """The window after all entries, and the folds made on the way."""
    with track(entries, "packing", total=len(entries), shown=len(entries) > MANY) as steps:
        return walk_log(settings, counter_for_model(model), steps)
