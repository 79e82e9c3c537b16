"""Opening a pair: a new one, or one that is resumed.

Rule: both agents are built in the same way and differ only in their roles. The pair and its task are in its log, so
that it can be resumed without the files it was begun from.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, ExitStack, closing
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.build import AgentConfig
from holdfast.agents.limits import RunLimits
from holdfast.agents.notices import Notice
from holdfast.agents.options import AgentOptions
from holdfast.agents.pair.decisions import AutoDecisions, DecisionMaker
from holdfast.agents.pair.journal import PairJournal
from holdfast.agents.pair.logs import (
    begin_agent_log,
    begin_pair,
    check_consistency,
    find_pair,
    lock_pair,
    pair_spending,
)
from holdfast.agents.pair.measuring import Harness
from holdfast.agents.pair.orchestrator import Orchestrator
from holdfast.agents.pair.role_session import ROLE_TOOLS
from holdfast.agents.pair.turns import PairContext
from holdfast.agents.project_rules import read_rules
from holdfast.agents.resolved_config import (
    ResolvedConfig,
    make_agent_config,
    resolve_config,
    store_place,
)
from holdfast.config import load_config
from holdfast.effort import Effort
from holdfast.errors import ConfigError, InputError
from holdfast.events import RulesSet
from holdfast.log import Log
from holdfast.models.catalogue import load_catalogue
from holdfast.models.model import Model
from holdfast.models.selection import model_name, resolve_model
from holdfast.packing.profile import BUILT_IN
from holdfast.pair.folder import PairFolder
from holdfast.pair.phases import ChoicesMade, Phase, ProjectRulesSet
from holdfast.pair.roles import Pair, Role, check_tools
from holdfast.pair.stop_rules import StopRules, contradictions, update_rules
from holdfast.store import Store, open_store
from holdfast.store_places import Place, files_beside
from holdfast.tools.workspace import Workspace

ModelPair = tuple[Model | None, Model | None]
TEMPERATURE = 0.0
"""Of every request, where the model takes one."""
UNCHANGED = "the pair's file has no `[stop]`, so the limits stay as they are"


class PairOptions(Struct, frozen=True, kw_only=True):
    """What a person asks of a pair. Without a `pair`, the one of the log is resumed, else the newest of the folder.
    `stop` and the fields after it replace the stop rules of the pair, as far as they are given."""

    agent: AgentOptions
    approve: Literal["", "ask", "auto", "file"] = ""
    pair: Pair | None = None
    task: str = ""
    models: tuple[str, str] = ("", "")
    efforts: tuple[Effort | None, Effort | None] = (None, None)
    stop: Mapping[str, Any] | None = None
    max_iterations: int | None = None
    max_cost: float | None = None


class PairCallbacks(Struct, frozen=True):
    """Who approves, and who is told of phases and of what each role does."""

    approvals: Callable[[Place, str, str], DecisionMaker] = lambda _store, _log, _approve: AutoDecisions()
    """Given the store, the log, and how approvals are wanted: `ask`, `auto`, `file`, or empty."""
    tell: Callable[[Phase], None] = lambda _: None
    watch: Callable[[str, Notice], None] = lambda _role, _notice: None


class OpenedPair(Struct, frozen=True):
    """`close` closes everything that was opened."""

    orchestrator: Orchestrator
    notes: tuple[str, ...]
    close: Callable[[], Awaitable[None]]


async def open_pair(
    options: PairOptions,
    callbacks: PairCallbacks | None = None,
    *,
    env: Mapping[str, str] = os.environ,
    models: ModelPair = (None, None),
) -> OpenedPair:
    """Open what a person asked for. `models` are asked instead of those that are named.

    Raises `NoModel` if a model cannot be asked, and other errors of `holdfast.errors`.
    """
    return await asyncio.to_thread(_open, options, callbacks or PairCallbacks(), env, models)


def _open(
    options: PairOptions, callbacks: PairCallbacks, env: Mapping[str, str], models: ModelPair
) -> OpenedPair:
    root = options.agent.root
    place = store_place(options.agent, load_config(cwd=root, env=env), env)
    if files_beside(place, env).resolve().is_relative_to(root.resolve()):
        raise InputError(
            f"the store {place} is in the folder that the agents write to",
            hint="choose one outside that folder with `--store`",
        )
    # Held in the thread that opens it: whatever fails before the end is closed there.
    with ExitStack() as stack:
        store: Store = stack.enter_context(closing(open_store(place)))
        known = None if options.pair else find_pair(options.agent, store)
        pair = known.pair if known else options.pair
        assert pair is not None, "a pair is given, or found"
        check_tools(pair, ROLE_TOOLS)
        # The models that are named now, else those that were named at the beginning.
        before = known.models if known else ("", "")
        names = options.models[0] or before[0], options.models[1] or before[1]
        choices = _choices(options, PairJournal(known.log, pair).state.choices if known else ChoicesMade())
        agent = replace(options.agent, allow=choices.allow, mode=choices.mode or None)
        rules = _rules(options, PairJournal(known.log, pair).rules if known else pair.stop)
        configs: dict[str, ResolvedConfig] = {}
        notes: list[str] = []
        for role, name, effort, model in zip(pair.roles, names, options.efforts, models, strict=True):
            asked = replace(agent, model=name, effort=effort)
            configs[role.name], more = _config(asked, rules.max_cost, role, env, model)
            notes += more
        notes += [UNCHANGED] if options.stop == {} else []
        project_rules = read_rules(Workspace([root]))
        # The log comes last: if something cannot be opened, no log is left behind.
        pair_log = known or begin_pair(root, replace(pair, stop=rules), options.task, names, store)
        log = pair_log.log
        stack.callback(lock_pair(place, log, root))
        journal = PairJournal(log, pair_log.pair, callbacks.tell)
        _start(journal, store, configs, project_rules)
        context = PairContext(
            folder=PairFolder(root, pair_log.pair.outputs),
            task=pair_log.task,
            config=lambda role: _agent_config(configs[role.name], store, log, role, callbacks),
            approvals=callbacks.approvals(place, log.id, choices.approve),
            harness=_harness(place, journal, configs),
            spent=pair_spending(store, log, configs),
        )
        orchestrator = Orchestrator(journal, context)
        orchestrator.set_rules(rules, _grants(agent, configs))
        if choices != journal.state.choices:
            journal.append(choices)
        opened = stack.pop_all()
    to_close = AsyncExitStack()
    to_close.push(opened)
    for resolved in configs.values():
        to_close.push_async_callback(resolved.model.aclose)
    to_close.push_async_callback(orchestrator.aclose)
    return OpenedPair(orchestrator, tuple(dict.fromkeys(notes)), to_close.aclose)


def _start(
    journal: PairJournal, store: Store, configs: Mapping[str, ResolvedConfig], rules: RulesSet | None
) -> None:
    """Before the first turn, begin the logs of both roles and record the project's rules as they are then."""
    state, roles = journal.state, journal.pair.roles
    if not state.turn:
        for role in roles:
            begin_agent_log(store, journal.log, role, configs[role.name])
        if rules is not None and state.project_rules is None:
            journal.append(ProjectRulesSet(rules.path, rules.text, rules.mtime, rules.hash))
    check_consistency(journal, store)


def _config(
    options: AgentOptions,
    max_cost: float,
    role: Role,
    env: Mapping[str, str],
    model: Model | None,
) -> tuple[ResolvedConfig, list[str]]:
    given = options.model
    name, notes = (given, list[str]()) if model else _named(role, given, options.root, env)
    asked = replace(
        options,
        model=name,
        effort=options.effort or role.effort,
        profile=role.profile,
        budget=role.window,
        mode=options.mode or "edit",
        limits=replace(options.limits, dollars=0.0 if model else max_cost),
    )
    resolved = resolve_config(asked, env, model)
    if role.window > resolved.entry.window > 0:
        resolved = replace(resolved, profile=resolved.profile.scaled_to(resolved.entry.window))
    notes += [f"`{role.name}`: {note}" for note in (*_smaller(role, resolved), *resolved.notes)]
    may_ask = asked.mode != "auto" and not resolved.permissions.commands.allow
    if role.measures and "Bash" in role.tools and may_ask:
        notes.append(
            f'`{role.name}` evaluates, and no rule allows it a command: `--allow "Bash(make:*)"` allows one'
        )
    return resolved, notes


def _smaller(role: Role, resolved: ResolvedConfig) -> list[str]:
    """A note if the model's window is smaller than the role's."""
    meant = BUILT_IN.get(role.profile)
    window = role.window or (meant.window if meant else 0)
    if resolved.profile.window >= window:
        return []
    before = meant.scaled_to(window).trigger if meant else 0
    instead = f" instead of {before:,}" if before else ""
    takes = f"`{resolved.entry.name}` takes {resolved.entry.window:,} tokens and not {window:,}"
    return [f"{takes}, so its context is summarized above {resolved.profile.trigger:,}{instead}"]


def _named(role: Role, given: str, root: Path, env: Mapping[str, str]) -> tuple[str, list[str]]:
    """The model of a role: as given, else its own if its key is set, else the default model."""
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
    return other, [f"`{role.name}` uses `{other}`: `{role.model}` needs `{missing}`, which is not set"]


def _rules(options: PairOptions, before: StopRules) -> StopRules:
    limits = {"max_iterations": options.max_iterations, "max_cost": options.max_cost}
    given = {name: value for name, value in limits.items() if value is not None}
    rules = update_rules(before, {**(options.stop or {}), **given})
    for sentence in contradictions(rules):
        raise ConfigError(
            f"the limits do not fit together: {sentence}", hint="docs/pair.md says when a pair stops"
        )
    return rules


def _choices(options: PairOptions, before: ChoicesMade) -> ChoicesMade:
    """What is given now, and else what was before; rules add up."""
    return ChoicesMade(
        tuple(dict.fromkeys((*before.allow, *options.agent.allow))),
        options.agent.mode or before.mode,
        options.approve or before.approve,
    )


def _grants(options: AgentOptions, configs: Mapping[str, ResolvedConfig]) -> str:
    """A hash of what the agents may do without asking."""
    given: list[str] = [options.mode or "edit"]
    for resolved in configs.values():
        given += [repr(resolved.permissions.allow), repr(resolved.permissions.commands.allow)]
    return sha256("\n".join(given).encode()).hexdigest()[:12]


def _agent_config(
    resolved: ResolvedConfig, store: Store, log: Log, role: Role, callbacks: PairCallbacks
) -> AgentConfig:
    id_ = f"{log.id}.{role.name}"
    config = make_agent_config(resolved, store, id_, RunLimits(), lambda one: callbacks.watch(role.name, one))
    # The next request waits for a summary: what follows builds on it.
    settings = replace(config.request_settings, temperature=TEMPERATURE)
    return replace(config, compacts_in_background=False, request_settings=settings)


def _harness(place: Place, journal: PairJournal, configs: Mapping[str, ResolvedConfig]) -> Harness:
    """Evaluations run in the sandbox of the role that builds; what was approved is beside the store."""
    config = configs[journal.pair.roles[1].name]
    file = files_beside(place)
    return Harness(
        PairFolder(config.root, journal.pair.outputs),
        file.with_name(f"{file.name}.pairs").absolute() / journal.log.id,
        config.sandbox,
        config.permissions.hidden,
    )
