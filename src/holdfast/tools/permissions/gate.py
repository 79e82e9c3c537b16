"""The gate before every call: it decides, asks where it must, and remembers the answers of this log.

Rule: a refusal is a result that the model reads, and every answer is an event in the log; fed with those events, a
new gate knows the same. An approval never lifts a denial. To tell where the paths of a command lead that no sandbox
holds, names are looked at and no file is opened.
"""

import contextlib
import glob
import itertools
import os
from collections.abc import Sequence
from functools import partial
from typing import Literal, Protocol

from msgspec import Struct

from holdfast.errors import ConfigError
from holdfast.events import ApprovalGiven, ApprovalScope
from holdfast.messages import ToolCall
from holdfast.tools.access import Access, SandboxState
from holdfast.tools.envelope import Envelope, EnvelopeError, ToolError, ToolResult, build_result, error_result
from holdfast.tools.permissions.decision import CallContext, PermissionDecision, decide, meant_tool
from holdfast.tools.permissions.plain_commands import LiteralWord
from holdfast.tools.permissions.tool_rules import PATH_TOOLS, PermissionMode, Permissions
from holdfast.tools.web_address import web_site
from holdfast.tools.workspace import Workspace

BUILT_IN, UNATTENDED = "built in", "unattended"
"""What events name as the rule where neither a person nor a person's rule decided."""


PlaceName = Literal["folder", "everywhere", "project"]
"""Rules can be kept for a person in this folder, for a person everywhere, and for everyone in a project."""


class RulePlace(Struct, frozen=True):
    """A place where rules can be kept, and the file it is, as people write it."""

    name: PlaceName
    file: str


class RuleKeeper(Protocol):
    """Keeps the rules that a person approves for good."""

    def places(self, rules: Sequence[str]) -> tuple[RulePlace, ...]:
        """Where these rules may be kept."""
        ...

    def keep(self, rules: Sequence[str], place: PlaceName) -> None:
        """**Contract:** raises OSError or ConfigError, and keeps nothing, if they cannot be kept there."""
        ...


class NoRuleKeeper(Struct, frozen=True):
    """Rules hold in this log only."""

    def places(self, _rules: Sequence[str]) -> tuple[RulePlace, ...]:
        return ()

    def keep(self, rules: Sequence[str], place: PlaceName) -> None:
        """Keep nothing."""


class ApprovalQuestion(Struct, frozen=True):
    """What is asked: the call, the reason for asking, and the rules that together would allow similar calls."""

    call: ToolCall
    reason: str
    offered_rules: tuple[str, ...]
    session_scope: str
    """What a yes for the whole session would allow: this very command, file or tool."""
    denied_before: str = ""
    """The reason of an earlier denial of the same call, `-` if it had none."""
    places: tuple[RulePlace, ...] = ()
    """Where the offered rules can be kept; without any they hold in this log only."""


class ApprovalAnswer(Struct, frozen=True):
    """`log` allows the same call again in this log; `pattern` keeps the offered rules for good, in `place`."""

    decision: ApprovalScope
    reason: str = ""
    by: Literal["person", "policy"] = "person"
    place: PlaceName = "folder"


class Approver(Protocol):
    """**Contract:** answers every question; `pattern` only if the question offers one."""

    async def approve(self, question: ApprovalQuestion) -> ApprovalAnswer: ...


class UnattendedApprover(Struct, frozen=True):
    """Nobody is there to ask: what no rule allows is denied."""

    async def approve(self, question: ApprovalQuestion) -> ApprovalAnswer:
        rules = " and ".join(f"`{rule}`" for rule in question.offered_rules)
        many = len(question.offered_rules) > 1
        offered = f"the rule{'s' * many} {rules} would allow it; " if rules else ""
        return ApprovalAnswer(
            "deny", f"{offered}nobody is there to approve it: {question.reason}", by="policy"
        )


class GateResult(Struct, frozen=True):
    """The result of a check: a refusal or none, and an event if a person or a rule decided."""

    refusal: ToolResult | None = None
    event: ApprovalGiven | None = None
    trouble: str = ""
    """Why a rule that a person approved for good is not kept."""
    access: Access = "write"
    """The access level of a command that is not refused."""


class PermissionGate:
    def __init__(
        self,
        permissions: Permissions,
        approver: Approver,
        mode: PermissionMode | None = None,
        keeper: RuleKeeper = NoRuleKeeper(),  # noqa: B008 - frozen
    ) -> None:
        self.permissions = permissions
        self.approver = approver
        self.mode: PermissionMode = mode or permissions.mode
        self.keeper = keeper
        self._approved_calls: set[str] = set()
        self._denied_calls: dict[str, str] = {}
        self._answers: dict[str, tuple[ApprovalGiven, ToolCall | None]] = {}

    def restore(self, event: ApprovalGiven, call: ToolCall | None = None) -> None:
        """Take over an answer of this log; `call` is the call it was about, if known."""
        self._answers[event.call_id] = event, call
        if event.decision == "log":
            self._approved_calls.add(event.rule)
        elif event.decision == "pattern":
            for rule in event.rules:
                # A rule in the syntax of another version is asked about again.
                with contextlib.suppress(ConfigError):
                    self.permissions = self.permissions.allowing(rule)
        elif event.decision == "deny" and call:
            self._denied_calls[session_scope(call)] = event.reason or "-"

    async def check(self, call: ToolCall, context: CallContext, asked_by_hook: str = "") -> GateResult:
        """With a reason in `asked_by_hook` even an allowed call is asked about, and no rule is offered."""
        decision = decide(call, self.mode, self.permissions, context)
        earlier = self._earlier(call)
        if earlier and (earlier.decision == "deny" or decision.verdict != "deny"):
            if earlier.decision != "deny":
                return GateResult(access=decision.access)
            # A person's denial names no rule.
            by: Literal["person", "policy"] = "policy" if earlier.rule else "person"
            return GateResult(_refused(call, ApprovalAnswer("deny", earlier.reason, by=by)))
        same = session_scope(call)
        if decision.verdict == "deny":
            event = ApprovalGiven(call.id, "deny", decision.rule or BUILT_IN, decision.reason)
            return GateResult(_denial(call, decision), event)
        if not asked_by_hook and (decision.verdict == "allow" or same in self._approved_calls):
            return GateResult(access=decision.access)
        offered = () if asked_by_hook else decision.offered_rules
        question = ApprovalQuestion(
            call,
            _with_reason(asked_by_hook or decision.reason, call),
            offered,
            same,
            self._denied_calls.get(same, ""),
            self.keeper.places(offered) if offered else (),
        )
        answer = await self.approver.approve(question)
        by_policy = UNATTENDED if answer.by == "policy" else ""
        rules = question.offered_rules if answer.decision == "pattern" else ()
        rule = same if answer.decision == "log" else next(iter(rules), by_policy)
        # A rule that was not offered is not kept.
        given = answer.decision if rule or answer.decision == "deny" else "once"
        trouble = self._keep(rules, answer.place) if given == "pattern" else ""
        event = ApprovalGiven(call.id, given, rule, answer.reason or trouble, rules[1:])
        self.restore(event, call)
        refusal = _refused(call, answer) if given == "deny" else None
        return GateResult(refusal, event, trouble, decision.access)

    def check_own(self, call: ToolCall, context: CallContext) -> GateResult:
        """Check a call of the person, who need not be asked about it."""
        decision = decide(call, self.mode, self.permissions, context)
        refusal = _denial(call, decision) if decision.verdict == "deny" else None
        return GateResult(refusal, access=decision.access)

    def _keep(self, rules: Sequence[str], place: PlaceName) -> str:
        """Keep rules for good. Returns why they hold in this log only, if so."""
        try:
            self.keeper.keep(rules, place)
        except (OSError, ConfigError) as error:
            return f"in this log only, since the rule cannot be kept: {error}"
        return ""

    def _earlier(self, call: ToolCall) -> ApprovalGiven | None:
        """The answer that this very call got before a process died. The id alone is not enough: some providers
        number the calls of each reply from the start. If the call is not known, only a denial counts."""
        event, about = self._answers.get(call.id, (None, None))
        is_denied = event is not None and event.decision == "deny" and about is None
        return event if about == call or is_denied else None


def _with_reason(reason: str, call: ToolCall) -> str:
    """Why a call is asked about, with what the model says that it needs it for."""
    given = call.arguments.get("reason") if call.name == "Bash" else ""
    return (
        f"{reason}; the agent says: {given.strip()}" if isinstance(given, str) and given.strip() else reason
    )


def session_scope(call: ToolCall) -> str:
    """What an approval for the whole log covers, as a text that equal calls share."""
    if call.name == "Bash":
        access = call.arguments.get("access")
        level = f" with {access}" if access in ("network", "full") else ""
        return f"Bash({call.arguments.get('command', '')}){level}"
    if call.name in PATH_TOOLS:
        return f"{call.name}({call.arguments.get('path', '.')})"
    if call.name == "WebFetch":
        return f"WebFetch(domain:{web_site(call.arguments.get('url'))})"
    return meant_tool(call)


def call_context(
    call: ToolCall,
    workspace: Workspace,
    cwd: str,
    *,
    is_read_only: bool,
    sandbox: SandboxState = "missing",
    folders: tuple[str, ...] = (),
) -> CallContext:
    """The context of a call. `cwd` is the folder that commands run in, as the workspace names it; `folders` are
    others that they may work in."""
    if call.name == "WebFetch":
        return CallContext(web_site(call.arguments.get("url")), is_read_only, sandbox=sandbox)
    path = call.arguments.get("path", "." if call.name in PATH_TOOLS else "")
    path = path if isinstance(path, str) else ""
    # One outside the workspace stays as written, since the tool refuses it anyway.
    with contextlib.suppress(ToolError):
        place = workspace.locate(path) if path else None
        if place:
            path = (place.inner or ".") if place.root == workspace.roots[0] else place.path
    if not workspace.roots:
        return CallContext(path, is_read_only, lambda _: True, sandbox=sandbox)
    roots = (*workspace.roots, *map(os.path.realpath, folders))
    leads_out = partial(_leads_out, cwd=workspace.locate(cwd).path, roots=roots)
    has_repository = os.path.lexists(os.path.join(workspace.roots[0], ".git"))  # noqa: PTH118
    return CallContext(path, is_read_only, leads_out, has_repository, sandbox)


def _denial(call: ToolCall, decision: PermissionDecision) -> ToolResult:
    part = f" (`{decision.part}`)" if decision.part and decision.part != call.arguments.get("command") else ""
    error = ToolError(
        "ACCESS_DENIED",
        f"{call.name} was not run{part}: {decision.reason}",
        hint="Do not try to get around it; do without, or ask the user",
    )
    return error_result(error, {"tool": call.name})


def _refused(call: ToolCall, answer: ApprovalAnswer) -> ToolResult:
    if answer.by == "policy":
        return _denial(call, PermissionDecision("deny", answer.reason))
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


MOST_NAMES = 10_000
"""Names that a pattern may match for each to be followed."""


def _leads_out(word: LiteralWord, cwd: str, roots: tuple[str, ...]) -> bool:
    """Whether a path in a command leads to a file outside, followed as the system does, `..` behind links too."""
    names = [word.text]
    try:
        if word.has_glob:
            found = glob.iglob(word.text, root_dir=cwd, include_hidden=True)  # noqa: PTH207
            names = list(itertools.islice(found, MOST_NAMES))
        return len(names) == MOST_NAMES or any(_is_outside(os.path.join(cwd, name), roots) for name in names)  # noqa: PTH118
    except (OSError, ValueError):
        return True


def _is_outside(path: str, roots: tuple[str, ...]) -> bool:
    real = os.path.realpath(path)
    is_inside = any(real == root or real.startswith(f"{root.rstrip('/')}/") for root in roots)
    return not is_inside and os.path.lexists(path)
