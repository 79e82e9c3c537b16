"""An editor for `holdfast acp`: the client of the protocol's own package, over real pipes.

with working(says("Hello.")) as server:
    async with editing(root, server) as (agent, editor, process):
        session = await agent.new_session(cwd=str(root))
        done = await agent.prompt(prompt=[text_block("Hi")], session_id=session.session_id)
        assert editor.text == "Hello."
"""

import asyncio
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from acp.schema import (
    AcceptElicitationResponse,
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    PermissionOption,
    RequestPermissionResponse,
    ToolCallUpdate,
)
from acp.stdio import spawn_agent_process

from support.agent_runs import environment
from support.provider_server import ProviderServer

SECONDS = 40.0
STDERR = "stderr"
"""Where the agent's messages are, beside the repository."""


class Editor:
    """What an editor is told, and how its person answers: with the first option of a kind or id in `answers`, or
    else by closing the dialog."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.updates: list[Any] = []
        self.form: dict[str, Any] | None = None
        """How a form is filled in; without it the editor has none."""
        self.forms: list[Any] = []
        self.asked: list[tuple[ToolCallUpdate, list[PermissionOption]]] = []
        self._news = asyncio.Event()

    async def session_update(self, update: Any, **_: Any) -> None:
        self.updates.append(update)
        self._news.set()

    async def request_permission(
        self, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        self.asked.append((tool_call, options))
        self._news.set()
        answer = self.answers.pop(0) if self.answers else ""
        if answer == "wait":
            await asyncio.Event().wait()
        chosen = [one.option_id for one in options if answer in (one.kind, one.option_id, one.name)]
        if not chosen:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen[0]))

    async def create_elicitation(self, mode: Any, **_: Any) -> AcceptElicitationResponse:
        self.forms.append(mode)
        return AcceptElicitationResponse(action="accept", content=self.form)

    def on_connect(self, conn: Any) -> None:
        pass

    def of(self, kind: str) -> list[Any]:
        return [one for one in self.updates if one.session_update == kind]

    def said(self, kind: str = "agent_message_chunk") -> str:
        return "".join(one.content.text for one in self.of(kind))

    @property
    def text(self) -> str:
        return self.said()

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until it was told enough."""

        async def wait() -> None:
            while not is_so():
                self._news.clear()
                await self._news.wait()

        await asyncio.wait_for(wait(), SECONDS)


@asynccontextmanager
async def editing(
    root: Path,
    server: ProviderServer,
    *arguments: str,
    editor: Editor | None = None,
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[tuple[Any, Editor, Process]]:
    """A connection to `holdfast acp`, initialized; the process is in another folder than the session."""
    model = f"compatible/test@{server.openai_url}"
    command = ["-m", "holdfast", "acp", "--model", model, "--sandbox", "off", *arguments]
    editor = editor or Editor()
    async with AsyncExitStack() as stack:
        errors = stack.enter_context((root.parent / STDERR).open("ab"))
        agent, process = await stack.enter_async_context(
            spawn_agent_process(
                editor,  # type: ignore[arg-type]
                sys.executable,
                *command,
                env={**environment(root), "HOLDFAST_DEBUG": "1", **(env or {})},
                cwd=root.parent,
                use_unstable_protocol=True,
                transport_kwargs={"shutdown_timeout": SECONDS, "stderr": errors.fileno()},
            )
        )
        forms = ElicitationCapabilities(form=ElicitationFormCapabilities()) if editor.form else None
        capabilities = ClientCapabilities(elicitation=forms)
        await agent.initialize(protocol_version=1, client_capabilities=capabilities)
        yield agent, editor, process


def run_editor(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 2 * SECONDS))
