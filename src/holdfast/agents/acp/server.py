"""The agent's side of the Agent Client Protocol: its methods, and how the connection begins and ends.

Rule: what a client asks wrongly is answered with an error of the protocol, one sentence and a hint. When the client
closes its side, or a signal comes, every session is brought to its end before the process is.
"""

import asyncio
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from acp.agent.connection import AgentSideConnection
from acp.exceptions import RequestError
from acp.interfaces import Agent, Client
from acp.meta import PROTOCOL_VERSION
from acp.schema import (
    AcpMcpServer,
    AgentCapabilities,
    ClientCapabilities,
    CloseSessionResponse,
    HttpMcpServer,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    McpCapabilities,
    McpServerStdio,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SetSessionConfigOptionResponse,
    SetSessionModeResponse,
    SseMcpServer,
)
from msgspec.structs import replace

from holdfast.agents.acp.editor_session import EditorSession
from holdfast.agents.acp.prompts import PromptBlock
from holdfast.agents.acp.session_options import MODE
from holdfast.agents.acp.stored_sessions import check_stored, list_sessions
from holdfast.agents.acp.transport import open_stdio
from holdfast.agents.model_choice import NoModel
from holdfast.agents.options import AgentOptions
from holdfast.errors import ConfigError, HoldfastError, InputError, NotFound
from holdfast.messages import Json
from holdfast.version import __version__

PAGE = 50
"""Sessions in one answer to `session/list`."""
LONGEST_CURSOR = 9
NOT_FOUND, INVALID_PARAMS, INTERNAL = -32002, -32602, -32603
SIGNALS = (signal.SIGINT, signal.SIGTERM)

GivenServer = HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio


async def serve(options: AgentOptions, env: Mapping[str, str] = os.environ) -> None:
    """Answer a client until it closes its side, or a signal comes. `options` hold for every session."""
    transport = await open_stdio()
    agent = ProtocolAgent(options, env)
    # `session/resume` and `session/close` count as unstable in the package.
    connection = AgentSideConnection(
        cast("Agent", agent), transport, listening=False, use_unstable_protocol=True
    )
    with _interruptible() as interrupted:
        ends = [asyncio.create_task(connection.listen()), asyncio.create_task(interrupted.wait())]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        await agent.close()
        for end in ends:
            end.cancel()
        await asyncio.gather(*ends, return_exceptions=True)
        await connection.close()


@contextmanager
def _interruptible() -> Iterator[asyncio.Event]:
    """An event that a first signal sets; a second one acts as it would without us."""
    interrupted = asyncio.Event()
    loop = asyncio.get_running_loop()

    def take() -> None:
        interrupted.set()
        for number in SIGNALS:
            loop.remove_signal_handler(number)

    for number in SIGNALS:
        loop.add_signal_handler(number, take)
    try:
        yield interrupted
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)


class ProtocolAgent:
    """The methods of the protocol that this agent has. The package calls them by name, and answers that a method is
    not found where there is none here."""

    def __init__(self, options: AgentOptions, env: Mapping[str, str]) -> None:
        self._options = options
        self._env = env
        self._sessions: dict[str, EditorSession] = {}
        self._client: Client
        self._has_forms = False

    def on_connect(self, conn: Client) -> None:
        self._client = conn

    async def close(self) -> None:
        sessions, self._sessions = list(self._sessions.values()), {}
        await asyncio.gather(*(one.close() for one in sessions), return_exceptions=True)

    async def initialize(
        self, protocol_version: int, client_capabilities: ClientCapabilities | None = None, **_: Any
    ) -> InitializeResponse:
        forms = client_capabilities.elicitation if client_capabilities else None
        self._has_forms = forms is not None and forms.form is not None
        return InitializeResponse(
            protocol_version=min(protocol_version, PROTOCOL_VERSION) or PROTOCOL_VERSION,
            agent_info=Implementation(name="holdfast", title="Holdfast", version=__version__),
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=True, audio=False, embedded_context=True),
                mcp_capabilities=McpCapabilities(http=find_spec("mcp") is not None, sse=False),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities(),
                    resume=SessionResumeCapabilities(),
                    close=SessionCloseCapabilities(),
                ),
            ),
            auth_methods=[],
        )

    async def new_session(
        self, cwd: str, mcp_servers: Sequence[GivenServer] | None = None, **_: Any
    ) -> NewSessionResponse:
        with _protocol_errors():
            session = await self._open(_root(cwd), "", mcp_servers)
            return NewSessionResponse(session_id=session.id, **session.offers())

    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: Sequence[GivenServer] | None = None, **_: Any
    ) -> LoadSessionResponse:
        with _protocol_errors():
            session = await self._resume(cwd, session_id, mcp_servers)
            await session.replay()
            return LoadSessionResponse(**session.offers())

    async def resume_session(
        self, session_id: str, cwd: str, mcp_servers: Sequence[GivenServer] | None = None, **_: Any
    ) -> ResumeSessionResponse:
        with _protocol_errors():
            session = await self._resume(cwd, session_id, mcp_servers)
            return ResumeSessionResponse(**session.offers())

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: Any
    ) -> ListSessionsResponse:
        with _protocol_errors():
            if cursor and not (cursor.isdecimal() and len(cursor) <= LONGEST_CURSOR):
                raise InputError(
                    f"`{cursor}` is no place in the list of sessions", hint="begin without a cursor"
                )
            first = int(cursor or 0)
            root = _root(cwd) if cwd else None
            found = await asyncio.to_thread(list_sessions, self._options, self._env, root, first, PAGE + 1)
        more = str(first + PAGE) if len(found) > PAGE else None
        return ListSessionsResponse(sessions=found[:PAGE], next_cursor=more)

    async def close_session(self, session_id: str, **_: Any) -> CloseSessionResponse:
        with _protocol_errors():
            session = self._session(session_id)
            del self._sessions[session_id]
            await session.close()
        return CloseSessionResponse()

    async def set_session_mode(self, mode_id: str, session_id: str, **_: Any) -> SetSessionModeResponse:
        with _protocol_errors():
            await self._session(session_id).set_option(MODE, mode_id)
        return SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> SetSessionConfigOptionResponse:
        with _protocol_errors():
            session = self._session(session_id)
            await session.set_option(config_id, value)
            return SetSessionConfigOptionResponse(config_options=session.options())

    async def prompt(self, prompt: Sequence[PromptBlock], session_id: str, **_: Any) -> PromptResponse:
        with _protocol_errors():
            return await self._session(session_id).prompt(prompt)

    async def cancel(self, session_id: str, **_: Any) -> None:
        if session := self._sessions.get(session_id):
            session.cancel()

    def _session(self, id_: str) -> EditorSession:
        if id_ not in self._sessions:
            raise NotFound(f"there is no open session `{id_}`", hint="open it with `session/load`")
        return self._sessions[id_]

    async def _resume(self, cwd: str, id_: str, servers: Sequence[GivenServer] | None) -> EditorSession:
        root = _root(cwd)
        await asyncio.to_thread(check_stored, self._options, self._env, root, id_)
        if before := self._sessions.pop(id_, None):
            await before.close()
        return await self._open(root, id_, servers)

    async def _open(self, root: Path, log: str, servers: Sequence[GivenServer] | None) -> EditorSession:
        options = replace(self._options, root=root, log=log)
        table = mcp_table(servers or ())
        session = EditorSession(self._client, options, table, self._env, has_forms=self._has_forms)
        await session.open()
        self._sessions[session.id] = session
        return session


@contextmanager
def _protocol_errors() -> Iterator[None]:
    """Our errors as those of the protocol, with the hint in the sentence, since editors show only that."""
    try:
        yield
    except HoldfastError as error:
        found = f"\nfound: {error.found}" if isinstance(error, NoModel) else ""
        raise RequestError(_code(error), f"{error}{found}") from None


def _code(error: HoldfastError) -> int:
    match error:
        case NotFound():
            return NOT_FOUND
        case InputError() if not isinstance(error, ConfigError):
            return INVALID_PARAMS
    return INTERNAL


def _root(cwd: str) -> Path:
    root = Path(cwd)
    # `os.path`, because a name that is too long is no error there.
    if not root.is_absolute() or not os.path.isdir(root):  # noqa: PTH112
        raise InputError(f"`{cwd}` is no folder that a session can work in", hint="give its absolute path")
    return root.resolve()


def mcp_table(servers: Sequence[GivenServer]) -> dict[str, Json]:
    """The servers of a client as our configuration would name them."""
    table: dict[str, Json] = {}
    for server in servers:
        match server:
            case McpServerStdio():
                env = {one.name: one.value for one in server.env}
                table[server.name] = {"command": server.command, "args": server.args, "env": env}
            case HttpMcpServer():
                headers = {one.name: one.value for one in server.headers}
                table[server.name] = {"url": server.url, "headers": headers}
            case _:
                raise InputError(
                    f"the MCP server `{server.name}` cannot be reached over `{server.type}`",
                    hint="servers that run as a program and servers over `http` can be used",
                )
    return table
