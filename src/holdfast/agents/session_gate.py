"""The gate before the calls of an agent: it asks for approval where that is needed, and the log keeps every answer.

Rule: an answer holds for the session's log; after a restart the gate knows it from there.
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Sequence
from functools import reduce

from msgspec import Struct
from msgspec.structs import replace

from holdfast.agents.notices import Warned, Watch, unwatched
from holdfast.events import ApprovalGiven, AssistantReplied, Entry
from holdfast.messages import ToolCall
from holdfast.session import Session
from holdfast.tools.envelope import ToolResult
from holdfast.tools.permissions.gate import (
    ApprovalAnswer,
    ApprovalQuestion,
    Approver,
    NoRuleKeeper,
    PermissionGate,
    RuleKeeper,
    call_context,
)
from holdfast.tools.permissions.tool_rules import PermissionMode, Permissions, ToolRule
from holdfast.tools.shell.shell import Shell
from holdfast.tools.tool import Tool
from holdfast.tools.workspace import Workspace

Approve = Callable[[ToolCall], bool | Awaitable[bool]]
"""Whether a call may be made. It is asked for tools that are not read-only, once for each call."""


class SessionGate:
    """`shell` is the one whose commands it lets through, for an agent that has one."""

    def __init__(
        self,
        permissions: Permissions,
        approver: Approver,
        session: Session,
        workspace: Workspace,
        shell: Shell | None = None,
        *,
        mode: PermissionMode | None = None,
        keeper: RuleKeeper = NoRuleKeeper(),  # noqa: B008 - frozen
        watch: Watch = unwatched,
    ) -> None:
        self._configured = permissions
        self._session = session
        self._workspace = workspace
        self._shell = shell
        self._frozen: tuple[ToolRule, ...] = ()
        self.permission_gate = PermissionGate(permissions, approver, mode, keeper)
        self._watch = watch

    async def __call__(self, call: ToolCall, tool: Tool) -> ToolResult | None:
        shell = self._shell
        context = call_context(
            call,
            self._workspace,
            shell.place(self._workspace).path if shell else ".",
            is_read_only=tool.is_read_only,
            sandbox=shell.sandbox.state if shell else "missing",
            folders=self._configured.folders,
        )
        checked = await self.permission_gate.check(call, context)
        if checked.event:
            self._session.record(checked.event)
            if checked.event.decision == "pattern":
                self._configured = reduce(Permissions.allowing, checked.event.rules, self._configured)
            if checked.trouble:
                self._watch(Warned(f"The rule holds {checked.trouble}"))
        if shell and call.name == "Bash":
            # Commands run one after another, each right after this.
            shell.access = checked.access
            shell.is_access_fixed = self.permission_gate.mode == "plan"
        return checked.refusal

    def deny_changes(self, paths: Sequence[str]) -> None:
        """Refuse changes of these files, whatever other rules allow. They are named from the workspace."""
        rules = tuple(ToolRule("Edit", re.compile(re.escape(path)), f"Edit({path})") for path in paths)
        own = self._configured
        self._configured = replace(
            own, deny=(*(rule for rule in own.deny if rule not in self._frozen), *rules)
        )
        gate = self.permission_gate
        kept = tuple(rule for rule in gate.permissions.deny if rule not in self._frozen)
        gate.permissions = replace(gate.permissions, deny=(*kept, *rules))
        self._frozen = rules

    def reset(self) -> None:
        """Forget the answers of this log; the mode and rules for good stay."""
        gate = self.permission_gate
        self.permission_gate = PermissionGate(self._configured, gate.approver, gate.mode, gate.keeper)

    def restore(self, entries: Sequence[Entry]) -> None:
        """Take the answers of a person from the log."""
        calls: dict[str, ToolCall] = {}
        for entry in entries:
            match entry.event:
                case AssistantReplied(parts=parts):
                    calls.update((part.id, part) for part in parts if isinstance(part, ToolCall))
                case ApprovalGiven(call_id=call_id) as approval:
                    self.permission_gate.restore(approval, calls.get(call_id))


class FunctionApprover(Struct, frozen=True):
    """Asks a function about each call."""

    approve_call: Approve

    async def approve(self, question: ApprovalQuestion) -> ApprovalAnswer:
        answer = self.approve_call(question.call)
        is_approved = await answer if inspect.isawaitable(answer) else answer
        return ApprovalAnswer("once" if is_approved else "deny")
