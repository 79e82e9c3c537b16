"""From what a person wishes to a pair that is open: a new one, or one that is gone on with.

Rule: both agents are opened in the same way, and differ in what their roles say. What a pair is, and its task,
stand in its log, so that it can be gone on with without the files it was begun from.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.coding.setup import Ground, find_ground, opening_on
from holdfast.agents.coding.wish import Wish
from holdfast.agents.limits import Limits
from holdfast.agents.notices import Notice
from holdfast.agents.opening import Opening
from holdfast.agents.pairing.approval import Approvals, Auto
from holdfast.agents.pairing.desk import TOOLS
from holdfast.agents.pairing.journal import Journal
from holdfast.agents.pairing.logs import Begun, begin, begin_agent_log, found, hold
from holdfast.agents.pairing.orchestrator import Orchestrator
from holdfast.agents.pairing.turns import Plan
from holdfast.agents.pairing.wholeness import check_logs, spending_of
from holdfast.agents.project_rules import RulesFile, rules_of_project
from holdfast.config import load_config
from holdfast.errors import ConfigError
from holdfast.log import Log
from holdfast.models.catalogue import load_catalogue
from holdfast.models.choosing import model_name, resolve_model
from holdfast.models.protocol import Model
from holdfast.packing.profile import BUILT_IN
from holdfast.pair.layout import Layout
from holdfast.pair.phases import LawGiven, Phase
from holdfast.pair.roles import Pair, Role, check_tools
from holdfast.pair.stopping import StopRules, changed, contradictions
from holdfast.store import SqliteStore, Store, default_path
from holdfast.tools.workspace import Workspace

Models = tuple[Model | None, Model | None]
UNCHANGED = "the pair's file has no `[stop]`, so the limits stay as they are"


class PairWish(Struct, frozen=True, kw_only=True):
    """What a person asks of a pair. Without a `pair` one is gone on with: that of the log, else the newest of the
    folder. What is given of `stop`, and behind it, takes the place of the rules that hold."""

    wish: Wish
    pair: Pair | None = None
    task: str = ""
    models: tuple[str, str] = ("", "")
    stop: Mapping[str, Any] | None = None
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
        before = Journal(known.log, pair).rules if known else pair.stop
        rules = _rules(wish, before)
        grounds, notes = _grounds(replace(wish, models=names, max_cost=rules.max_cost), pair, env, models)
        notes = (*notes, *([UNCHANGED] if wish.stop == {} else []))
        law = rules_of_project(Workspace([wish.wish.root]))
        # Begun last: what cannot be opened leaves no log behind.
        begun = known or begin(wish.wish.root, replace(pair, stop=rules), wish.task, names, store)
        closing.append(hold(place, begun.log, wish.wish.root))
        journal = Journal(begun.log, begun.pair, people.tell)
        _start(journal, store, grounds, law)
        orchestrator = Orchestrator(journal, _plan(wish, begun, store, place, grounds, people))
        orchestrator.give_rules(rules, _grants(wish.wish, grounds))
    except BaseException:
        for close in reversed(closing):
            close()
        raise
    return OpenedPair(orchestrator, notes, _closing(orchestrator, [*grounds.values()], closing))


def _start(journal: Journal, store: Store, grounds: Mapping[str, Ground], law: RulesFile | None) -> None:
    """What both have from before the first turn: their logs, and the rules of the project as they are then."""
    state, roles = journal.state, journal.pair.roles
    if not state.turn:
        for role in roles:
            begin_agent_log(store, journal.log, role, grounds[role.name])
        if law is not None and state.law is None:
            journal.append(LawGiven(law.path, law.text, law.mtime, law.hash))
    check_logs(journal, store)


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
    return Plan(
        layout=Layout(wish.wish.root, begun.pair.outputs),
        task=begun.task,
        opening=lambda role: _opening(wish, grounds[role.name], store, begun.log, role, people),
        approvals=people.approvals(place, begun.log.id),
        spent=spending_of(store, begun.log, grounds),
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
    if role.window > ground.entry.window > 0:
        ground = replace(ground, profile=ground.profile.scaled_to(ground.entry.window))
    notes += [f"`{role.name}`: {note}" for note in (*_smaller(role, ground), *ground.notes)]
    if (
        role.measures
        and "Bash" in role.tools
        and asked.mode != "auto"
        and not ground.permissions.commands.allow
    ):
        notes.append(
            f'`{role.name}` evaluates, and no rule allows it a command: `--allow "Bash(make:*)"` allows one'
        )
    return ground, notes


def _smaller(role: Role, ground: Ground) -> list[str]:
    """What is said where a model takes less than the role is meant for."""
    meant = BUILT_IN.get(role.profile)
    window = role.window or (meant.window if meant else 0)
    if ground.profile.window >= window:
        return []
    before = meant.scaled_to(window).trigger if meant else 0
    instead = f" instead of {before:,}" if before else ""
    takes = f"`{ground.entry.name}` takes {ground.entry.window:,} tokens and not {window:,}"
    return [f"{takes}, so its context is summed up above {ground.profile.trigger:,}{instead}"]


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
    given: dict[str, Any] = {**(wish.stop or {})}
    if wish.max_iterations is not None:
        given["max_iterations"] = wish.max_iterations
    if wish.max_cost is not None:
        given["max_cost"] = wish.max_cost
    rules = changed(before, given)
    for sentence in contradictions(rules):
        raise ConfigError(
            f"the limits that would hold: {sentence}", hint="docs/pair.md says when a pair stops"
        )
    return rules


def _grants(wish: Wish, grounds: Mapping[str, Ground]) -> str:
    """What agents may do without asking, in short: the same is the same."""
    given: list[str] = [wish.mode or "edit"]
    for ground in grounds.values():
        given += [repr(ground.permissions.allow), repr(ground.permissions.commands.allow)]
    return sha256("\n".join(given).encode()).hexdigest()[:12]


def _opening(wish: PairWish, ground: Ground, store: Store, log: Log, role: Role, people: People) -> Opening:
    return replace(
        opening_on(
            ground, store, f"{log.id}.{role.name}", Limits(), lambda one: people.watch(role.name, one)
        ),
        mode=wish.wish.mode or "edit",
        sandbox=ground.sandbox,
        snapshots=ground.store.with_name(f"{ground.store.name}.snapshots"),
        # A summary is waited for, as the profiles of the pair have it: what follows builds on it.
        is_beside=False,
    )


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
