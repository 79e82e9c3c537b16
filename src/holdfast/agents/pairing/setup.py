"""From what a person wishes to a pair that is open: a new one, or one that is gone on with.

Rule: both agents are opened in the same way, and differ in what their roles say. What a pair is, and its task,
stand in its log, so that it can be gone on with without the files it was begun from.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.asking import Asking
from holdfast.agents.coding.setup import Ground, find_ground
from holdfast.agents.coding.wish import Wish
from holdfast.agents.headless import spent_in
from holdfast.agents.notices import Notice
from holdfast.agents.opening import Opening
from holdfast.agents.pairing.approval import Approvals, Auto
from holdfast.agents.pairing.desk import TOOLS, Faults, RoleDesk
from holdfast.agents.pairing.logs import Begun, begin, begin_agent_log, found, hold
from holdfast.agents.pairing.orchestrator import Orchestrator, Plan
from holdfast.config import load_config
from holdfast.errors import ConfigError, NotFound
from holdfast.log import Log
from holdfast.messages import Json
from holdfast.models.catalogue import load_catalogue
from holdfast.models.choosing import model_name, resolve_model
from holdfast.models.protocol import Model
from holdfast.packing.profile import BUILT_IN
from holdfast.pair.checking import faults
from holdfast.pair.handover import Handover
from holdfast.pair.layout import Layout
from holdfast.pair.phases import Phase
from holdfast.pair.roles import Pair, Role, check_tools
from holdfast.pair.stopping import StopRules
from holdfast.store import SqliteStore, Store, default_path

Models = tuple[Model | None, Model | None]


class PairWish(Struct, frozen=True, kw_only=True):
    """What a person asks of a pair. Without a `pair` one is gone on with: that of the log, else the newest of the
    folder. `rules` are given instead of the pair's own where a person says otherwise."""

    wish: Wish
    pair: Pair | None = None
    task: str = ""
    models: tuple[str, str] = ("", "")
    max_iterations: int | None = None
    max_cost: float | None = None


class People(Struct, frozen=True):
    """Who approves, and who looks on: at phases, and at what each role does."""

    approvals: Callable[[Path, str], Approvals] = lambda _store, _log: Auto()
    tell: Callable[[Phase], None] = lambda _: None
    watch: Callable[[str, Notice], None] = lambda _role, _notice: None


class OpenedPair(Struct, frozen=True):
    """`close` ends everything that was opened."""

    orchestrator: Orchestrator
    notes: tuple[str, ...]
    close: Callable[[], Awaitable[None]]


async def open_pair(
    wish: PairWish,
    people: People | None = None,
    *,
    env: Mapping[str, str] = os.environ,
    models: Models = (None, None),
) -> OpenedPair:
    """Open what a person wishes. `models` are asked instead of those that are named.

    Raises `NoModel` where a model cannot be asked, and other errors of `holdfast.errors`.
    """
    return await asyncio.to_thread(_opened, wish, people or People(), env, models)


def _opened(wish: PairWish, people: People, env: Mapping[str, str], models: Models) -> OpenedPair:
    place = _store_of(wish, env)
    store: Store = SqliteStore(place)
    closing: list[Callable[[], None]] = [store.close]
    try:
        known = None if wish.pair else found(wish.wish, store)
        pair = known.pair if known else wish.pair
        assert pair is not None, "a pair is given, or found"
        check_tools(pair, TOOLS)
        names = _names(wish, known)
        grounds, notes = _grounds(replace(wish, models=names), pair, env, models)
        # Begun last: what cannot be opened leaves no log behind.
        begun = known or begin(wish.wish.root, pair, wish.task, names, store)
        closing.append(hold(place, begun.log))
        orchestrator = Orchestrator(begun.log, _plan(wish, begun, store, place, grounds, people))
        orchestrator.give_rules(_rules(wish, orchestrator.rules))
    except BaseException:
        for close in reversed(closing):
            close()
        raise
    return OpenedPair(orchestrator, notes, _closing(orchestrator, [*grounds.values()], closing))


def _names(wish: PairWish, known: Begun | None) -> tuple[str, str]:
    """The models that are named now, else those that were named when it was begun."""
    before = known.models if known else ("", "")
    return wish.models[0] or before[0], wish.models[1] or before[1]


def _grounds(
    wish: PairWish, pair: Pair, env: Mapping[str, str], models: Models
) -> tuple[dict[str, Ground], tuple[str, ...]]:
    grounds: dict[str, Ground] = {}
    notes: list[str] = []
    for role, name, model in zip(pair.roles, wish.models, models, strict=True):
        grounds[role.name], said = _ground(wish, role, name, env, model)
        notes += said
    return grounds, tuple(dict.fromkeys(notes))


def _plan(
    wish: PairWish, begun: Begun, store: Store, place: Path, grounds: Mapping[str, Ground], people: People
) -> Plan:
    layout = Layout(wish.wish.root, begun.pair.outputs)
    return Plan(
        pair=begun.pair,
        layout=layout,
        task=begun.task,
        desk=_desks(wish, layout, store, begun.log, grounds, people),
        approvals=people.approvals(place, begun.log.id),
        spent=_spending(store, begun.log, grounds),
        tell=people.tell,
    )


def _store_of(wish: PairWish, env: Mapping[str, str]) -> Path:
    config = load_config(cwd=wish.wish.root, env=env)
    return wish.wish.store or (Path(config.store) if config.store else default_path(env))


def _ground(
    wish: PairWish, role: Role, given: str, env: Mapping[str, str], model: Model | None
) -> tuple[Ground, list[str]]:
    name, notes = (given, list[str]()) if model else _named(role, given, wish.wish.root, env)
    asked = replace(
        wish.wish,
        model=name,
        profile=role.profile,
        budget=role.window,
        mode=wish.wish.mode or "edit",
        limits=replace(wish.wish.limits, dollars=0.0 if model else wish.max_cost or 0.0),
    )
    ground = find_ground(asked, env, model)
    meant = BUILT_IN.get(role.profile)
    if meant and not role.window and ground.profile.window < meant.window:
        notes.append(
            f"`{role.name}`: `{ground.entry.name}` takes {ground.entry.window:,} tokens and not {meant.window:,}, "
            f"so its context is summed up above {ground.profile.trigger:,} instead of {meant.trigger:,}"
        )
    return ground, [*notes, *(f"`{role.name}`: {note}" for note in ground.notes)]


def _named(role: Role, given: str, root: Path, env: Mapping[str, str]) -> tuple[str, list[str]]:
    """The model of a role: as given, else its own where its key is there, else the one that is used everywhere."""
    if given or not role.model:
        return given, []
    config = load_config(cwd=root, env=env)
    try:
        missing = resolve_model(role.model, load_catalogue(config), env).missing(env)
    except ConfigError as error:
        raise ConfigError(f"the role `{role.name}`: {error.message}", hint=error.hint) from None
    other = model_name("", config, env)
    if not missing or not other:
        return role.model, []
    return other, [f"`{role.name}` is asked of `{other}`: `{role.model}` needs `{missing}`, which is not set"]


def _rules(wish: PairWish, before: StopRules) -> StopRules:
    given: dict[str, Json] = {}
    if wish.max_iterations is not None:
        given["max_iterations"] = wish.max_iterations
    if wish.max_cost is not None:
        given["max_cost"] = wish.max_cost
    return replace(before, **given)


def _desks(
    wish: PairWish, layout: Layout, store: Store, log: Log, grounds: Mapping[str, Ground], people: People
) -> Callable[[Role], RoleDesk]:
    def wrong(role: Role, handover: Handover, iteration: int) -> tuple[str, ...]:
        return faults(handover, role, layout, iteration)

    def desk(role: Role) -> RoleDesk:
        ground = grounds[role.name]
        begin_agent_log(store, log, role, ground)
        opening = _opening(wish, ground, store, f"{log.id}.{role.name}", role, people)
        check: Faults = wrong
        return RoleDesk(opening, role, check)

    return desk


def _opening(wish: PairWish, ground: Ground, store: Store, log: str, role: Role, people: People) -> Opening:
    mode: Literal["plan", "ask", "edit", "auto"] = wish.wish.mode or "edit"
    return Opening(
        root=ground.root,
        store=store,
        log=log,
        model=ground.model,
        asking=Asking(entry=ground.entry, max_tokens=ground.profile.reply_room),
        profile=ground.profile,
        permissions=ground.permissions,
        mode=mode,
        sandbox=ground.sandbox,
        snapshots=ground.store.with_name(f"{ground.store.name}.snapshots"),
        # A summary is waited for, as the profiles of the pair have it: what follows builds on it.
        is_beside=False,
        watch=lambda notice: people.watch(role.name, notice),
    )


def _spending(store: Store, log: Log, grounds: Mapping[str, Ground]) -> Callable[[], float]:
    def spent() -> float:
        total = 0.0
        for name, ground in grounds.items():
            try:
                store.info(f"{log.id}.{name}")
            except NotFound:
                continue
            total += spent_in(Log.open(store, f"{log.id}.{name}").entries(), ground.entry).dollars
        return total

    return spent


def _closing(
    orchestrator: Orchestrator, grounds: list[Ground], closing: list[Callable[[], None]]
) -> Callable[[], Awaitable[None]]:
    async def close() -> None:
        try:
            await orchestrator.aclose()
            for ground in grounds:
                await ground.model.aclose()
        finally:
            for one in reversed(closing):
                one()

    return close
