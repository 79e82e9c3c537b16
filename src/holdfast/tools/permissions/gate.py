"""The gate before every call: it decides, asks where it must, and remembers the answers of this log.

Rule: a refusal is a result that the model reads, and every answer is an event in the log; fed with those events, a
new gate knows the same. An approval never lifts a denial.
"""

from typing import Literal, Protocol

from msgspec import Struct

from holdfast.errors import ConfigError
from holdfast.events import ApprovalGiven
from holdfast.messages import ToolCall
from holdfast.tools.envelope import Envelope, EnvelopeError, ToolError, ToolResult, build_result, error_result
from holdfast.tools.permissions.decision import CallContext, PermissionDecision, decide, meant_tool
from holdfast.tools.permissions.links import real_places
from holdfast.tools.permissions.tool_rules import WITH_PATHS, PermissionMode, Permissions
from holdfast.tools.workspace import Workspace

BUILT_IN, UNATTENDED = "built in", "unattended"
"""What events name as the rule where neither a person nor a person's rule decided."""


class ApprovalQuestion(Struct, frozen=True):
    """What is asked: the call, the reason for asking, and the rule that would allow similar calls."""

    call: ToolCall
    reason: str
    part: str
    pattern: str
    for_log: str
    """What an answer for the whole log would allow: this very command, file or tool."""
    denied_before: str = ""
    """The reason of an earlier denial of the same call, `-` if it had none."""


class ApprovalAnswer(Struct, frozen=True):
    """`log` allows the same call again in this log, `pattern` everything that the offered rule covers."""

    decision: Literal["once", "log", "pattern", "deny"]
    reason: str = ""
    by: Literal["person", "policy"] = "person"


class Approver(Protocol):
    """**Contract:** answers every question; `pattern` only if the question offers one."""

    async def approve(self, question: ApprovalQuestion) -> ApprovalAnswer: ...


class UnattendedApprover(Struct, frozen=True):
    """Nobody is there to ask: what no rule allows is denied, or what no rule denies is allowed."""

    policy: Literal["deny", "allow"] = "deny"

    async def approve(self, question: ApprovalQuestion) -> ApprovalAnswer:
        if self.policy == "allow":
            return ApprovalAnswer("once", by="policy")
        offered = f"; the rule `{question.pattern}` would allow it" if question.pattern else ""
        return ApprovalAnswer(
            "deny", f"it would have to be asked about and nobody is there{offered}", by="policy"
        )


class GateResult(Struct, frozen=True):
    """The result of a check: a refusal or none, and an event if a person or a rule decided."""

    refusal: ToolResult | None = None
    event: ApprovalGiven | None = None

    @property
    def is_open(self) -> bool:
        return self.refusal is None


class PermissionGate:
    def __init__(
        self, permissions: Permissions, approver: Approver, mode: PermissionMode | None = None
    ) -> None:
        self.permissions = permissions
        self.approver = approver
        self.mode: PermissionMode = mode or permissions.mode
        self._same: set[str] = set()
        self._denied: dict[str, str] = {}
        self._answers: dict[str, tuple[ApprovalGiven, ToolCall | None]] = {}

    def restore(self, event: ApprovalGiven, call: ToolCall | None = None) -> None:
        """Take over an answer of this log; `call` is the call it was about, if known."""
        self._answers[event.call_id] = event, call
        if event.decision == "log":
            self._same.add(event.rule)
        elif event.decision == "pattern":
            try:
                self.permissions = self.permissions.allowing(event.rule)
            except ConfigError:
                return  # a rule in the syntax of another version: it is asked again
        elif event.decision == "deny" and call:
            self._denied[for_log(call)] = event.reason or "-"

    async def check(self, call: ToolCall, context: CallContext) -> GateResult:
        if earlier := self._earlier(call):
            if earlier.decision != "deny":
                return GateResult()
            # A person's denial names no rule.
            by: Literal["person", "policy"] = "policy" if earlier.rule else "person"
            return GateResult(_refused(call, ApprovalAnswer("deny", earlier.reason, by=by)))
        decision = decide(call, self.mode, self.permissions, context)
        same = for_log(call)
        if decision.verdict == "deny":
            event = ApprovalGiven(call.id, "deny", decision.rule or BUILT_IN, decision.reason)
            return GateResult(_denied(call, decision), event)
        if decision.verdict == "allow" or same in self._same:
            return GateResult()
        question = ApprovalQuestion(
            call, decision.reason, decision.part, decision.pattern, same, self._denied.get(same, "")
        )
        answer = await self.approver.approve(question)
        by_policy = UNATTENDED if answer.by == "policy" else ""
        rule = {"log": same, "pattern": question.pattern}.get(answer.decision, by_policy)
        # A pattern that was not offered is not a rule.
        given = answer.decision if rule or answer.decision == "deny" else "once"
        event = ApprovalGiven(call.id, given, rule, answer.reason)
        self.restore(event, call)
        return GateResult(_refused(call, answer) if given == "deny" else None, event)

    def _earlier(self, call: ToolCall) -> ApprovalGiven | None:
        """The answer that this very call got before a process died. The id alone is not enough: some providers
        number the calls of each reply from the start. If the call is not known, only a denial counts."""
        event, about = self._answers.get(call.id, (None, None))
        is_denied = event is not None and event.decision == "deny" and about is None
        return event if about == call or is_denied else None


def for_log(call: ToolCall) -> str:
    """What an approval for the whole log covers, as a text that equal calls share."""
    if call.name == "Bash":
        return f"Bash({call.arguments.get('command', '')})"
    if call.name in WITH_PATHS:
        return f"{call.name}({call.arguments.get('path', '.')})"
    return meant_tool(call)


def call_context(call: ToolCall, workspace: Workspace, cwd: str, *, is_read_only: bool) -> CallContext:
    """The context of a call. `cwd` is the folder that commands run in, as the workspace names it."""
    path = call.arguments.get("path", "." if call.name in WITH_PATHS else "")
    here = workspace.locate(cwd)
    return CallContext(workspace.roots, here.path, _resolved(workspace, path), is_read_only, real_places)


def _resolved(workspace: Workspace, path: object) -> str:
    """A path as rules see it; one outside the workspace as written, since the tool refuses it anyway."""
    if not isinstance(path, str) or not path:
        return ""
    try:
        place = workspace.locate(path)
    except ToolError:
        return path
    return (place.inner or ".") if place.root == workspace.roots[0] else place.path


def _denied(call: ToolCall, decision: PermissionDecision) -> ToolResult:
    part = f" (`{decision.part}`)" if decision.part and decision.part != call.arguments.get("command") else ""
    error = ToolError(
        "ACCESS_DENIED",
        f"{call.name} was not run{part}: {decision.reason}",
        hint="Do not try to get around it; do without, or ask the user",
    )
    return error_result(error, {"tool": call.name})


def _refused(call: ToolCall, answer: ApprovalAnswer) -> ToolResult:
    if answer.by == "policy":
        return _denied(call, PermissionDecision("deny", answer.reason))
    reason = f" The reason: the user said: {answer.reason}" if answer.reason else ""
    sentence = f"The user denied this call of {call.name}; nothing was done.{reason}"
    # Without the error code: readers of a log recognize a person's refusal by these words.
    envelope = Envelope(
        status="error",
        text=sentence,
        error=EnvelopeError("ACCESS_DENIED", sentence),
        context={"tool": call.name},
    )
    return build_result(envelope, sentence)
