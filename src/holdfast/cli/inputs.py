"""What a command reads: a recording, which is a file or a log in the store; the store; and the window after it.

Rule: a file is read whole before a store is touched, and only a command that stores something creates a store. The
same options give the same window in every command.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import click
from msgspec import Struct

from holdfast.cli.options import as_source, complete_with, format_option, profile_option
from holdfast.cli.store_place import store_place
from holdfast.cli.streams import note, show_activity, track, warn
from holdfast.config import load_config, resolve_profile
from holdfast.errors import InputError, NotFound
from holdfast.events import UNREAD, AssistantReplied, Entry, Folded, Noted, ToolReturned, UserSaid
from holdfast.log import Log, Redact
from holdfast.messages import AssistantMessage, Message, ToolMessage, UserMessage
from holdfast.packing.amounts import parse_tokens
from holdfast.packing.counting.families import family_for_model, recorded_model
from holdfast.packing.log_walk import walk_log
from holdfast.packing.profile import Profile
from holdfast.packing.window import Window
from holdfast.recordings import find_recording
from holdfast.store import MemoryStore, Store, open_store
from holdfast.store_places import may_exist
from holdfast.tokenizers import counter_for_model
from holdfast.views import Transcript, path

LARGE_FILE = 1 << 20
"""Bytes of a file that takes long enough to read to be worth a bar."""
MANY_ENTRIES = 1_000
"""Entries that take long enough to pack to be worth a bar."""
SMALLEST_BUDGET = 512
"""Tokens below which a budget holds no work at all, and is most likely a forgotten `k`."""


class RecordingInput(Struct, frozen=True):
    """The options of a command that reads one recording. The last three choose the window, where there is one."""

    recording: str
    id: str | None = None
    format: str | None = None
    chain: str = ""
    step: int | None = None
    budget: str | None = None
    profile: str = ""

    @property
    def file(self) -> Path | None:
        """The file, if there is one; else the name may be that of a log."""
        # Path.exists raises for a name that is too long to be one.
        return Path(self.recording) if os.path.exists(self.recording) else None  # noqa: PTH110


class RecordingWindow(Struct, frozen=True):
    """A recording after it was walked through under a profile. `notes` say what the import repaired or lost."""

    log: Log
    notes: list[str]
    profile: Profile
    model: str
    window: Window
    folds: list[Folded]


def reads_recording(*, windowed: str = "") -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The options that choose a recording, given to the command as `source`.

    With `windowed` also those that choose its window: `--at`, `--budget` and `--profile`. The text is the end of
    their help, such as `with --ledger`, or `.` where there is nothing to add.
    """
    window = (
        click.option(
            "--at",
            "step",
            metavar="STEP",
            type=click.IntRange(min=1),
            help=f"Stop before the reply of this step{windowed}",
        ),
        click.option(
            "--budget",
            metavar="TOKENS",
            help=f"Set the window, such as 32k (default: the profile's){windowed}",
        ),
        profile_option,
    )
    return as_source(
        RecordingInput,
        click.argument("recording", metavar="RECORDING", shell_complete=complete_with("recordings")),
        click.option(
            "--id", metavar="ID", help="Choose a recording of the file: its id, or the start or end of it."
        ),
        format_option("Read the file in this format (default: detect it)."),
        click.option(
            "--chain", metavar="NAME", default="", help="Take a side chain instead of the main one."
        ),
        *(window if windowed else ()),
    )


def writable_store(ctx: click.Context) -> Store:
    """The store, created if there is none, closed when the command ends."""
    store: Store = ctx.with_resource(open_store(store_place(ctx)))
    return store


def readable_store(ctx: click.Context) -> Store:
    """The store, or an empty one where there is none: reading creates no file."""
    place = store_place(ctx)
    if not may_exist(place):
        note(f"there is no store at `{place}` yet")
        return MemoryStore()
    return writable_store(ctx)


def open_log(
    ctx: click.Context, source: RecordingInput, *, keep: bool = False, redact: Redact | None = str
) -> Log:
    """The log that a command names. A file is imported into the store to `keep` it, else into memory.

    What is only held in memory is not redacted unless asked: it never reaches a disk.
    """
    if source.file is None:
        return stored_log(ctx, source)
    large = source.file.stat().st_size > LARGE_FILE
    with show_activity(f"reading {source.file.name}", shown=large):
        recording = find_recording(source.file, source.id, source.format)
    store = writable_store(ctx) if keep else MemoryStore()
    with show_activity(f"{'storing' if keep else 'reading'} {recording.id}", shown=large):
        return Log.import_recording(store, recording, redact=redact)


def stored_log(ctx: click.Context, source: RecordingInput) -> Log:
    """The log of this id in the store. Raises InputError where there is none."""
    unknown = InputError(
        f"`{source.recording}` is neither a file nor the id of a log",
        hint="check the path; `holdfast logs` lists the logs in the store",
    )
    if Path(source.recording).name != source.recording:
        raise unknown
    store = readable_store(ctx)
    try:
        store.resolve(source.recording)
    except NotFound:
        raise unknown from None
    if source.id or source.format:
        raise InputError(
            f"`{source.recording}` is a log in the store, but `--id` and `--from` apply to files",
            hint="leave them out",
        )
    return Log.open(store, source.recording)


def chain_path(entries: Sequence[Entry], chain: str) -> list[Entry]:
    """The path of a chain. NotFound names the chains there are."""
    found = path(entries, chain=chain)
    if not found:
        there = ", ".join(f"`{name}`" for name in chain_names(entries)[:5])
        raise NotFound(
            f"there is no side chain `{chain}`",
            hint=f"side chains of this recording: {there}" if there else "this recording has no side chains",
        )
    return found


def chain_names(entries: Sequence[Entry]) -> list[str]:
    """Side chains in the order in which they began."""
    return list(dict.fromkeys(entry.chain for entry in entries if entry.chain))


def entry_messages(entry: Entry) -> list[Message]:
    """The message that an entry holds, unrepaired; none for other events."""
    event = entry.event
    match event:
        case UserSaid():
            return [UserMessage(event.parts)]
        case AssistantReplied():
            return [AssistantMessage(event.parts)]
        case ToolReturned():
            return [ToolMessage(event.call_id, event.name, event.parts, event.error)]
    return []


def note_import(notes: Iterable[str]) -> None:
    """Say what was repaired or lost when the recording was imported."""
    for sentence in notes:
        note(f"import: {sentence}")


def import_notes(entries: Sequence[Entry]) -> list[str]:
    return [e.event.text for e in entries if isinstance(e.event, Noted) and e.event.kind == UNREAD]


def parse_budget(text: str) -> int:
    """A budget in tokens. One that is too small to hold anything is refused."""
    tokens = parse_tokens(text.strip())
    if tokens < SMALLEST_BUDGET:
        meant = f"did you mean `{tokens}k`? " if tokens else ""
        raise InputError(
            f"a budget of {tokens} tokens is too small",
            hint=f"{meant}the smallest budget is {SMALLEST_BUDGET} tokens",
        )
    return tokens


def parse_budgets(listed: str, example: str) -> tuple[int, ...]:
    """Budgets in a list with commas, smallest first."""
    budgets = tuple(sorted({parse_budget(part) for part in listed.split(",") if part.strip()}))
    if not budgets:
        raise InputError("`--budget` names no budget", hint=f"write it like `--budget {example}`")
    return budgets


def load_profile(name: str, budget: str | None = None) -> Profile:
    """The profile as configuration and environment set it, scaled to the budget if one is given."""
    env = os.environ
    loaded = resolve_profile(load_config(cwd=Path.cwd(), env=env), env, name)
    for warning in loaded.warnings:
        warn(warning)
    return loaded.profile if budget is None else loaded.profile.scaled_to(parse_budget(budget))


def walk_recording(
    ctx: click.Context, source: RecordingInput, model: str | None = None, *, keep: bool = False
) -> RecordingWindow:
    """Walk through a recording as it happened, up to `--at`. Tokens are counted as `model` or the recorded one."""
    profile = load_profile(source.profile, source.budget)
    log = open_log(ctx, source, keep=keep, redact=None if profile.redact else str)
    entries = log.entries()
    on_path = chain_path(entries, source.chain)
    model = model if model is not None else recorded_model(on_path)
    walked = entries_before_step(on_path, source.step)
    with track(walked, "packing", total=len(walked), shown=len(walked) > MANY_ENTRIES) as steps:
        window, folds = walk_log(profile, counter_for_model(model), steps)
    return RecordingWindow(log, import_notes(entries), profile, model, window, folds)


def entries_before_step(entries: Sequence[Entry], step: int | None) -> Sequence[Entry]:
    """The entries before the reply of a step; the number after the last step means all of them."""
    if step is None:
        return entries
    steps = Transcript(entries).steps
    if step == len(steps) + 1:
        return entries
    if step > len(steps):
        raise InputError(
            f"`--at {step}` is after the last step, which is {len(steps)}",
            hint="`holdfast show` lists the rounds with their steps",
        )
    reply = steps[step - 1].entry
    return entries[: next(at for at, entry in enumerate(entries) if entry.id == reply)]


def how_counted(model: str) -> str:
    """The vocabulary that was counted in, and how far an estimate may be off."""
    family = family_for_model(model)
    if not model:
        return f"counted in {family.vocabulary}, because the recording names no model"
    if family.exact:
        return f"counted as {family.name} ({model}), in its own vocabulary"
    bound = f"within {family.bound.largest / 10:.0f}% for 19 texts of 20"
    return f"counted as {family.name} ({model}), an estimate: {bound}"
