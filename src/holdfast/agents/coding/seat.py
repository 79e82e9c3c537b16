"""A seat: an agent at its tools, with a log, a window and a gate of its own. A talk has one, and each sub-agent.

Rule: every call passes the gate, and every answer of a person goes into the log.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from holdfast.agents.agent import Agent
from holdfast.agents.coding.bench import Bench
from holdfast.agents.notices import Watch
from holdfast.agents.opening import Opening
from holdfast.agents.seating import seated
from holdfast.events import ApprovalGiven, AssistantReplied
from holdfast.messages import Json, ToolCall
from holdfast.recall import answer_recall
from holdfast.session import Session
from holdfast.tools.calling import CallSettings
from holdfast.tools.envelope import ToolResult
from holdfast.tools.permissions import Gate, scene_of
from holdfast.tools.protocol import Tool
from holdfast.tools.shell.shell import Shell
from holdfast.tools.toolbox import Toolbox
from holdfast.tools.workspace import Workspace
from holdfast.views import path


class Seat:
    """**Contract:** `sit` is called once, when the tools are made; `session` and `agent` are there from then on.
    The store is the opener's and stays open."""

    session: Session
    agent: Agent

    def __init__(self, opening: Opening, workspace: Workspace, bench: Bench, gate: Gate) -> None:
        self.opening = opening
        self.workspace = workspace
        self.bench = bench
        self.gate = gate

    def sit(
        self, tools: Iterable[Tool], system: str, watch: Watch, settings: CallSettings | None = None
    ) -> None:
        toolbox = Toolbox(tools, self.workspace, gate=self._check, settings=settings)
        self.agent = seated(self.opening, toolbox, system, watch)
        self.session = self.agent.session

    def restore(self) -> None:
        """What the log says of files, todos and answers of a person, for whoever goes on with it."""
        entries = path(self.session.log.entries())
        self.bench.restore(entries)
        calls: dict[str, ToolCall] = {}
        for entry in entries:
            match entry.event:
                case AssistantReplied(parts=parts):
                    calls.update((part.id, part) for part in parts if isinstance(part, ToolCall))
                case ApprovalGiven(call_id=call_id) as approval:
                    self.gate.restore(approval, calls.get(call_id))

    def recall(self, arguments: Mapping[str, Json]) -> tuple[str, bool]:
        return answer_recall(self.session.store, arguments, log=self.session.log.id)

    async def aclose(self) -> None:
        await self.agent.aclose()
        self.bench.close()

    async def _check(self, call: ToolCall, tool: Tool) -> ToolResult | None:
        """Whether a call may be made; every answer goes into the log."""
        cwd = self.bench.shell.place(self.workspace).path
        scene = scene_of(call, self.workspace, cwd, is_read_only=tool.is_read_only)
        passage = await self.gate.check(call, scene)
        if passage.event:
            self.session.record(passage.event)
        return passage.refusal


def shell_of(opening: Opening) -> Shell:
    return Shell(sandbox=opening.sandbox, passes=opening.permissions.variables)


def protected_by(opening: Opening) -> tuple[Path, ...]:
    """Folders that no edit may reach."""
    return (opening.snapshots,) if opening.snapshots else ()
