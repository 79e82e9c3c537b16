"""Whether a call may be made: allow, ask or deny, with the reason, from the mode, the rules and the command itself.

Rule: a pure function of the call and its context, which knows where links lead. What a mode forbids no rule allows,
what a rule denies nothing allows, and anything else is asked about.
"""

from msgspec import Struct
from msgspec.structs import replace

from holdfast.errors import ConfigError
from holdfast.messages import ToolCall
from holdfast.tools.access import LEVELS, MEANINGS, Access, is_above
from holdfast.tools.commands import CommandRules, Judgement, Verdict, judge, pattern_for
from holdfast.tools.commands.fields import Follow, stay
from holdfast.tools.permissions.reading_commands import only_reads
from holdfast.tools.permissions.tool_rules import (
    COVERS,
    WITH_PATHS,
    PermissionMode,
    Permissions,
    ToolRule,
)

HARMLESS_TOOLS = frozenset({"BashOutput", "BashStop", "TodoWrite", "Recall", "AskUser", "Skill"})
"""Tools that change nothing but the session itself."""
CHANGES = COVERS["Edit"]


class CallContext(Struct, frozen=True):
    """Where a call is made. `path` is that of the call with links resolved, relative to the first root or absolute
    outside it; empty if the call has none."""

    roots: tuple[str, ...]
    cwd: str
    path: str = ""
    is_read_only: bool = False
    follow: Follow = stay
    is_confined: bool = False
    """Whether a sandbox holds commands to their access level."""


class PermissionDecision(Struct, frozen=True):
    verdict: Verdict
    reason: str = ""
    pattern: str = ""
    """The rule that would allow this call and similar ones; empty if none would."""
    part: str = ""
    """The part of a command that decides."""
    rule: str = ""
    """The person's rule or the mode that decided, if any."""
    access: Access = "write"
    """What a command may touch that is allowed, or that a person allows."""


ALLOWED = PermissionDecision("allow")
BY_NAME = "McpCall"
"""The tool that calls tools of MCP servers that have no definition of their own."""
PLAN = "this is plan mode, in which nothing is changed"


def decide(
    call: ToolCall, mode: PermissionMode, permissions: Permissions, context: CallContext
) -> PermissionDecision:
    decision = _decide(call, mode, permissions, context)
    if decision.verdict != "ask" or not (pattern := pattern_of(call, context)):
        return decision
    # Only a rule that would help is offered: one that asks outranks one that allows.
    try:
        helped = _decide(call, mode, permissions.allowing(pattern), context)
    except ConfigError:
        return decision  # a name or a path that cannot be written as a rule
    return replace(decision, pattern=pattern) if helped.verdict == "allow" else decision


def meant_tool(call: ToolCall) -> str:
    """The name of the tool that a call reaches, also through McpCall."""
    name = call.arguments.get("name")
    is_other = call.name == BY_NAME and isinstance(name, str) and name.startswith("mcp__")
    return str(name) if is_other else call.name


def pattern_of(call: ToolCall, context: CallContext) -> str:
    """The rule for a call and similar ones: a command by its first words, a file by its folder, otherwise the
    tool."""
    if call.name == "Bash":
        command = call.arguments.get("command")
        return pattern_for(command) if isinstance(command, str) else ""
    if call.name not in WITH_PATHS:
        name = meant_tool(call)
        return name if name.startswith("mcp__") else ""
    if not context.path or any(mark in context.path for mark in "*?[]{}\\()"):
        return ""
    name = next((name for name, tools in COVERS.items() if call.name in tools), call.name)
    folder = context.path.rpartition("/")[0]
    # A slash before a single name: without it the rule would mean that name in every folder.
    return f"{name}({folder}/**)" if folder.strip("/") else f"{name}(/{context.path.lstrip('/')})"


def _decide(
    call: ToolCall, mode: PermissionMode, permissions: Permissions, context: CallContext
) -> PermissionDecision:
    if rule := _hit(permissions.deny, call, context):
        return PermissionDecision("deny", f"the rule `{rule.text}` denies it", rule=rule.text)
    if call.name == "Bash":
        return _decide_command(call, mode, permissions, context)
    if mode == "plan" and not (context.is_read_only or call.name in HARMLESS_TOOLS):
        return PermissionDecision(
            "deny", f"{PLAN}, and {meant_tool(call)} changes something", rule="plan mode"
        )
    if rule := _hit(permissions.ask, call, context):
        return PermissionDecision("ask", f"the rule `{rule.text}` asks about it", rule=rule.text)
    if (
        _hit(permissions.allow, call, context)
        or context.is_read_only
        or call.name in HARMLESS_TOOLS
        or mode == "auto"
    ):
        return ALLOWED
    if call.name in CHANGES:
        return _decide_change(mode, permissions.commands, context)
    return PermissionDecision("ask", f"{meant_tool(call)} may change something")


def _hit(rules: tuple[ToolRule, ...], call: ToolCall, context: CallContext) -> ToolRule | None:
    names = {call.name, meant_tool(call)}
    return next((rule for rule in rules if any(rule.matches(name, context.path) for name in names)), None)


def _decide_change(mode: PermissionMode, rules: CommandRules, context: CallContext) -> PermissionDecision:
    if mode != "edit":
        return PermissionDecision("ask", f"it changes `{context.path}`")
    if any(
        part.lower() in rules.guarded or part.lower().endswith(".git") for part in context.path.split("/")
    ):
        return PermissionDecision(
            "ask", f"it changes `{context.path}`, with which other programs can be made to run commands"
        )
    return ALLOWED


def _decide_confined(
    call: ToolCall, command: str, mode: PermissionMode, permissions: Permissions, context: CallContext
) -> PermissionDecision:
    """A command in a sandbox: what it may touch decides, and not what it looks like."""
    if mode == "plan":
        return PermissionDecision("allow", "nothing can be changed", rule="plan mode", access="read")
    rules = permissions.commands
    usual: Access = "network" if permissions.network else "write"
    wanted = next((level for level in LEVELS if level == call.arguments.get("access")), usual)
    judged = _judged(command, context, rules)
    if rules.deny and judged.verdict == "deny":
        return PermissionDecision("deny", judged.reason, part=judged.part)
    asking = _judged(command, context, replace(rules, deny=rules.ask, ask=())) if rules.ask else None
    if asking and asking.verdict == "deny":
        return PermissionDecision("ask", asking.reason, part=asking.part, access=wanted)
    if is_above(wanted, usual) and (mode != "auto" or wanted == "full"):
        return PermissionDecision("ask", f"it {MEANINGS[wanted]}", access=wanted)
    if mode in ("edit", "auto"):
        return PermissionDecision("allow", "the sandbox holds it", rule=f"{mode} mode", access=wanted)
    if only_reads(command, in_sandbox=True):
        return PermissionDecision("allow", "it only reads", rule="ask mode", access="read")
    looked = _judged(command, context, _writing(rules, "ask"))
    if looked.verdict == "allow":
        # Its own rule may allow a command that writes.
        is_reading = _judged(command, context, replace(_writing(rules, "ask"), allow=())).verdict == "allow"
        if is_reading:
            return PermissionDecision("allow", "it only reads", rule="ask mode", access="read")
        return PermissionDecision("allow", "a rule allows it", access=wanted)
    return PermissionDecision("ask", looked.reason, part=looked.part, access=wanted)


def _decide_command(
    call: ToolCall, mode: PermissionMode, permissions: Permissions, context: CallContext
) -> PermissionDecision:
    command = call.arguments.get("command")
    if not isinstance(command, str):
        return ALLOWED  # the tool itself reports what is wrong
    if context.is_confined:
        return _decide_confined(call, command, mode, permissions, context)
    rules = permissions.commands
    real = [place for folder in rules.folders for place in context.follow(folder) or ()]
    rules = replace(rules, folders=(*rules.folders, *real, *context.roots[1:]))
    judged = _judged(command, context, rules)
    if judged.verdict == "deny":
        return PermissionDecision("deny", judged.reason, part=judged.part)
    if mode == "plan":
        # No file may be written, whatever a person allows.
        looked = _judged(command, context, replace(_writing(rules, "deny"), allow=()))
        if looked.verdict == "allow":
            return ALLOWED
        return PermissionDecision("deny", f"{PLAN}: {looked.reason}", part=looked.part, rule="plan mode")
    if mode == "ask" and judged.verdict == "allow":
        judged = _judged(command, context, _writing(rules, "ask"))
    # In auto mode only what a person's own rule names is asked about; here such rules deny, to find out.
    if judged.verdict == "allow" or (
        mode == "auto" and _judged(command, context, replace(rules, deny=rules.ask, ask=())).verdict != "deny"
    ):
        return ALLOWED
    return PermissionDecision("ask", judged.reason, part=judged.part)


def _judged(command: str, context: CallContext, rules: CommandRules) -> Judgement:
    return judge(command, root=context.roots[0], cwd=context.cwd, rules=rules, follow=context.follow)


def _writing(rules: CommandRules, verdict: Verdict) -> CommandRules:
    """Rules under which every write to a file is asked about, as it is for a tool that writes, or denied."""
    closed: dict[str, dict[str, Verdict]] = {
        kind: {place: ("allow" if place == "stream" and kind == "write" else verdict) for place in verdicts}
        for kind, verdicts in rules.places.items()
        if kind != "read"
    }
    return replace(rules, places={**rules.places, **closed})
