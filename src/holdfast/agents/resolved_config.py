"""The configuration of an agent, resolved: what a person asked for, the configuration files and the environment.

Rule: terminal, headless runs, reviews and pairs all resolve it here, so that they get the same model, store, rules
and sandbox. What cannot be as asked for is an error or a note, never silence.
"""

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.approved_rules import approved_rules
from holdfast.agents.build import AgentConfig
from holdfast.agents.hooks import Hook, parse_hooks
from holdfast.agents.kept_rules import KeptRules
from holdfast.agents.limits import RunLimits
from holdfast.agents.model_choice import cache_prices, choose_model
from holdfast.agents.model_requests import RequestSettings
from holdfast.agents.notices import Watch
from holdfast.agents.options import AgentOptions
from holdfast.agents.trust import apply_trust
from holdfast.config import Config, load_config, resolve_profile, user_config_path
from holdfast.effort import EFFORT_VARIABLE, Effort, parse_effort
from holdfast.errors import ConfigError
from holdfast.models.catalogue import ModelEntry
from holdfast.models.model import Model
from holdfast.packing.profile import Profile
from holdfast.store import Store
from holdfast.store_places import Place, default_place, files_beside, parse_place
from holdfast.tools.checks.checkers import parse_checks
from holdfast.tools.mcp.server_config import Server, parse_servers
from holdfast.tools.permissions.tool_rules import PermissionMode, Permissions, parse_permissions
from holdfast.tools.shell.sandbox import Sandbox, find_sandbox
from holdfast.user_folders import config_folder

UNCONFINED = (
    "Only commands that read, or that a rule allows, run unasked; in plan mode only those that read run."
)
OTHER_TOOLS = ("Task", "McpCall", "McpDescribe")
"""Tools beside the built-in ones that a permission rule may name."""


class ResolvedConfig(Struct, frozen=True, kw_only=True):
    """Everything that is known before anything is opened."""

    root: Path
    config: Config
    model: Model
    entry: ModelEntry
    effort: Effort | None
    profile: Profile
    permissions: Permissions
    sandbox: Sandbox
    store: Place
    env: Mapping[str, str]
    mode: PermissionMode | None
    hooks: tuple[Hook, ...] = ()
    is_local: bool
    """Whether the model answers on this machine, one request at a time."""
    notes: tuple[str, ...]


def store_place(options: AgentOptions, config: Config, env: Mapping[str, str]) -> Place:
    return options.store or (parse_place(config.store) if config.store else default_place(env))


def snapshots_path(store: Path) -> Path:
    return store.with_name(f"{store.name}.snapshots")


def _own_files(store: Path, env: Mapping[str, str]) -> list[str]:
    """What commands of an agent must not read: the logs of other work, and what a person trusts."""
    parts = [
        store,
        *(store.with_name(f"{store.name}{end}") for end in ("-wal", "-shm")),
        snapshots_path(store),
    ]
    # The file may be a link to another place.
    own = (config_folder(env), user_config_path(env).resolve())
    return [str(path.absolute()) for path in (*parts, *own)]


def load_permissions(
    root: Path, env: Mapping[str, str], *, allow: Iterable[str] = (), trusts: bool = False
) -> tuple[Config, Permissions, str]:
    """The configuration as far as it is trusted, its permissions with what `allow` and the person's approvals add,
    and what to tell the person of the rest."""
    config, distrust = apply_trust(load_config(cwd=root, env=env), config_folder(env), trusts=trusts)
    permissions = Permissions()
    for layer in config.layers:
        own = parse_permissions(layer.permissions, layer.where or "the configuration", tools=OTHER_TOOLS)
        permissions = permissions.overlaid(own, layer.permissions)
    for rule in allow:
        permissions = permissions.allowing(rule, "--allow")
    for rule in approved_rules(config_folder(env), root):
        with contextlib.suppress(ConfigError):  # a rule in the syntax of another version is asked about again
            permissions = permissions.adding("allow", rule, "an approved rule", tools=OTHER_TOOLS)
    return config, permissions, distrust


def configured_servers(config: Config) -> dict[str, Server]:
    """The MCP servers of all files; one of the same name in a later file takes the place of the earlier."""
    servers: dict[str, Server] = {}
    for layer in config.layers:
        servers |= parse_servers(layer.servers, layer.where)
    return servers


def resolve_config(
    options: AgentOptions, env: Mapping[str, str], model: Model | None = None
) -> ResolvedConfig:
    """`model` is asked instead of the one that the options name. Blocks: files are read, a sandbox is tried."""
    root = options.root.resolve()
    config, permissions, distrust = load_permissions(root, env, allow=options.allow, trusts=options.trusts)
    store = store_place(options, config, env)
    permissions = replace(
        permissions, hidden=(*permissions.hidden, *_own_files(files_beside(store, env), env))
    )
    wanted = options.sandbox or permissions.sandbox
    sandbox = find_sandbox(wanted)
    chosen, entry, is_local = model, ModelEntry(name=model.name if model else ""), False
    if chosen is None:
        chosen, entry, is_local = choose_model(options.model, config, env)
    if options.limits.dollars and entry.price is None and not is_local:
        raise ConfigError(
            f"the price of `{entry.name}` is not known, so a limit in dollars cannot be kept",
            hint=f'set it in holdfast.toml: `[models."{entry.name}"]` with `price = {{ input = 1, output = 5 }}`',
        )
    loaded = resolve_profile(
        config, env, options.profile, model_window=entry.window, defaults=cache_prices(entry)
    )
    effort = options.effort or configured_effort(config, env)
    guessed = f"the window of `{entry.name}` is not known; {loaded.profile.window} tokens are assumed"
    return ResolvedConfig(
        root=root,
        config=config,
        model=chosen,
        entry=entry,
        effort=effort,
        profile=loaded.profile.scaled_to(options.budget) if options.budget else loaded.profile,
        permissions=permissions,
        sandbox=sandbox,
        store=store,
        env=env,
        mode=options.mode,
        hooks=tuple(hook for layer in config.layers for hook in parse_hooks(layer.hooks, layer.where, root)),
        is_local=is_local,
        notes=(
            *([distrust] if distrust else []),
            *loaded.warnings,
            *([f"{sandbox.describe()} {UNCONFINED}"] if sandbox.state == "missing" else []),
            *_effort_notes(entry, effort),
            *([guessed] if not (entry.window or options.budget or model) else []),
        ),
    )


def configured_effort(config: Config, env: Mapping[str, str]) -> Effort | None:
    """How much to think, as `HOLDFAST_EFFORT` or `default_effort` says; None where neither does."""
    by_variable = parse_effort(env.get(EFFORT_VARIABLE, ""), f"environment variable `{EFFORT_VARIABLE}`")
    return by_variable or parse_effort(
        config.default_effort, f"{config.source('default_effort')}: `default_effort`"
    )


def _effort_notes(entry: ModelEntry, wanted: Effort | None) -> list[str]:
    """What to tell a person whose choice the model does not have."""
    if wanted is None or not entry.name:
        return []
    if entry.effort_for(wanted) == wanted:
        unknown = f"how to turn off the thinking of `{entry.name}` is not known, so it may think all the same"
        return [unknown] if wanted == "off" and entry.levels and entry.may_think_when_off else []
    if not entry.levels:
        return [f"`{entry.name}` has no levels of thinking, so `{wanted}` changes nothing"]
    return [f"`{entry.name}` has no level `{wanted}`: it thinks at `{entry.effort_for(wanted)}`"]


def make_agent_config(
    resolved: ResolvedConfig, store: Store, log: str, limits: RunLimits, watch: Watch
) -> AgentConfig:
    """The configuration of an agent that asks nobody."""
    return AgentConfig(
        root=resolved.root,
        store=store,
        log=log,
        model=resolved.model,
        hooks=resolved.hooks,
        request_settings=RequestSettings(
            entry=resolved.entry, max_tokens=resolved.profile.reply_room, effort=resolved.effort
        ),
        profile=resolved.profile,
        limits=limits,
        permissions=resolved.permissions,
        mode=resolved.mode,
        sandbox=resolved.sandbox,
        rule_keeper=KeptRules(resolved.root, resolved.env),
        checks=parse_checks(resolved.config.checks, resolved.config.where),
        snapshots=snapshots_path(files_beside(resolved.store, resolved.env)),
        compacts_in_background=not resolved.is_local,
        watch=watch,
    )
