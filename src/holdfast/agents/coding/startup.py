"""Opening a coding session: from what a person asked for to a session that is ready.

Rule: terminal and headless runs open it here and nowhere else. What was opened is closed again if a later part
fails.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.limits import TaskSettings
from holdfast.agents.notices import Watch, unwatched
from holdfast.agents.options import AgentOptions
from holdfast.agents.resolved_config import ResolvedConfig, make_agent_config, resolve_config
from holdfast.agents.sessions import SalvagedLog, begin_session, resume_session
from holdfast.agents.trust import config_folder
from holdfast.models.model import Model
from holdfast.store import SqliteStore, Store
from holdfast.tools.ask_user import NoAnswer, Responder
from holdfast.tools.mcp.client import McpServers
from holdfast.tools.mcp.servers import parse_servers
from holdfast.tools.permissions.gate import Approver, UnattendedApprover

SERVER_SECONDS = 5.0
"""How long to wait for MCP servers; those that come later are reached through McpDescribe."""


class OpenedSession(Struct, frozen=True):
    """`notes` are what the person should know of how it was opened. `close` closes everything that was opened."""

    coding: CodingSession
    notes: tuple[str, ...]
    close: Callable[[], Awaitable[None]]


async def open_coding_session(
    options: AgentOptions,
    *,
    approver: Approver | None = None,
    respondent: Responder | None = None,
    watch: Watch = unwatched,
    env: Mapping[str, str] = os.environ,
    model: Model | None = None,
    tasks: TaskSettings | None = None,
) -> OpenedSession:
    """Open what a person asked for. `model` is asked instead of the one that the options name.

    Raises `NoModel` if no model can be asked, and other errors of `holdfast.errors`.
    """
    # Off the event loop: files are read and a sandbox is tried, and a terminal must go on painting.
    resolved = await asyncio.to_thread(resolve_config, options, env, model)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(resolved.model.aclose)
        servers = McpServers(parse_servers(resolved.config.servers, resolved.config.where), environment=env)
        stack.push_async_callback(servers.close)
        servers.start()
        await servers.ready(SERVER_SECONDS)
        store = await asyncio.to_thread(SqliteStore, resolved.store)
        stack.callback(store.close)
        found = await asyncio.to_thread(_find_or_begin, options, resolved, store)
        config = replace(
            make_agent_config(resolved, store, found.log, options.limits, watch),
            approver=approver or UnattendedApprover(),
            respondent=respondent or NoAnswer(),
            more_tools=tuple(servers.tools()),
            tasks=tasks or TaskSettings(),
            skills=config_folder(env) / "skills",
        )
        session = await asyncio.to_thread(CodingSession, config)
        stack.push_async_callback(session.aclose)
        close = stack.pop_all().aclose
    troubles = [f"the MCP server `{name}` cannot be used: {why}" for name, why in servers.troubles.items()]
    notes = (*found.notes, *resolved.notes, *troubles, *session.tool_state.skills.warnings)
    return OpenedSession(session, notes, close)


def _find_or_begin(options: AgentOptions, resolved: ResolvedConfig, store: Store) -> SalvagedLog:
    """The log to resume, salvaged if it is damaged, or a new one."""
    if options.log or options.resumes_newest:
        return resume_session(store, resolved.root, options.log)
    redact = resolved.profile.redact
    return SalvagedLog(
        begin_session(store, resolved.root, title=options.title, model=resolved.model.name, redact=redact)
    )
