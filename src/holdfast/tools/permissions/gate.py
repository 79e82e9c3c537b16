"""The gate before every call: it decides, asks where it must, and remembers the answers of this log.

Rule: a refusal is a result that the model reads, and every answer is an event in the log; fed with those events, a
new gate knows the same. An approval never lifts a denial. To tell where the paths of a command really lead, names
are looked at and no file is opened; if resolving a path would take too long, the call is asked about. What
happens between this look and the command is for the sandbox to hold.
"""

import contextlib
import os
import re
from typing import Literal, Protocol

from msgspec import Struct

from holdfast.errors import ConfigError
from holdfast.events import ApprovalGiven, ApprovalScope
from holdfast.messages import ToolCall
from holdfast.tools.access import Access
from holdfast.tools.commands.fields import BELOW, EVEN, HOME, SMOOTH, SOLID, WILD, name_pattern
from holdfast.tools.envelope import Envelope, EnvelopeError, ToolError, ToolResult, build_result, error_result
from holdfast.tools.permissions.decision import CallContext, PermissionDecision, decide, meant_tool
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

    decision: ApprovalScope
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
            "deny", f"a person would have to approve it, and nobody is there{offered}", by="policy"
        )


class GateResult(Struct, frozen=True):
    """The result of a check: a refusal or none, and an event if a person or a rule decided."""

    refusal: ToolResult | None = None
    event: ApprovalGiven | None = None
    access: Access = "write"
    """What a command may touch that is not refused."""


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
        decision = decide(call, self.mode, self.permissions, context)
        if earlier := self._earlier(call):
            if earlier.decision != "deny":
                return GateResult(access=decision.access)
            # A person's denial names no rule.
            by: Literal["person", "policy"] = "policy" if earlier.rule else "person"
            return GateResult(_refused(call, ApprovalAnswer("deny", earlier.reason, by=by)))
        same = for_log(call)
        if decision.verdict == "deny":
            event = ApprovalGiven(call.id, "deny", decision.rule or BUILT_IN, decision.reason)
            return GateResult(_denied(call, decision), event)
        if decision.verdict == "allow" or same in self._same:
            return GateResult(access=decision.access)
        question = ApprovalQuestion(
            call,
            _with_reason(decision.reason, call),
            decision.part,
            decision.pattern,
            same,
            self._denied.get(same, ""),
        )
        answer = await self.approver.approve(question)
        by_policy = UNATTENDED if answer.by == "policy" else ""
        rule = {"log": same, "pattern": question.pattern}.get(answer.decision, by_policy)
        # A pattern that was not offered is not a rule.
        given = answer.decision if rule or answer.decision == "deny" else "once"
        event = ApprovalGiven(call.id, given, rule, answer.reason)
        self.restore(event, call)
        return GateResult(_refused(call, answer) if given == "deny" else None, event, decision.access)

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


def for_log(call: ToolCall) -> str:
    """What an approval for the whole log covers, as a text that equal calls share."""
    if call.name == "Bash":
        access = call.arguments.get("access")
        level = f" with access `{access}`" if access in ("network", "full") else ""
        return f"Bash({call.arguments.get('command', '')}){level}"
    if call.name in WITH_PATHS:
        return f"{call.name}({call.arguments.get('path', '.')})"
    return meant_tool(call)


def call_context(
    call: ToolCall, workspace: Workspace, cwd: str, *, is_read_only: bool, is_confined: bool = False
) -> CallContext:
    """The context of a call. `cwd` is the folder that commands run in, as the workspace names it."""
    path = call.arguments.get("path", "." if call.name in WITH_PATHS else "")
    path = path if isinstance(path, str) else ""
    # One outside the workspace stays as written, since the tool refuses it anyway.
    with contextlib.suppress(ToolError):
        place = workspace.locate(path) if path else None
        if place:
            path = (place.inner or ".") if place.root == workspace.roots[0] else place.path
    return CallContext(
        workspace.roots, workspace.locate(cwd).path, path, is_read_only, real_places, is_confined
    )


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


MOST_NAMES = 10_000
"""Names that are looked at for one path,"""
MOST_BELOW = 200_000
"""and for one that means everything below it."""
_ROUGH = re.compile(r"^-|[\s\"'\\]")
"""What parts a name from a word: blanks, quotes, a dash at its start."""
_LAST = re.compile(f"([{BELOW}{SMOOTH}])({SOLID}?)([^/{WILD}-{HOME}]*)")


def real_places(path: str) -> tuple[str, ...] | None:
    """The real paths that an absolute one may mean, as the system resolves it, `..` behind links too; None where
    that cannot be told, or where names are not what the path says of them."""
    folder, _, name = path.rpartition("/")
    last = _LAST.fullmatch(name)
    path = folder or "/" if last else path
    if BELOW in path or SMOOTH in path:
        return None
    try:
        found = _matches(path) if WILD in path or EVEN in path else [path]
        if found is None:
            return None
        led = _followed(found)
        below = _led_below(led, last) if last else []
    except (OSError, ValueError, RecursionError):
        return None
    return None if below is None else tuple(dict.fromkeys([*led, *below]))


def _led_below(folders: list[str], wanted: re.Match[str]) -> list[str] | None:
    """Where the links below folders lead, and those below these. None for too many names, and for a rough one where
    smooth ones are wanted."""
    is_smooth, is_solid, ending = wanted[1] == SMOOTH, bool(wanted[2]), wanted[3]
    looked, led = 0, list[str]()
    waiting, seen = [(folder, False) for folder in folders], set(folders)
    while waiting:
        folder, is_rough = waiting.pop()
        for entry in _entries(folder):
            looked += 1
            is_folder = entry.is_dir(follow_symlinks=False)
            rough = is_smooth and (is_rough or bool(_ROUGH.search(entry.name)))
            is_meant = entry.name.endswith(ending) and not (is_folder and is_solid)
            if looked > MOST_BELOW or (rough and is_meant):
                return None
            if is_folder:
                waiting.append((entry.path, rough))
            elif is_meant and not is_solid and entry.is_symlink():
                target = os.path.realpath(entry.path)
                led.append(target)
                if target not in seen and os.path.isdir(target):  # noqa: PTH112
                    seen.add(target)
                    waiting.append((target, rough))
    return led


def _entries(folder: str) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def _matches(path: str) -> list[str] | None:
    """The paths that a pattern matches now."""
    heads, looked = [""], 0
    for part in path.split("/")[1:]:
        if WILD not in part and EVEN not in part:
            heads = [f"{head}/{part}" for head in heads]
            continue
        pattern = name_pattern(part)
        found = list[str]()
        for head in heads:
            names = [entry.name for entry in _entries(head or "/")]
            looked += len(names)
            if looked > MOST_NAMES:
                return None
            names = [name for name in names if pattern.fullmatch(name)]
            if EVEN in part and any(map(_ROUGH.search, names)):
                return None
            found += [f"{head}/{name}" for name in names]
        heads = found
    return heads


def _followed(paths: list[str]) -> list[str]:
    """Each folder is resolved once, since a pattern finds many names in one."""
    folders: dict[str, str] = {}
    out = list[str]()
    for path in paths:
        folder, _, name = path.rpartition("/")
        if len(paths) == 1 or name in ("", ".", "..") or os.path.islink(path):  # noqa: PTH114
            out.append(os.path.realpath(path))
            continue
        if folder not in folders:
            folders[folder] = os.path.realpath(folder or "/")
        out.append(f"{folders[folder].rstrip('/')}/{name}")
    return out
