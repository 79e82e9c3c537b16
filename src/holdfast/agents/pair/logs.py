"""The three logs of a pair: its own and one for each role, whose id is the pair's id with the role's name.

Rule: the pair and its task are in the first entry of its log, so that three files are all that another machine
needs. No role works without its own history: a log that is missing, or older than the others, is an error.
"""

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.agents.options import AgentOptions
from holdfast.agents.pair.journal import PairJournal
from holdfast.agents.pair.role_session import HAND_OVER_TOOL
from holdfast.agents.resolved_config import ResolvedConfig
from holdfast.agents.sessions import LONGEST_TITLE
from holdfast.agents.spending import measure_spending
from holdfast.errors import InputError, NotFound, StoreError
from holdfast.events import LogStarted, ToolReturned, UserSaid
from holdfast.log import Log
from holdfast.messages import Json
from holdfast.models.catalogue import load_catalogue, model_lookup
from holdfast.pair.folder import PairFolder
from holdfast.pair.handover import Handover
from holdfast.pair.phases import HandedOver, TurnBegan, phase_event, read_phase
from holdfast.pair.roles import Pair, Role, validate_pair
from holdfast.store import Store
from holdfast.store.event_redaction import Redactor, redact_event
from holdfast.store_places import Place, files_beside
from holdfast.views import path

PAIR_SOURCE = "holdfast pair"
AGENT_SOURCE = "holdfast pair agent"
"""The source of a role's log, which is never resumed by itself."""
LONGEST_TASK = 100_000


class PairLog(Struct, frozen=True):
    """A pair with its log."""

    log: Log
    pair: Pair
    task: str
    models: tuple[str, str] = ("", "")
    """As they were named at the beginning."""


def begin_pair(root: Path, pair: Pair, task: str, models: tuple[str, str], store: Store) -> PairLog:
    """A new log with everything that the pair is begun with. A folder in which another pair works or worked is
    refused: its results would count as this pair's."""
    task = _fitting(task.strip(), "`-p`", f"write it to `{pair.task}`") or _task_in(root, pair)
    _lock_folder(root)()
    if left := PairFolder(root, pair.outputs).iterations():
        raise InputError(
            f"`{left[0]}` exists already, from another pair",
            hint=f"`--continue` resumes that pair; to start a new one, move `{pair.outputs.folder}` away",
        )
    meta: dict[str, Json] = {
        "root": os.path.realpath(root),
        "pair": msgspec.to_builtins(pair),
        "task": task,
        "models": list(models),
    }
    title = " ".join(task.split())[:LONGEST_TITLE]
    log = Log.create(store, title=title, source=PAIR_SOURCE, meta=meta)
    return PairLog(log, pair, task, models)


def _task_in(root: Path, pair: Pair) -> str:
    path = root / pair.task
    hint = f"write it to `{pair.task}`, or pass `-p TEXT`"
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise InputError(f"there is no task: `{path}` does not exist", hint=hint) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the task `{path}` cannot be read: {error}", hint=hint) from None
    if not text.strip():
        raise InputError(f"the task `{path}` is empty", hint=hint)
    return _fitting(text.strip(), f"`{path}`", "move long parts into files of the folder, and name them")


def _fitting(task: str, where: str, hint: str) -> str:
    if len(task) > LONGEST_TASK:
        sentence = f"the task of {where} is too long: {len(task)} characters, and {LONGEST_TASK} are allowed"
        raise InputError(sentence, hint=hint)
    return task


def find_pair(options: AgentOptions, store: Store) -> PairLog:
    """The log to resume, and what it was begun with."""
    root = os.path.realpath(options.root)
    if options.log:
        log = Log.open(store, options.log)
    else:
        infos = (info for info in store.logs() if info.head.source == PAIR_SOURCE)
        newest = sorted(infos, key=lambda info: (info.last_at or 0.0, info.head.id), reverse=True)
        logs = (Log.open(store, info.head.id) for info in newest)
        mine = next((one for one in logs if _meta(one).get("root") == root), None)
        if mine is None:
            elsewhere = "; `--log ID` resumes one from elsewhere" if newest else ""
            raise NotFound(
                f"there is no pair in `{root}` to resume",
                hint=f"leave out `--continue` to start a new one{elsewhere}",
            )
        log = mine
    meta = _meta(log)
    if "pair" not in meta:
        raise NotFound(f"the log `{log.id}` does not belong to a pair", hint="`holdfast logs` lists all logs")
    first, second = meta.get("models", ("", ""))
    pair = validate_pair(meta["pair"], f"the log `{log.id}`")
    return PairLog(log, pair, str(meta.get("task", "")), (first, second))


def _meta(log: Log) -> dict[str, Json]:
    started = log.entries()[0].event
    return started.meta if isinstance(started, LogStarted) else {}


def lock_pair(place: Place, log: Log, root: Path) -> Callable[[], None]:
    """Keep other processes on this machine from resuming the same pair, and from running another pair in its
    folder. The lock ends with the process, or when the returned function is called."""
    with ExitStack() as held:
        held.callback(_lock_log(place, log))
        held.callback(_lock_folder(root))
        return held.pop_all().close


def _lock_log(place: Place, log: Log) -> Callable[[], None]:
    file = files_beside(place)
    folder = file.with_name(f"{file.name}.pairs")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / f"{log.id}.lock").open("w")
    except OSError as error:
        raise StoreError(f"{folder} cannot be written: {error.strerror}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise InputError(
            f"another process works on the pair `{log.id}`", hint="wait for it or stop it, then try again"
        ) from None
    return lock.close


def _lock_folder(root: Path) -> Callable[[], None]:
    """Lock the folder itself, so that it works with any store; nothing is written to it."""
    try:
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        # The pair was begun on another machine, or the folder may not be listed.
        return lambda: None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise InputError(
            f"another pair works in `{root}`", hint="wait for it, stop it, or choose another folder"
        ) from None
    except OSError:
        # This file system cannot lock folders; the log of the pair is still locked.
        pass
    return lambda: os.close(descriptor)


def redacted_names(handover: Handover) -> Iterator[str]:
    """Faults of names in a handover that look like secrets: redacted in the log, they would lead nowhere."""
    event = redact_event(phase_event(HandedOver(0, "", 0, handover)), Redactor.chosen(None, None))
    phase = read_phase(event)
    assert isinstance(phase, HandedOver), "a phase is read as it was written"
    named, kept = _names_in(handover), _names_in(phase.handover)
    for name, other in zip(named, kept, strict=True):
        if name != other:
            yield f"`{other}` has something in its name that looks like a secret, which no log keeps: rename it"


def _names_in(handover: Handover) -> list[str]:
    samples = (sample for problem in handover.problems for sample in problem.samples)
    return [*(note.path for note in handover.files), *handover.design, *samples]


def begin_agent_log(store: Store, log: Log, role: Role, config: ResolvedConfig) -> None:
    id_ = f"{log.id}.{role.name}"
    if not _is_there(store, id_):
        meta: dict[str, Json] = {"parent": log.id, "role": role.name, "root": str(config.root)}
        meta["model"] = config.model.name
        title, redact = f"{role.name} of {log.id}", None if config.profile.redact else str
        Log.create(store, id=id_, title=title, source=AGENT_SOURCE, meta=meta, redact=redact)


def check_consistency(journal: PairJournal, store: Store) -> None:
    """Raises `NotFound` if a role's log lacks turns or handovers that the pair's log has, or the other way
    round."""
    state = journal.state

    def missing(id_: str, why: str) -> NotFound:
        hint = f"export it where the pair worked with `holdfast logs export {id_}`, then import it here"
        return NotFound(why, hint=hint)

    for role in journal.pair.roles:
        id_ = f"{journal.log.id}.{role.name}"
        # The newest turn may be in the pair's log and not yet in the role's.
        is_new = isinstance(state.at, TurnBegan) and state.at.role == role.name
        most = state.turns.get(role.name, 0)
        least = most - is_new
        if not _is_there(store, id_):
            raise missing(id_, f"the log `{id_}` of `{role.name}` is not in this store")
        made = _made(store, id_)
        if len(made) < least:
            raise missing(id_, f"the log `{id_}` of `{role.name}` has {len(made)} of {least} turns")
        if len(made) > most:
            turns = f"{most} of {len(made)} turns of `{role.name}`"
            raise missing(journal.log.id, f"the log `{journal.log.id}` of the pair has {turns}")
        if lost := next((turn for turn in _handed(journal, role.name) if not made[turn - 1]), 0):
            what = f"has no handover of turn {lost}, which the pair's log has"
            raise missing(id_, f"the log `{id_}` of `{role.name}` {what}")


def pair_spending(store: Store, log: Log, configs: Mapping[str, ResolvedConfig]) -> Callable[[], float]:
    """Dollars of both roles in all runs, each request at the price of the model that answered it."""
    names = [(config.model.name, config.entry) for config in configs.values()]
    lookups = {name: model_lookup(load_catalogue(config.config), names) for name, config in configs.items()}

    def spent() -> float:
        total = 0.0
        for name, config in configs.items():
            lookup = lookups[name]
            entries = Log.open(store, f"{log.id}.{name}").entries()
            # An unknown name is most likely another name of the model that is asked.
            total += measure_spending(entries, lambda model: lookup(model) or config.entry).total.dollars  # noqa: B023
        return total

    return spent


def _is_there(store: Store, id_: str) -> bool:
    try:
        store.info(id_)
    except NotFound:
        return False
    return True


def _made(store: Store, id_: str) -> list[bool]:
    """For each turn in a role's log, whether it ended with a handover."""
    turns: list[bool] = []
    for entry in path(Log.open(store, id_).entries()):
        match entry.event:
            case UserSaid(origin=origin) if origin != "reminder":
                turns.append(False)
            case ToolReturned(name=name, error=False) if name == HAND_OVER_TOOL and turns:
                turns[-1] = True
    return turns


def _handed(journal: PairJournal, role: str) -> Iterator[int]:
    """The turns of a role, counted from 1, that ended with a handover by the pair's log."""
    turn = 0
    for phase in journal.phases:
        if isinstance(phase, TurnBegan | HandedOver) and phase.role == role:
            turn += isinstance(phase, TurnBegan)
            if isinstance(phase, HandedOver):
                yield turn
