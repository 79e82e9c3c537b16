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

from holdfast.agents.build import AgentConfig
from holdfast.agents.coding.startup import ResolvedConfig, make_agent_config, resolve_config
from holdfast.agents.limits import RunLimits
from holdfast.agents.notices import Notice
from holdfast.agents.options import AgentOptions
from holdfast.agents.pair.decisions import Approvals, AutoApprovals
from holdfast.agents.pair.journal import PairJournal
from holdfast.agents.pair.logs import (
    PairLog,
    begin_agent_log,
    begin_pair,
    check_consistency,
    find_pair,
    lock_pair,
    pair_spending,
)
from holdfast.agents.pair.orchestrator import Orchestrator
from holdfast.agents.pair.role_session import ROLE_TOOLS
from holdfast.agents.pair.turns import PairContext
from holdfast.agents.project_rules import RulesFile, read_project_rules
from holdfast.config import load_config
from holdfast.errors import ConfigError
from holdfast.log import Log
from holdfast.models.catalogue import load_catalogue
from holdfast.models.model import Model
from holdfast.models.selection import model_name, resolve_model
from holdfast.packing.profile import BUILT_IN
from holdfast.pair.folder import PairFolder
from holdfast.pair.phases import Phase, ProjectRulesSet
from holdfast.pair.roles import Pair, Role, check_tools
from holdfast.pair.stop_rules import StopRules, contradictions, update_rules
from holdfast.store import SqliteStore, Store, default_path
from holdfast.tools.workspace import Workspace

ModelPair = tuple[Model | None, Model | None]
UNCHANGED = "the pair's file has no `[stop]`, so the limits stay as they are"


class PairOptions(Struct, frozen=True, kw_only=True):
    """What a person asks of a pair. Without a `pair` one is gone on with: that of the log, else the newest of the
    folder. What is given of `stop`, and behind it, takes the place of the rules that hold."""

    wish: AgentOptions
    pair: Pair | None = None
    task: str = ""
    models: tuple[str, str] = ("", "")
    stop: Mapping[str, Any] | None = None
    max_iterations: int | None = None
    max_cost: float | None = None


class PairCallbacks(Struct, frozen=True):
    """Who approves, and who looks on: at phases, and at what each role does."""

    approvals: Callable[[Path, str], Approvals] = lambda _store, _log: AutoApprovals()
    tell: Callable[[Phase], None] = lambda _: None
    watch: Callable[[str, Notice], None] = lambda _role, _notice: None


class OpenedPair(Struct, frozen=True):
    """`close` ends everything that was opened."""

    orchestrator: Orchestrator
    notes: tuple[str, ...]
    close: Callable[[], Awaitable[None]]


async def open_pair(
    wish: PairOptions,
    people: PairCallbacks | None = None,
    *,
    env: Mapping[str, str] = os.environ,
    models: ModelPair = (None, None),
) -> OpenedPair:
    """Open what a person wishes. `models` are asked instead of those that are named.

    Raises `NoModel` where a model cannot be asked, and other errors of `holdfast.errors`.
    """
    return await asyncio.to_thread(_opened, wish, people or PairCallbacks(), env, models)


def _opened(
    wish: PairOptions, people: PairCallbacks, env: Mapping[str, str], models: ModelPair
) -> OpenedPair:
    place = _store_of(wish, env)
    store: Store = SqliteStore(place)
    closing: list[Callable[[], None]] = [store.close]
    try:
        known = None if wish.pair else find_pair(wish.wish, store)
        pair = known.pair if known else wish.pair
        assert pair is not None, "a pair is given, or found"
        check_tools(pair, ROLE_TOOLS)
        names = _names(wish, known)
        before = PairJournal(known.log, pair).rules if known else pair.stop
        rules = _rules(wish, before)
        grounds, notes = _configs(replace(wish, models=names, max_cost=rules.max_cost), pair, env, models)
        notes = (*notes, *([UNCHANGED] if wish.stop == {} else []))
        law = read_project_rules(Workspace([wish.wish.root]))
        # Begun last: what cannot be opened leaves no log behind.
        begun = known or begin_pair(wish.wish.root, replace(pair, stop=rules), wish.task, names, store)
        closing.append(lock_pair(place, begun.log, wish.wish.root))
        journal = PairJournal(begun.log, begun.pair, people.tell)
        _start(journal, store, grounds, law)
        orchestrator = Orchestrator(journal, _plan(wish, begun, store, place, grounds, people))
        orchestrator.give_rules(rules, _grants(wish.wish, grounds))
    except BaseException:
        for close in reversed(closing):
            close()
        raise
    return OpenedPair(orchestrator, notes, _closing(orchestrator, [*grounds.values()], closing))


def _start(
    journal: PairJournal, store: Store, grounds: Mapping[str, ResolvedConfig], law: RulesFile | None
) -> None:
    """What both have from before the first turn: their logs, and the rules of the project as they are then."""
    state, roles = journal.state, journal.pair.roles
    if not state.turn:
        for role in roles:
            begin_agent_log(store, journal.log, role, grounds[role.name])
        if law is not None and state.law is None:
            journal.append(ProjectRulesSet(law.path, law.text, law.mtime, law.hash))
    check_consistency(journal, store)


def _names(wish: PairOptions, known: PairLog | None) -> tuple[str, str]:
    """The models that are named now, else those that were named when it was begun."""
    before = known.models if known else ("", "")
    return wish.models[0] or before[0], wish.models[1] or before[1]


def _configs(
    wish: PairOptions, pair: Pair, env: Mapping[str, str], models: ModelPair
) -> tuple[dict[str, ResolvedConfig], tuple[str, ...]]:
    grounds: dict[str, ResolvedConfig] = {}
    notes: list[str] = []
    for role, name, model in zip(pair.roles, wish.models, models, strict=True):
        grounds[role.name], said = _config(wish, role, name, env, model)
        notes += said
    return grounds, tuple(dict.fromkeys(notes))


def _plan(
    wish: PairOptions,
    begun: PairLog,
    store: Store,
    place: Path,
    grounds: Mapping[str, ResolvedConfig],
    people: PairCallbacks,
) -> PairContext:
    return PairContext(
        layout=PairFolder(wish.wish.root, begun.pair.outputs),
        task=begun.task,
        opening=lambda role: _opening(wish, grounds[role.name], store, begun.log, role, people),
        approvals=people.approvals(place, begun.log.id),
        spent=pair_spending(store, begun.log, grounds),
    )


def _store_of(wish: PairOptions, env: Mapping[str, str]) -> Path:
    config = load_config(cwd=wish.wish.root, env=env)
    return wish.wish.store or (Path(config.store) if config.store else default_path(env))


def _config(
    wish: PairOptions, role: Role, given: str, env: Mapping[str, str], model: Model | None
) -> tuple[ResolvedConfig, list[str]]:
    name, notes = (given, list[str]()) if model else _named(role, given, wish.wish.root, env)
    asked = replace(
        wish.wish,
        model=name,
        profile=role.profile,
        budget=role.window,
        mode=wish.wish.mode or "edit",
        limits=replace(wish.wish.limits, dollars=0.0 if model else wish.max_cost or 0.0),
    )
    ground = resolve_config(asked, env, model)
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


def _smaller(role: Role, ground: ResolvedConfig) -> list[str]:
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


def _rules(wish: PairOptions, before: StopRules) -> StopRules:
    given: dict[str, Any] = {**(wish.stop or {})}
    if wish.max_iterations is not None:
        given["max_iterations"] = wish.max_iterations
    if wish.max_cost is not None:
        given["max_cost"] = wish.max_cost
    rules = update_rules(before, given)
    for sentence in contradictions(rules):
        raise ConfigError(
            f"the limits that would hold: {sentence}", hint="docs/pair.md says when a pair stops"
        )
    return rules


def _grants(wish: AgentOptions, grounds: Mapping[str, ResolvedConfig]) -> str:
    """What agents may do without asking, in short: the same is the same."""
    given: list[str] = [wish.mode or "edit"]
    for ground in grounds.values():
        given += [repr(ground.permissions.allow), repr(ground.permissions.commands.allow)]
    return sha256("\n".join(given).encode()).hexdigest()[:12]


def _opening(
    wish: PairOptions, ground: ResolvedConfig, store: Store, log: Log, role: Role, people: PairCallbacks
) -> AgentConfig:
    return replace(
        make_agent_config(
            ground, store, f"{log.id}.{role.name}", RunLimits(), lambda one: people.watch(role.name, one)
        ),
        mode=wish.wish.mode or "edit",
        sandbox=ground.sandbox,
        snapshots=ground.store.with_name(f"{ground.store.name}.snapshots"),
        # A summary is waited for, as the profiles of the pair have it: what follows builds on it.
        is_beside=False,
    )


def _closing(
    orchestrator: Orchestrator, grounds: list[ResolvedConfig], closing: list[Callable[[], None]]
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
