"""A session with the coding agent: its agent, its tools, the project's rules, and what a person says; and how it is
opened.

Rule: it can be closed at any moment and resumed from the log; what was sent before is sent again to the byte.
Terminal, editors and headless runs open it here and nowhere else. What was opened is closed again if a later part
fails.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from importlib.resources import files as package_files
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.build import AgentConfig, build_agent, config_gate, open_log_session
from holdfast.agents.coding.environment import (
    KEY,
    environment_recap,
    environment_reminder,
    read_environment,
)
from holdfast.agents.coding.hooked_messages import HookedMessages
from holdfast.agents.coding.model_search import search_web
from holdfast.agents.coding.own_command import run_own_command
from holdfast.agents.coding.own_commands import OwnCommands
from holdfast.agents.coding.own_sub_agents import load_sub_agents
from holdfast.agents.coding.task import TASK_TOOL, ParentAgent, task_tool
from holdfast.agents.coding.tool_state import change_note, load_skills, new_tool_state
from holdfast.agents.limits import RunBudget, TaskSettings
from holdfast.agents.loop import run
from holdfast.agents.mentions import ResolvedPrompt
from holdfast.agents.model_choice import find_model
from holdfast.agents.notices import FoldMade, Notice, SubAgentNotice, Watch, unwatched
from holdfast.agents.options import AgentOptions
from holdfast.agents.outcomes import End, Stop
from holdfast.agents.project_rules import parent_folders, read_rules, rule_changes
from holdfast.agents.prompt_files import prompt_folders
from holdfast.agents.resolved_config import (
    ResolvedConfig,
    configured_servers,
    make_agent_config,
    resolve_config,
)
from holdfast.agents.session_gate import SessionGate
from holdfast.agents.session_hooks import SessionHooks
from holdfast.agents.sessions import ReadableLog, begin_session, resume_session
from holdfast.agents.viewer_process import ViewerProcess
from holdfast.effort import Effort
from holdfast.events import Noted, SystemSet, ToolsSet
from holdfast.messages import Image, Json, system_reminder
from holdfast.models.model import Model
from holdfast.packing.visibility import Visibility, visibility_of
from holdfast.store import Store, open_store
from holdfast.tools.ask_user import NoAnswer, Responder
from holdfast.tools.call import CallFinished, CallListener, CallSettings
from holdfast.tools.envelope import ToolResult
from holdfast.tools.files.undo import undo
from holdfast.tools.mcp.client import McpServers
from holdfast.tools.mcp.server_config import Server, StdioServer, parse_servers
from holdfast.tools.permissions.gate import Approver, PermissionGate, UnattendedApprover
from holdfast.tools.shell.bash_output import take_ended_jobs
from holdfast.tools.web.web_search import SearchReport
from holdfast.tools.workspace import Workspace
from holdfast.user_folders import config_folder
from holdfast.views import path

SYSTEM_PROMPT = (package_files(__package__) / "system.md").read_text("utf-8").strip()
ENDED_WITH_SESSION = "The background job {} was ended, because the session was closed."
INIT_PROMPT = (package_files(__package__) / "init.md").read_text("utf-8").strip()


class CodingSession:
    """**Contract:** `aclose` stops what runs; the store belongs to the caller and stays open."""

    def __init__(self, config: AgentConfig) -> None:
        self.workspace = workspace = Workspace([config.root])
        self.watch = config.watch
        self.summarizer = config.summarizer or config.model
        self._reminded: set[str] = set()
        """Folders whose rules the model was told since the last fold."""
        self._environment: tuple[str, ...] = ()
        """What the model was last told beside a message about where it works."""
        self._visible: tuple[tuple[int, int], Visibility] | None = None
        self._stop_own = asyncio.Event()
        """Ends the command of the person that runs."""
        self.viewer: ViewerProcess | None = None
        """The page of this session, once a person has asked for it."""
        self.own_commands = OwnCommands(prompt_folders(config.root, config.own_folders, "commands"))
        self.sub_agents = load_sub_agents(prompt_folders(config.root, config.own_folders, "agents"))
        self.effort_once: Effort | None = None
        """How much to think in the next run only, as an own command says."""
        self.session = session = open_log_session(config, SYSTEM_PROMPT)
        skills = load_skills(config.root, config.skills)
        self.tool_state = state = new_tool_state(config, session, is_visible=self._is_visible, skills=skills)
        self._gate = gate = config_gate(config, session, workspace, state.shell)
        state.may_reach = self._may_reach
        search = self._search if config.request_settings.entry.search else None
        budget, usual = RunBudget(config.limits), CallSettings()
        parent = ParentAgent(
            *(config, session, workspace, state, gate, budget, self._notice),
            lambda: self.agent.effort,
            config.tasks,
            self.sub_agents,
        )
        self.sub_agent_models = parent.models
        self.agent = build_agent(
            config,
            session,
            [*state.tools(config.responder), *state.web_tools(search), task_tool(parent), *config.more_tools],
            workspace,
            gate=gate,
            budget=budget,
            # A sub-agent has its own time limit.
            call_settings=replace(usual, seconds_by_tool={TASK_TOOL: 0.0, **usual.seconds_by_tool}),
            watch=self._notice,
        )
        hooks = SessionHooks(config.hooks, session, config.root, self._notice)
        self._messages = HookedMessages(
            hooks, self.agent, workspace, lambda: self.gate.mode, self._read_rules, self.watch
        )
        self._restore()

    async def say(self, text: str, *attached: str, images: Sequence[Image] = ()) -> End:
        """What a person says, and the run that follows. What is `attached` is data: an `@` in it is no mention."""
        return await self.hear(text, images=images, attached=attached) or await self._run()

    async def continue_run(self) -> End:
        """Continue from the log as it is, with nothing more said."""
        await self._messages.all_heard()
        self._read_rules()
        return await self._run()

    async def _run(self) -> End:
        self._messages.begin()
        usual, once = self.agent.effort, self.effort_once
        if once:
            self.agent.effort = once
            once = self.agent.effort  # the nearest level that the model has
        try:
            return await run(self.agent)
        finally:
            self.effort_once = None
            # A person may have chosen another meanwhile.
            if once and self.agent.effort == once:
                self.agent.effort = usual
            await self._messages.all_heard()

    async def hear(
        self, text: str, *, images: Sequence[Image] = (), attached: Sequence[str] = ()
    ) -> Stop | None:
        """Take in what a person says, with mentions resolved and what else the model should know by now. A hook may
        block it."""
        lines = await read_environment(Path(self.workspace.roots[0]))
        recap = self.session.window.transcript.recaps.get(KEY)
        at_end = recap.lines if recap else ()
        is_bound = self.agent.model_entry.binds_thinking and self.agent.effort != "off"
        if lines == (self._environment if is_bound else at_end):
            lines = ()
        ended = take_ended_jobs(self.tool_state.shell)
        reminders = [environment_reminder(lines)] if lines and is_bound else []
        if blocked := await self._messages.hear(text, *ended, *reminders, images=images, attached=attached):
            self.effort_once = None
            # The model still learns which jobs have ended.
            self.agent.say("", *ended)
            return blocked
        # After the message: a rewind to before it takes this back too.
        if lines and not is_bound:
            self.session.record(environment_recap(lines))
        elif is_bound and at_end:
            self.session.record(environment_recap(()))
        if is_bound:
            self._environment = lines or self._environment
        return None

    def add_message(self, text: str) -> ResolvedPrompt:
        """Take in what a person says, mentions resolved. While the agent works it waits for the next step."""
        return self._messages.add(text)

    def take_back(self, text: str) -> bool:
        """Take back the newest message with this text; False if the model was told it already."""
        return self._messages.take_back(text)

    async def run_own_command(self, command: str, listener: CallListener | None = None) -> ToolResult:
        """Run a command of the person, and tell the model of it with the next request."""
        self._stop_own = asyncio.Event()
        bash = self.agent.toolbox.find("Bash")
        return await run_own_command(
            command, self.session, bash, self.workspace, self._gate, self._stop_own, listener
        )

    def interrupt(self) -> bool:
        """End what runs: the hooks that hear a message, the agent, or a command of the person. Whether it was one
        of the first two."""
        self._stop_own.set()
        if self.agent.is_running:
            self.agent.interrupt()
        return self._messages.interrupt() or self.agent.is_running

    def undo(self, count: int = 1) -> str:
        """Undo the last edits; returns a diff for the person. Raises `ToolError` if they cannot be undone."""
        result = undo(self.tool_state.files, self.workspace, count)
        self.session.record(Noted("undo", result.envelope.text, result.envelope.data))
        self.agent.remind(
            f"The user took back your last edits. {result.envelope.text} Read before you edit again."
        )
        return result.shown

    @property
    def gate(self) -> PermissionGate:
        return self._gate.permission_gate

    @property
    def session_gate(self) -> SessionGate:
        return self._gate

    def _may_reach(self, site: str) -> bool:
        """By the rules as they are now: one may be added while the session is open."""
        return self.gate.permissions.may_reach(site)

    async def _search(self, query: str) -> SearchReport:
        return await search_web(self.agent, query)

    def reread(self) -> None:
        """Read the log again after a rewind, as if the session were opened on it. Running commands go on, and the
        mode stays."""
        before = self.session.window.transcript
        self.session.catch_up()
        now = self.session.window.transcript
        if now.system != before.system:
            self.session.record(SystemSet(before.system))
        if now.tools != before.tools:
            self.session.record(ToolsSet(before.tools))
        self._reminded.clear()
        self._environment = ()
        self._visible = None
        self.tool_state.forget()
        self._gate.reset()
        self._restore()

    async def aclose(self) -> None:
        try:
            await self._messages.all_heard()
            for job in self.tool_state.shell.background:
                # For the session that is resumed from the log.
                self.agent.say("", system_reminder(ENDED_WITH_SESSION.format(job.id)))
        finally:
            await self.agent.aclose()
            self.tool_state.close()
        if self.viewer is not None:
            await asyncio.to_thread(self.viewer.close)

    def _restore(self) -> None:
        entries = path(self.session.log.entries())
        self.tool_state.restore(entries)
        self._gate.restore(entries)

    def _read_rules(self) -> None:
        if not self.agent.is_running:
            before = self.session.window.transcript.rules
            self.session.record(*rule_changes(before, read_rules(self.workspace)))

    def _notice(self, notice: Notice) -> None:
        match notice:
            case FoldMade():
                self._reminded.clear()
                self._environment = ()
            case CallFinished(call=call, result=result):
                if not result.is_error:
                    self._remind_of_rules(str(call.arguments.get("path", "")))
                for ended in take_ended_jobs(self.tool_state.shell):
                    self.agent.remind(ended)
            case SubAgentNotice() if note := change_note(notice, self._step()):
                self.session.record(note)
                self.tool_state.note_sub_agent(note.data)
        self.watch(notice)

    def _remind_of_rules(self, file: str) -> None:
        """Remind the model of the rules of a file's folders, at the end of the log, where it costs no cache."""
        for folder in parent_folders(file):
            if folder in self._reminded:
                continue
            self._reminded.add(folder)
            if rules := read_rules(self.workspace, folder):
                about = f"For files in `{folder}` these rules hold too ({rules.path}):"
                self.agent.remind(system_reminder(f"{about}\n{rules.text.strip()}"))

    def _is_visible(self, file: str, first: int, last: int, since: int) -> bool:
        # Computed once for all reads of a step: nothing is folded in between, and what is new counts as not shown.
        state = (self._step(), len(self.tool_state.files.edits))
        if self._visible is None or self._visible[0] != state:
            self._visible = (state, visibility_of(self.session.window.view()))
        return self._visible[1].is_visible(file, first, last, since=since)

    def _step(self) -> int:
        return len(self.session.window.transcript.steps)


SERVER_SECONDS = 5.0
"""How long to wait for MCP servers; those that come later are reached through McpDescribe."""


class OpenedSession(Struct, frozen=True):
    """`notes` are what the person should know of how it was opened, and `late_notes` what became known since.
    `close` closes everything that was opened."""

    coding: CodingSession
    notes: tuple[str, ...]
    close: Callable[[], Awaitable[None]]
    late_notes: Callable[[], tuple[str, ...]] = lambda: ()


async def open_coding_session(
    options: AgentOptions,
    *,
    approver: Approver | None = None,
    responder: Responder | None = None,
    watch: Watch = unwatched,
    env: Mapping[str, str] = os.environ,
    model: Model | None = None,
    tasks: TaskSettings | None = None,
    servers: Mapping[str, Json] | None = None,
) -> OpenedSession:
    """Open what a person asked for. `model` is asked instead of the one that the options name; `servers` are MCP
    servers besides the configured ones, in the same form.

    Raises `NoModel` if no model can be asked, and other errors of `holdfast.errors`.
    """
    # Off the event loop: files are read and a sandbox is tried, and a terminal must go on painting.
    resolved = await asyncio.to_thread(resolve_config, options, env, model)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(resolved.model.aclose)
        mcp = McpServers(_servers(resolved, servers or {}), environment=env)
        stack.push_async_callback(mcp.close)
        mcp.start()
        patience = min(SERVER_SECONDS, options.limits.seconds or SERVER_SECONDS)
        await mcp.ready(patience)
        store = await asyncio.to_thread(open_store, resolved.store)
        stack.callback(store.close)
        log, log_notes = await asyncio.to_thread(_find_or_begin, options, resolved, store)
        config = replace(
            make_agent_config(resolved, store, log, options.limits, watch),
            approver=approver or UnattendedApprover(),
            responder=responder or NoAnswer(),
            more_tools=tuple(mcp.tools()),
            tasks=tasks or TaskSettings(),
            skills=config_folder(env) / "skills",
            own_folders=(config_folder(env), Path.home() / ".claude"),
            find_model=partial(find_model, config=resolved.config, env=env),
        )
        session = await asyncio.to_thread(CodingSession, config)
        stack.push_async_callback(session.aclose)
        close = stack.pop_all().aclose
    known = set(mcp.troubles)
    waiting = [
        f"the MCP server `{name}` did not start within {patience:g} s; its tools can be used once it has"
        for name in mcp.starting
    ]
    notes = (*log_notes, *resolved.notes, *_troubles(mcp), *waiting, *session.tool_state.skills.warnings)
    notes = (*notes, *session.own_commands.warnings, *session.sub_agents.warnings)
    return OpenedSession(session, notes, close, lambda: _troubles(mcp, known))


def _servers(resolved: ResolvedConfig, given: Mapping[str, Json]) -> dict[str, Server]:
    """The servers of the configuration, then those that are given; a program runs in the session's folder."""
    servers = {
        **configured_servers(resolved.config),
        **parse_servers(given, "the servers of the client"),
    }
    return {
        name: replace(one, cwd=one.cwd or str(resolved.root)) if isinstance(one, StdioServer) else one
        for name, one in servers.items()
    }


def _troubles(servers: McpServers, known: Collection[str] = ()) -> tuple[str, ...]:
    """A sentence for each server that cannot be used, without those that are known."""
    found = servers.troubles.items()
    return tuple(f"the MCP server `{name}` cannot be used: {why}" for name, why in found if name not in known)


def _find_or_begin(options: AgentOptions, resolved: ResolvedConfig, store: Store) -> ReadableLog:
    """The log to resume, salvaged if it is damaged, or a new one."""
    if options.log or options.resumes_newest:
        return resume_session(store, resolved.root, options.log)
    redact = resolved.profile.redact
    model = resolved.model.name
    return begin_session(store, resolved.root, title=options.title, model=model, redact=redact), ()
