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
from holdfast.events import ApprovalGiven, AssistantReplied, Entry, Noted
from holdfast.messages import Json, ToolCall
from holdfast.session import Session
from holdfast.tools.access import Access
from holdfast.tools.envelope import ToolResult
from holdfast.tools.permissions.decision import CallContext
from holdfast.tools.permissions.gate import (
    ApprovalAnswer,
    ApprovalQuestion,
    Approver,
    NoRuleKeeper,
    PermissionGate,
    RuleKeeper,
    call_context,
)
from holdfast.tools.permissions.tool_rules import PermissionMode, Permissions, RuleKind, ToolRule
from holdfast.tools.shell.shell import Shell
from holdfast.tools.tool import Tool
from holdfast.tools.workspace import Workspace

FORGOTTEN = "rule forgotten"
"""The remark in a log that a person took a rule back."""

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
        return await self.check(call, tool)

    async def check(self, call: ToolCall, tool: Tool, *, asked_by_hook: str = "") -> ToolResult | None:
        """A refusal, if there is one. With a reason in `asked_by_hook` a person is asked even about what is
        allowed."""
        checked = await self.permission_gate.check(call, self._context(call, tool), asked_by_hook)
        if checked.event:
            self._session.record(checked.event)
            if checked.event.decision == "pattern":
                self._configured = reduce(Permissions.allowing, checked.event.rules, self._configured)
            if checked.trouble:
                self._watch(Warned(f"The rule holds {checked.trouble}"))
        self._set_access(call, checked.access)
        return checked.refusal

    async def check_own(self, call: ToolCall, tool: Tool) -> ToolResult | None:
        """Check a call that a person makes: it may be denied, but nobody is asked."""
        checked = self.permission_gate.check_own(call, self._context(call, tool))
        self._set_access(call, checked.access)
        return checked.refusal

    def _context(self, call: ToolCall, tool: Tool) -> CallContext:
        shell = self._shell
        return call_context(
            call,
            self._workspace,
            shell.place(self._workspace).path if shell else ".",
            is_read_only=tool.is_read_only,
            sandbox=shell.sandbox.state if shell else "missing",
            folders=self._configured.folders,
        )

    def _set_access(self, call: ToolCall, access: Access) -> None:
        if self._shell and call.name == "Bash":
            # Commands run one after another, each right after this.
            self._shell.access = access
            self._shell.is_access_fixed = self.permission_gate.mode == "plan"

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

    def add_rule(self, kind: RuleKind, rule: str) -> None:
        """One more rule, by a person's own command."""
        gate = self.permission_gate
        self._configured = self._configured.adding(kind, rule, "a rule", tools=(rule,))
        gate.permissions = gate.permissions.adding(kind, rule, "a rule", tools=(rule,))

    def remove_rule(self, rule: str) -> None:
        """Take a rule back, also where an answer in this log gave it."""
        self._configured = self._configured.without(rule)
        self.permission_gate.permissions = self.permission_gate.permissions.without(rule)
        self._session.record(Noted(FORGOTTEN, f"The rule `{rule}` was taken back.", {"rule": rule}))

    def reset(self) -> None:
        """Forget the answers of this log; the mode and rules for good stay."""
        gate = self.permission_gate
        self.permission_gate = PermissionGate(self._configured, gate.approver, gate.mode, gate.keeper)

    def restore(self, entries: Sequence[Entry]) -> None:
        """Take the answers of a person from the log."""
        calls: dict[str, ToolCall] = {}
        given: list[tuple[ApprovalGiven, ToolCall | None]] = []
        for entry in entries:
            match entry.event:
                case AssistantReplied(parts=parts):
                    calls.update((part.id, part) for part in parts if isinstance(part, ToolCall))
                case ApprovalGiven(call_id=call_id) as approval:
                    given.append((approval, calls.get(call_id)))
                case Noted(kind=kind, data={"rule": rule}) if kind == FORGOTTEN:
                    given = [(_without_rule(approval, rule), call) for approval, call in given]
        for approval, call in given:
            self.permission_gate.restore(approval, call)


def _without_rule(approval: ApprovalGiven, rule: Json) -> ApprovalGiven:
    """An approval for good as if it had not been about a rule that was taken back."""
    if approval.decision != "pattern" or rule not in approval.rules:
        return approval
    rest = tuple(one for one in approval.rules if one != rule)
    return replace(approval, rule=next(iter(rest), ""), more_rules=rest[1:])


class FunctionApprover(Struct, frozen=True):
    """Asks a function about each call."""

    approve_call: Approve

    async def approve(self, question: ApprovalQuestion) -> ApprovalAnswer:
        answer = self.approve_call(question.call)
        is_approved = await answer if inspect.isawaitable(answer) else answer
        return ApprovalAnswer("once" if is_approved else "deny")
