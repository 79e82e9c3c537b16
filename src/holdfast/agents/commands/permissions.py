"""`/permissions`: the rules that hold here and where each is from, one more, or one less.

Rule: a change counts at once, in this session and in the files.
"""

import asyncio
import os
from pathlib import Path

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import SlashCommand
from holdfast.agents.commands.markdown import code, joined, table
from holdfast.agents.commands.mode import MODES
from holdfast.agents.kept_rules import KeptRules, home_path
from holdfast.agents.listed_rules import ListedRule, forget_rule, keep_rule, list_rules, session_rules
from holdfast.agents.outcomes import CommandAnswer
from holdfast.errors import InputError
from holdfast.tools.permissions.gate import PlaceName
from holdfast.tools.permissions.tool_rules import RuleKind

KINDS: dict[str, RuleKind] = {"allow": "allow", "ask": "ask", "deny": "deny"}
PLACES: dict[str, PlaceName] = {"--everywhere": "everywhere", "--project": "project"}


async def _run(coding: CodingSession, argument: str) -> CommandAnswer:
    what, _, rest = argument.partition(" ")
    rule, place = _read(rest)
    if not argument:
        return await _list(coding)
    if not rule or (what not in KINDS and what != "forget"):
        raise PERMISSIONS.misused(f"{code('/permissions ' + argument)} is not understood")
    if what == "forget":
        return await _forget(coding, rule)
    return await _add(coding, KINDS[what], rule, place)


async def _list(coding: CodingSession) -> CommandAnswer:
    listed, distrust = await asyncio.to_thread(list_rules, _root(coding), os.environ)
    rules = [*listed, *session_rules(coding.gate.permissions, listed)]
    mode = coding.gate.mode
    return CommandAnswer(
        joined(
            f"Built in: {code(mode)} mode, which {MODES[mode]}. `deny` beats `ask` beats `allow`.",
            table(["", "rule", "from"], [[one.verdict, code(one.rule), _where(one)] for one in rules])
            or "There are no rules of yours or of the project here.",
            f"{distrust[:1].upper()}{distrust[1:]}." if distrust else "",
        )
    )


async def _add(coding: CodingSession, kind: RuleKind, rule: str, place: PlaceName | None) -> CommandAnswer:
    # What denies or asks is kept for a person everywhere: only rules that allow are kept for one folder.
    place = place or ("folder" if kind == "allow" else "everywhere")
    kept = KeptRules(_root(coding), os.environ)
    file = await asyncio.to_thread(keep_rule, kept, kind, rule, place)
    coding.session_gate.add_rule(kind, rule)
    where = {
        "folder": "for you in this folder",
        "everywhere": "for you everywhere",
        "project": "for the project",
    }
    return CommandAnswer(f"{code(rule)} is in `{kind}` from now on, {where[place]}: {code(file)}.")


async def _forget(coding: CodingSession, rule: str) -> CommandAnswer:
    in_session = [one for one in session_rules(coding.gate.permissions, []) if one.rule == rule]
    places: list[str] = []
    try:
        found = await asyncio.to_thread(forget_rule, _root(coding), os.environ, rule)
        places = [code(_where(one)) for one in found]
    except InputError:
        if not in_session:
            raise
    coding.session_gate.remove_rule(rule)
    return CommandAnswer(f"{code(rule)} no longer holds here ({', '.join(places) or 'this session'}).")


def _where(one: ListedRule) -> str:
    """Where a rule is from, short enough for a narrow table."""
    return home_path(Path(one.origin)) if one.place in ("everywhere", "project") else one.origin


def _read(text: str) -> tuple[str, PlaceName | None]:
    """A rule, and the place behind it."""
    rule, place = text.strip(), None
    for option, name in PLACES.items():
        if rule.endswith(f" {option}"):
            rule, place = rule.removesuffix(option).strip(), name
    if len(rule) > 1 and rule[0] == rule[-1] and rule[0] in "\"'":
        rule = rule[1:-1]
    return rule, place


def _root(coding: CodingSession) -> Path:
    return Path(coding.workspace.roots[0])


PERMISSIONS = SlashCommand(
    "permissions",
    "/permissions [allow|ask|deny RULE [--everywhere|--project] | forget RULE]",
    "the rules that hold here and where each is from; add one, or take one back",
    _run,
    "A rule is written like `Bash(make:*)`, `Bash(npm install:*) with network`, `Edit(src/**)` or "
    "`mcp__server__tool`. Without a place, `allow` is kept for you in this folder, `ask` and `deny` for you "
    "everywhere.",
)
