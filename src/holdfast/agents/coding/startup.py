"""From what a person wishes, the configuration and the environment, to a desk that is open.

Rule: terminal and headless runs are opened here and nowhere else, so that both get the same model, store, rules and
sandbox. What is not as wished is an error or a note, never silence.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.agent import RequestSettings
from holdfast.agents.build import AgentConfig
from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.coding.task import TASK_TOOL as TASK
from holdfast.agents.limits import RunLimits, TaskSettings
from holdfast.agents.model_choice import no_model_error, served_window
from holdfast.agents.notices import Watch, unwatched
from holdfast.agents.options import AgentOptions
from holdfast.agents.sessions import SalvagedLog, begin_session, find_session, newest_session, salvage_log
from holdfast.agents.trust import apply_trust, config_folder
from holdfast.config import Config, load_config, resolve_profile
from holdfast.errors import ConfigError
from holdfast.models.catalogue import ModelEntry, load_catalogue, price_table
from holdfast.models.model import Model
from holdfast.models.selection import create_model, model_name, resolve_model
from holdfast.packing.profile import BUILT_IN, Profile
from holdfast.store import SqliteStore, Store, default_path
from holdfast.tools.ask_user import NoAnswer, Responder
from holdfast.tools.mcp.client import McpServers
from holdfast.tools.mcp.servers import parse_servers
from holdfast.tools.permissions import Approver, Permissions, UnattendedApprover, parse_permissions
from holdfast.tools.shell.sandbox import Sandbox, Unconfined, find_sandbox
from holdfast.tour.tour_model import ENTRY, PACED, PLAIN, TourModel

SERVER_SECONDS = 5.0
"""How long MCP servers are waited for; those that come later are reached through McpDescribe."""


class OpenedSession(Struct, frozen=True):
    """A desk, and what the person should know of how it came about. `close` ends everything that was opened."""

    desk: CodingSession
    notes: tuple[str, ...]
    close: Callable[[], Awaitable[None]]


class _People(Struct, frozen=True):
    """Who stands on the other side: who approves, who answers, who looks on."""

    approver: Approver
    respondent: Responder
    watch: Watch


class ResolvedConfig(Struct, frozen=True, kw_only=True):
    """What a desk stands on, found before anything is opened."""

    root: Path
    config: Config
    model: Model
    entry: ModelEntry
    profile: Profile
    permissions: Permissions
    sandbox: Sandbox
    store: Path
    is_beside: bool
    notes: tuple[str, ...]


async def open_coding_session(
    wish: AgentOptions,
    *,
    approver: Approver | None = None,
    respondent: Responder | None = None,
    watch: Watch = unwatched,
    env: Mapping[str, str] = os.environ,
    model: Model | None = None,
    tasks: TaskSettings | None = None,
) -> OpenedSession:
    """Open what a person wishes. `model` is asked instead of the one that is named.

    Raises `NoModel` where none can be asked, and other errors of `holdfast.errors`.
    """
    people = _People(approver or UnattendedApprover(), respondent or NoAnswer(), watch)
    # Off the event loop: files are read and a sandbox is tried, and a terminal must go on painting.
    ground = await asyncio.to_thread(resolve_config, wish, env, model)
    servers = McpServers(parse_servers(ground.config.servers, ground.config.where), environment=env)
    servers.start()
    store: Store | None = None
    try:
        await servers.ready(SERVER_SECONDS)
        store = await asyncio.to_thread(SqliteStore, ground.store)
        talk = await asyncio.to_thread(_find_or_begin, wish, ground, store)
        skills = config_folder(env) / "skills"
        opening = _coding_config(wish, ground, people, store=store, log=talk.log, skills=skills)
        opening = replace(opening, more_tools=tuple(servers.tools()), tasks=tasks or TaskSettings())
        desk = await asyncio.to_thread(CodingSession, opening)
    except BaseException:
        await servers.close()
        await ground.model.aclose()
        if store is not None:
            store.close()
        raise
    troubles = [f"the MCP server `{name}` cannot be used: {why}" for name, why in servers.troubles.items()]
    notes = (*([talk.note] if talk.note else []), *ground.notes, *troubles, *desk.bench.skills.warnings)
    return OpenedSession(desk, notes, _closing(desk, servers, store))


def make_agent_config(
    ground: ResolvedConfig, store: Store, log: str, limits: RunLimits, watch: Watch
) -> AgentConfig:
    """What an agent is opened with on this ground, alone with its tools."""
    return AgentConfig(
        root=ground.root,
        store=store,
        log=log,
        model=ground.model,
        asking=RequestSettings(entry=ground.entry, max_tokens=ground.profile.reply_room),
        profile=ground.profile,
        limits=limits,
        permissions=ground.permissions,
        is_beside=ground.is_beside,
        watch=watch,
    )


def _coding_config(
    wish: AgentOptions, ground: ResolvedConfig, people: _People, *, store: Store, log: str, skills: Path
) -> AgentConfig:
    return replace(
        make_agent_config(ground, store, log, wish.limits, people.watch),
        approver=people.approver,
        mode=wish.mode,
        respondent=people.respondent,
        sandbox=ground.sandbox,
        snapshots=ground.store.with_name(f"{ground.store.name}.snapshots"),
        skills=skills,
    )


def resolve_config(wish: AgentOptions, env: Mapping[str, str], model: Model | None = None) -> ResolvedConfig:
    """Everything that must be known before a desk is opened. Blocks: files are read, a sandbox is tried."""
    root = wish.root.resolve()
    config, distrust = apply_trust(
        load_config(cwd=root, env=env), config_folder(env), env, trusts=wish.trusts
    )
    permissions = _permissions(wish, config)
    wanted = wish.sandbox or permissions.sandbox
    sandbox = find_sandbox(wanted, with_network=permissions.network)
    is_bare = isinstance(sandbox, Unconfined) and wanted != "off"
    chosen, entry, is_local = model, ModelEntry(name=model.name if model else ""), False
    if chosen is None:
        chosen, entry, is_local = _chosen(wish, config, env)
    if wish.limits.dollars and entry.price is None and not is_local:
        raise ConfigError(
            f"the price of `{entry.name}` is not known, so that a limit of dollars cannot be kept",
            hint=f'say it in holdfast.toml: `[models."{entry.name}"]` with `price = {{ input = 1, output = 5 }}`',
        )
    loaded = resolve_profile(_priced(config, entry), env, wish.profile, model_window=entry.window)
    guessed = f"the window of `{entry.name}` is not known; {loaded.profile.window} tokens are taken for it"
    return ResolvedConfig(
        root=root,
        config=config,
        model=chosen,
        entry=entry,
        profile=loaded.profile.scaled_to(wish.budget) if wish.budget else loaded.profile,
        permissions=permissions,
        sandbox=sandbox,
        store=wish.store or (Path(config.store) if config.store else default_path(env)),
        is_beside=not is_local,
        notes=(
            *([distrust] if distrust else []),
            *loaded.warnings,
            *([sandbox.described] if is_bare else []),
            *([guessed] if not (entry.window or wish.budget or model) else []),
        ),
    )


def _chosen(wish: AgentOptions, config: Config, env: Mapping[str, str]) -> tuple[Model, ModelEntry, bool]:
    """The model, what is known of it, and whether it answers on this machine."""
    catalogue = load_catalogue(config)
    name = model_name(wish.model, config, env)
    if name in (PACED, PLAIN):
        return TourModel(name), replace(ENTRY, name=name), False
    if not name:
        raise no_model_error(catalogue, env, None)
    chosen = resolve_model(name, catalogue, env)
    if chosen.missing(env):
        raise no_model_error(catalogue, env, chosen)
    is_local = catalogue.providers[chosen.entry.provider].is_local
    entry = chosen.entry
    if not entry.window and is_local:
        entry = replace(entry, window=served_window(chosen, env))
    return create_model(name, config, env), entry, is_local


def _priced(config: Config, entry: ModelEntry) -> Config:
    """The configuration with the model's prices below all that it says itself: they decide when a fold pays."""
    if entry.price is None or not entry.price.input:
        return config
    table = price_table(entry)
    prices = {
        "cache_read": table.read,
        "cache_write": table.write,
        "cache_seconds": float(table.life_seconds),
    }
    return replace(
        config,
        profiles={**config.profiles, **{n: {**prices, **config.profiles.get(n, {})} for n in BUILT_IN}},
        bases={**dict.fromkeys(BUILT_IN, ""), **config.bases},
    )


def _permissions(wish: AgentOptions, config: Config) -> Permissions:
    where = config.where or "the configuration"
    permissions = parse_permissions(config.permissions, where, tools=(TASK, "McpCall", "McpDescribe"))
    for rule in wish.allow:
        permissions = permissions.allowing(rule)
    return permissions


def _find_or_begin(wish: AgentOptions, ground: ResolvedConfig, store: Store) -> SalvagedLog:
    """The log to go on with, mended where it is damaged, or a new one."""
    if wish.log:
        return salvage_log(store, find_session(store, wish.log))
    if wish.goes_on:
        return salvage_log(store, newest_session(store, ground.root))
    redact = ground.profile.redact
    return SalvagedLog(
        begin_session(store, ground.root, title=wish.title, model=ground.model.name, redact=redact)
    )


def _closing(desk: CodingSession, servers: McpServers, store: Store) -> Callable[[], Awaitable[None]]:
    async def close() -> None:
        try:
            await desk.aclose()
            await servers.close()
        finally:
            store.close()

    return close
