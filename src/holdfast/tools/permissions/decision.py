"""Whether a call may be made: allow, ask or deny, with the reason, from the mode, the rules and the sandbox.

Rule: a pure function of the call and its context, which knows where links lead. What a mode forbids no rule allows,
what a rule denies nothing allows but plan mode in a sandbox, where a command can do no harm, and anything else is
asked about. Of a command, what the sandbox lets it touch decides, and not what it looks like.
"""

from functools import partial, reduce
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from holdfast.errors import ConfigError
from holdfast.messages import ToolCall
from holdfast.tools.access import LEVELS, MEANINGS, Access, SandboxState, is_above
from holdfast.tools.permissions.command_rules import CommandGrant, CommandRule, find_grant
from holdfast.tools.permissions.offered_rules import rules_for
from holdfast.tools.permissions.plain_commands import LiteralWord, PlainCommand
from holdfast.tools.permissions.reading_commands import (
    LeadsOut,
    StrictScope,
    why_not_reading,
    why_not_reading_one,
)
from holdfast.tools.permissions.tool_rules import (
    COVERS,
    HARMLESS_TOOLS,
    PATH_TOOLS,
    WEB_TOOLS,
    PermissionMode,
    Permissions,
    ToolRule,
)
from holdfast.tools.web_address import is_local_site

Verdict = Literal["allow", "ask", "deny"]
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
    outside it; empty if the call has none. For WebFetch it is the site, as rules name it."""

    path: str = ""
    is_read_only: bool = False
    leads_out: LeadsOut = is_spelled_outside
    has_repository: bool = True
    """Whether the workspace is the top of a repository of its own."""
    sandbox: SandboxState = "missing"


class PermissionDecision(Struct, frozen=True):
    verdict: Verdict
    reason: str = ""
    offered_rules: tuple[str, ...] = ()
    """The rules that together would allow this call and similar ones; empty if none would."""
    part: str = ""
    """The part of a command that decides."""
    rule: str = ""
    """The person's rule or the mode that decided, if any."""
    access: Access = "write"
    """The access level of the command if it runs."""


ALLOWED = PermissionDecision("allow")
BY_NAME = "McpCall"
"""The tool that calls tools of MCP servers that have no definition of their own."""
PLAN = "this is plan mode, in which nothing is changed"


def decide(
    call: ToolCall, mode: PermissionMode, permissions: Permissions, context: CallContext
) -> PermissionDecision:
    decision = _decide(call, mode, permissions, context)
    if decision.verdict != "ask" or not (rules := rules_to_offer(call, permissions, context)):
        return decision
    # Only rules that would help are offered: one that asks outranks one that allows.
    try:
        helped = _decide(call, mode, reduce(Permissions.allowing, rules, permissions), context)
    except ConfigError:
        return decision  # a name or a path that cannot be written as a rule
    return replace(decision, offered_rules=rules) if helped.verdict == "allow" else decision


def meant_tool(call: ToolCall) -> str:
    """The name of the tool that a call reaches, also through McpCall."""
    name = call.arguments.get("name")
    is_other = call.name == BY_NAME and isinstance(name, str) and name.startswith("mcp__")
    return str(name) if is_other else call.name


def rules_to_offer(call: ToolCall, permissions: Permissions, context: CallContext) -> tuple[str, ...]:
    """The rules for a call and similar ones: a command by the first words of the parts that no rule allows yet, a
    file by its folder, otherwise the tool."""
    if call.name == "Bash":
        command, access = call.arguments.get("command"), _asked_access(call)
        if not isinstance(command, str):
            return ()
        is_held = context.sandbox == "holds"
        is_more = is_held and access in ("network", "full")
        scope = StrictScope() if is_held and access != "full" else _scope_beside_full(context)
        usual: Access = permissions.usual_access if is_held else "full"
        wanted = access or usual if is_held else usual

        def needs_rule(part: PlainCommand) -> bool:
            return not (
                _reads_beside(part, scope=scope)
                or _is_allowed(part, permissions.commands.allow, usual=usual, wanted=wanted)
            )

        return rules_for(command, access if is_more else None, is_held=is_held, needs_rule=needs_rule)
    if call.name in WEB_TOOLS:
        return (f"WebFetch(domain:{context.path})" if call.name == "WebFetch" else call.name,)
    if call.name not in PATH_TOOLS:
        name = meant_tool(call)
        return (name,) if name.startswith("mcp__") else ()
    if not context.path or any(mark in context.path for mark in "*?[]{}\\()"):
        return ()
    name = next(name for name, tools in COVERS.items() if call.name in tools)
    folder = context.path.rpartition("/")[0]
    # A slash before a single name: without it the rule would mean that name in every folder.
    return (f"{name}({folder}/**)" if folder.strip("/") else f"{name}(/{context.path.lstrip('/')})",)


def _decide(
    call: ToolCall, mode: PermissionMode, permissions: Permissions, context: CallContext
) -> PermissionDecision:
    if rule := _hit(permissions.deny, call, context):
        return PermissionDecision("deny", f"the rule `{rule.text}` denies it", rule=rule.text)
    if call.name == "Bash":
        return _decide_command(call, mode, permissions, context)
    if call.name in WEB_TOOLS:
        return _decide_web(call, mode, permissions, context)
    if mode == "plan" and not (context.is_read_only or call.name in HARMLESS_TOOLS):
        return PermissionDecision(
            "deny", f"{PLAN}, and {meant_tool(call)} changes something", rule="plan mode"
        )
    if rule := _hit(permissions.ask, call, context):
        return PermissionDecision("ask", f"the rule `{rule.text}` asks about it", rule=rule.text)
    if rule := _hit(permissions.allow, call, context):
        return PermissionDecision("allow", "a rule allows it", rule=rule.text)
    if context.is_read_only or call.name in HARMLESS_TOOLS or mode == "auto":
        return ALLOWED
    if call.name in CHANGES:
        return _decide_change(mode, context)
    return PermissionDecision("ask", f"{meant_tool(call)} may change something")


def _decide_web(
    call: ToolCall, mode: PermissionMode, permissions: Permissions, context: CallContext
) -> PermissionDecision:
    site = context.path
    if call.name == "WebFetch" and not site:
        return ALLOWED  # the tool itself reports what is wrong
    allowed = _hit(permissions.allow, call, context)
    if mode == "plan" and not allowed:
        offer = f"the rule `{rules_to_offer(call, permissions, context)[0]}` would allow it"
        return PermissionDecision(
            "deny",
            f"this is plan mode, in which the web is reached only by a rule: {offer}",
            rule="plan mode",
        )
    if is_local_site(site) and not permissions.may_reach(site):
        why = f"`{site}` is not on the public web: only the rule `WebFetch(domain:{site}) with private` allows it"
        return PermissionDecision("deny", why)
    if rule := _hit(permissions.ask, call, context):
        return PermissionDecision("ask", f"the rule `{rule.text}` asks about it", rule=rule.text)
    if allowed:
        return PermissionDecision("allow", "a rule allows it", rule=allowed.text)
    if mode == "auto":
        return ALLOWED
    sent = f"it fetches a page from `{site}`" if site else "what it looks for is sent to a search engine"
    return PermissionDecision("ask", sent)


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
    is_held = context.sandbox == "holds"
    if mode == "plan" and is_held:
        return PermissionDecision("allow", "nothing can be changed", rule="plan mode", access="read")
    # Without a sandbox there are no levels.
    usual: Access = permissions.usual_access if is_held else "full"
    if denied := _find_rule(permissions.commands.deny, command):
        rule, part = denied
        return PermissionDecision("deny", f"the rule `{rule}` denies it", part=part, rule=rule, access=usual)
    scope = None if is_held else StrictScope(context.leads_out, context.has_repository)
    trouble = why_not_reading(command, scope)
    if mode == "plan" and trouble:
        reason = f"{PLAN}, and there is no sandbox to hold a command: {trouble.reason}"
        return PermissionDecision("deny", reason, part=trouble.part, rule="plan mode", access=usual)
    if mode == "plan":
        return PermissionDecision("allow", "it only reads", rule="plan mode", access=usual)
    grant = _find_grant(permissions.commands.allow, command, usual, context)
    asked_for = _asked_access(call) if is_held else usual
    wanted: Access = asked_for or (grant.access if grant else usual)
    if asked := _find_rule(permissions.commands.ask, command):
        rule, part = asked
        return PermissionDecision(
            "ask", f"the rule `{rule}` asks about it", part=part, rule=rule, access=wanted
        )
    if grant and not is_above(wanted, grant.access):
        return PermissionDecision("allow", "a rule allows it", rule=grant.rule, access=wanted)
    if is_held and wanted == "read":
        return PermissionDecision("allow", "nothing can be changed", rule=f"{mode} mode", access="read")
    if is_above(wanted, usual) and (mode != "auto" or wanted == "full"):
        return PermissionDecision("ask", f"it {MEANINGS[wanted]}", access=wanted)
    if is_held and mode in ("edit", "auto"):
        return PermissionDecision("allow", "the sandbox holds it", rule=f"{mode} mode", access=wanted)
    if context.sandbox == "off" and mode == "auto":
        return PermissionDecision("allow", "the sandbox is off", rule="auto mode", access=wanted)
    if trouble:
        # What a rule allows already is no reason to ask.
        is_allowed = partial(_is_allowed, rules=permissions.commands.allow, usual=usual, wanted=wanted)
        rest = why_not_reading(command, scope, is_allowed) or trouble
        return PermissionDecision("ask", rest.reason, part=rest.part, access=wanted)
    return PermissionDecision(
        "allow", "it only reads", rule=f"{mode} mode", access="read" if is_held else usual
    )


def _asked_access(call: ToolCall) -> Access | None:
    return next((level for level in LEVELS if level == call.arguments.get("access")), None)


def _find_rule(rules: tuple[CommandRule, ...], command: str) -> tuple[str, str] | None:
    """The first rule that finds its words in a command, and the part that has them."""
    found = ((rule.text, rule.finds(command)) for rule in rules)
    return next(((rule, part) for rule, part in found if part), None)


def _find_grant(
    rules: tuple[CommandRule, ...], command: str, usual: Access, context: CallContext
) -> CommandGrant | None:
    held = find_grant(rules, command, usual=usual, reads=partial(_reads_beside, scope=StrictScope()))
    if held is None or held.access != "full":
        return held
    reads = partial(_reads_beside, scope=_scope_beside_full(context))
    return find_grant(rules, command, usual=usual, reads=reads)


def _is_allowed(part: PlainCommand, rules: tuple[CommandRule, ...], *, usual: Access, wanted: Access) -> bool:
    """Whether a rule allows a part of a command."""
    grant = find_grant(rules, part.text, usual=usual, reads=lambda _: False)
    return grant is not None and not is_above(wanted, grant.access)


def _scope_beside_full(context: CallContext) -> StrictScope:
    """What reads beside a command with full access can read everything too, and runs what commands left in
    `.git`."""
    return StrictScope(context.leads_out, context.sandbox != "holds" and context.has_repository)


def _reads_beside(command: PlainCommand, *, scope: StrictScope) -> bool:
    """Whether a command may run at the level of another that a rule allows."""
    return not why_not_reading_one(command, scope)
