"""Whether a call may be made: allow, ask or deny, with the reason, from the mode, the rules and the sandbox.

Rule: a pure function of the call and its context, which knows where links lead. What a mode forbids no rule allows,
what a rule denies nothing allows, and anything else is asked about. Of a command, what the sandbox lets it touch
decides, and not what it looks like.
"""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from holdfast.errors import ConfigError
from holdfast.messages import ToolCall
from holdfast.tools.access import LEVELS, MEANINGS, Access, is_above
from holdfast.tools.permissions.command_rules import CommandRule, granted_access, rule_for
from holdfast.tools.permissions.plain_commands import LiteralWord
from holdfast.tools.permissions.reading_commands import LeadsOut, doubt_of, find_doubt
from holdfast.tools.permissions.tool_rules import (
    COVERS,
    WITH_PATHS,
    PermissionMode,
    Permissions,
    ToolRule,
)

Verdict = Literal["allow", "ask", "deny"]
HARMLESS_TOOLS = frozenset({"BashOutput", "BashStop", "TodoWrite", "Recall", "AskUser", "Skill"})
"""Tools that change nothing but the session itself."""
CHANGES = COVERS["Edit"]
GUARDED_NAMES = frozenset(
    """
    .git head .gitconfig .gitmodules .gitattributes .envrc .bashrc .bash_profile .bash_login .profile .zshrc .zshenv
    .zprofile .inputrc .npmrc .yarnrc .yarnrc.yml .pypirc .netrc .ssh .aws .gnupg .vscode .idea .husky .direnv
    .ripgreprc .mcp.json .claude .holdfast holdfast.toml
    """.split()
)
"""Files and folders, in small letters, with which other programs can be made to run commands. `HEAD` makes a folder
a bare repository, whose `config` names programs that Git runs."""


def is_spelled_outside(word: LiteralWord) -> bool:
    """Whether a path leads out by its spelling alone."""
    return word.text.startswith(("/", "~")) or ".." in word.text.split("/")


class CallContext(Struct, frozen=True):
    """Where a call is made. `path` is that of the call with links resolved, relative to the first root or absolute
    outside it; empty if the call has none."""

    roots: tuple[str, ...]
    cwd: str
    path: str = ""
    is_read_only: bool = False
    leads_out: LeadsOut = is_spelled_outside
    is_confined: bool = False
    """Whether a sandbox holds commands to their access level."""
    is_sandbox_off: bool = False
    """Whether a person chose to have none."""


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
        command, access = call.arguments.get("command"), _asked_access(call)
        is_more = context.is_confined and access in ("network", "full")
        return rule_for(command, access if is_more else None) if isinstance(command, str) else ""
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
        return _decide_change(mode, context)
    return PermissionDecision("ask", f"{meant_tool(call)} may change something")


def _hit(rules: tuple[ToolRule, ...], call: ToolCall, context: CallContext) -> ToolRule | None:
    names = {call.name, meant_tool(call)}
    return next((rule for rule in rules if any(rule.matches(name, context.path) for name in names)), None)


def _decide_change(mode: PermissionMode, context: CallContext) -> PermissionDecision:
    if mode != "edit":
        return PermissionDecision("ask", f"it changes `{context.path}`")
    parts = context.path.lower().split("/")
    if any(part in GUARDED_NAMES or part.endswith(".git") for part in parts):
        return PermissionDecision(
            "ask", f"it changes `{context.path}`, with which other programs can be made to run commands"
        )
    return ALLOWED


def _decide_command(
    call: ToolCall, mode: PermissionMode, permissions: Permissions, context: CallContext
) -> PermissionDecision:
    command = call.arguments.get("command")
    if not isinstance(command, str):
        return ALLOWED  # the tool itself reports what is wrong
    if mode == "plan" and context.is_confined:
        return PermissionDecision("allow", "nothing can be changed", rule="plan mode", access="read")
    rules = permissions.commands
    for rule in rules.deny:
        if part := rule.finds(command):
            return PermissionDecision("deny", f"the rule `{rule.text}` denies it", part=part, rule=rule.text)
    usual: Access = "network" if permissions.network else "write"
    # Without a sandbox there are no levels.
    usual = usual if context.is_confined else "full"
    doubt = find_doubt(command, None if context.is_confined else context.leads_out)
    if mode == "plan":
        if doubt is None:
            return PermissionDecision("allow", "it only reads", rule="plan mode", access=usual)
        reason = f"{PLAN}, and there is no sandbox to hold a command: {doubt.reason}"
        return PermissionDecision("deny", reason, part=doubt.part, rule="plan mode", access=usual)
    granted = _granted(rules.allow, command, usual, context)
    asked = _asked_access(call) if context.is_confined else usual
    wanted: Access = asked or granted or usual
    for rule in rules.ask:
        if part := rule.finds(command):
            reason = f"the rule `{rule.text}` asks about it"
            return PermissionDecision("ask", reason, part=part, rule=rule.text, access=wanted)
    if granted and not is_above(wanted, granted):
        return PermissionDecision("allow", "a rule allows it", access=wanted)
    if is_above(wanted, usual) and (mode != "auto" or wanted == "full"):
        return PermissionDecision("ask", f"it {MEANINGS[wanted]}", access=wanted)
    is_free = mode in ("edit", "auto") if context.is_confined else mode == "auto" and context.is_sandbox_off
    if is_free:
        reason = "the sandbox holds it" if context.is_confined else "nothing is asked about"
        return PermissionDecision("allow", reason, rule=f"{mode} mode", access=wanted)
    if doubt is None:
        access: Access = "read" if context.is_confined else usual
        return PermissionDecision("allow", "it only reads", rule=f"{mode} mode", access=access)
    return PermissionDecision("ask", doubt.reason, part=doubt.part, access=wanted)


def _asked_access(call: ToolCall) -> Access | None:
    return next((level for level in LEVELS if level == call.arguments.get("access")), None)


def _granted(
    rules: tuple[CommandRule, ...], command: str, usual: Access, context: CallContext
) -> Access | None:
    # What reads beside a command with full access can read everything too.
    is_strict = usual == "full" or any(rule.access == "full" for rule in rules)
    leads_out = context.leads_out if is_strict else None
    return granted_access(rules, command, usual=usual, reads=lambda one: not doubt_of(one, leads_out))
