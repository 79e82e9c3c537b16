"""The logs of a pair: one of whoever brings the two together, and one of each agent, named after it.

Rule: what a pair is, and its task, stand in the first entry of its log. Which agent's log belongs to it is in the
name, so that three files are all that another machine needs.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.agents.coding.setup import Ground
from holdfast.agents.coding.talks import LONGEST_TITLE
from holdfast.agents.coding.wish import Wish
from holdfast.errors import InputError, NotFound, StoreError
from holdfast.events import LogStarted
from holdfast.log import Log
from holdfast.messages import Json
from holdfast.pair.handover import Handover
from holdfast.pair.layout import Layout
from holdfast.pair.phases import HandedOver, noted, phase_in
from holdfast.pair.roles import Pair, Role, checked
from holdfast.store import Store
from holdfast.store.cleaning import Redaction, cleaned

SOURCE = "holdfast pair"
AGENT_SOURCE = "holdfast pair agent"
"""Of the log of one of the two, which nobody goes on with by itself."""
LONGEST_TASK = 100_000


class Begun(Struct, frozen=True):
    """A pair that has a log."""

    log: Log
    pair: Pair
    task: str
    models: tuple[str, str] = ("", "")
    """As they were named when it was begun."""


def begin(root: Path, pair: Pair, task: str, models: tuple[str, str], store: Store) -> Begun:
    """A new log, which holds all that the pair is begun with. A folder in which another pair works, or worked, is
    refused: what that one measured would count as this one's."""
    task = _fitting(task.strip(), "`-p`", f"write it to `{pair.task}`") or _task_in(root, pair)
    _held(root)()
    if left := Layout(root, pair.outputs).iterations():
        raise InputError(
            f"`{left[0]}` is there already, from another pair",
            hint=f"`--continue` goes on with that pair; to begin anew move `{pair.outputs.folder}` away",
        )
    meta: dict[str, Json] = {
        "root": os.path.realpath(root),
        "pair": msgspec.to_builtins(pair),
        "task": task,
        "models": list(models),
    }
    title = " ".join(task.split())[:LONGEST_TITLE]
    log = Log.create(store, title=title, source=SOURCE, meta=meta)
    return Begun(log, pair, task, models)


def _task_in(root: Path, pair: Pair) -> str:
    path = root / pair.task
    hint = f"write it to `{pair.task}`, or give `-p TEXT`"
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise InputError(f"there is no task: `{path}` does not exist", hint=hint) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the task `{path}` cannot be read: {error}", hint=hint) from None
    if not text.strip():
        raise InputError(f"the task `{path}` is empty", hint=hint)
    return _fitting(text.strip(), f"`{path}`", "put what is long into files of the folder, and name them")


def _fitting(task: str, where: str, hint: str) -> str:
    if len(task) > LONGEST_TASK:
        sentence = f"the task of {where} is too long: {len(task)} characters, and {LONGEST_TASK} are allowed"
        raise InputError(sentence, hint=hint)
    return task


def found(wish: Wish, store: Store) -> Begun:
    """The log to go on with, and what it was begun with."""
    root = os.path.realpath(wish.root)
    if wish.log:
        log = Log.open(store, wish.log)
        if not isinstance(meta := _meta(log), dict) or "pair" not in meta:
            raise NotFound(f"the log `{log.id}` is of no pair", hint="`holdfast logs` lists what there is")
    else:
        infos = (info for info in store.logs() if info.head.source == SOURCE)
        newest = sorted(infos, key=lambda info: (info.last_at or 0.0, info.head.id), reverse=True)
        logs = (Log.open(store, info.head.id) for info in newest)
        mine = next((one for one in logs if _meta(one).get("root") == root), None)
        if mine is None:
            elsewhere = "; `--log ID` goes on with one that came from elsewhere" if newest else ""
            raise NotFound(
                f"there is no pair in `{root}` to go on with",
                hint=f"without `--continue` a new one begins{elsewhere}",
            )
        log, meta = mine, _meta(mine)
    first, second = meta.get("models", ("", ""))
    pair = checked(meta["pair"], f"the log `{log.id}`")
    return Begun(log, pair, str(meta.get("task", "")), (first, second))


def _meta(log: Log) -> dict[str, Json]:
    started = log.entries()[0].event
    return started.meta if isinstance(started, LogStarted) else {}


def hold(place: Path, log: Log, root: Path | None = None) -> Callable[[], None]:
    """Keep other processes of this machine from going on with the same pair, and from working with another one in
    its folder, until what is given back is called or the process ends, however it does. Without a `root` the folder
    is the one that the pair was begun in."""
    where = root or Path(str(_meta(log).get("root", "")))
    with ExitStack() as held:
        held.callback(_held_log(place, log))
        held.callback(_held(where))
        return held.pop_all().close


def _held_log(place: Path, log: Log) -> Callable[[], None]:
    folder = place.with_name(f"{place.name}.pairs")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / f"{log.id}.lock").open("w")
    except OSError as error:
        raise StoreError(f"{folder} cannot be written: {error.strerror}") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise InputError(
            f"another process works on the pair `{log.id}`", hint="wait for it, or end it, then go on"
        ) from None
    return file.close


def _held(root: Path) -> Callable[[], None]:
    """The folder itself, whatever store a pair is kept in; nothing is written to it."""
    try:
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        # Begun on another machine, in a folder that this one has not; or one that may not be listed.
        return lambda: None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise InputError(
            f"another pair works in `{root}`", hint="wait for it, or end it; or choose another folder"
        ) from None
    except OSError:
        # A file system that locks no folders: the pair's log is still held.
        pass
    return lambda: os.close(descriptor)


def unkept(handover: Handover) -> Iterator[str]:
    """Names in a handover that the pair's log would not keep, because they look like secrets: redacted there they
    would lead nowhere."""
    event = cleaned(noted(HandedOver(0, "", 0, handover)), Redaction.chosen(None, None))
    phase = phase_in(event)
    assert isinstance(phase, HandedOver), "a phase is read as it was written"
    named, kept = _names_in(handover), _names_in(phase.handover)
    for name, other in zip(named, kept, strict=True):
        if name != other:
            yield f"`{other}` has something in its name that looks like a secret, which no log keeps: rename it"


def _names_in(handover: Handover) -> list[str]:
    samples = (sample for problem in handover.problems for sample in problem.samples)
    return [*(note.path for note in handover.files), *handover.design, *samples]


def begin_agent_log(store: Store, log: Log, role: Role, ground: Ground) -> None:
    id_ = f"{log.id}.{role.name}"
    try:
        store.info(id_)
    except NotFound:
        meta: dict[str, Json] = {"parent": log.id, "role": role.name, "root": str(ground.root)}
        meta["model"] = ground.model.name
        redact = None if ground.profile.redact else str
        Log.create(
            store, id=id_, title=f"{role.name} of {log.id}", source=AGENT_SOURCE, meta=meta, redact=redact
        )
