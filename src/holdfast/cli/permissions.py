"""`holdfast permissions`: what an agent here may do, and why it was asked about.

Rule: no command is executed; a sandbox is not even tried.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
from msgspec import Struct

from holdfast.agents.kept_rules import KeptRules
from holdfast.agents.listed_rules import forget_rule, keep_rule, list_rules
from holdfast.agents.resolved_config import load_permissions
from holdfast.cli.options import common_options, complete_with, permission_options
from holdfast.cli.streams import note, write
from holdfast.errors import InputError
from holdfast.messages import ToolCall
from holdfast.tools.access import LEVELS, Access
from holdfast.tools.permissions.decision import Verdict, decide
from holdfast.tools.permissions.gate import PlaceName, call_context
from holdfast.tools.permissions.tool_rules import LISTS, PermissionMode, RuleKind
from holdfast.tools.workspace import Workspace

EXAMPLES = """\b
Examples:
  echo 'git status' | holdfast permissions check
  holdfast permissions check --mode edit < commands.txt
  printf 'make\\0make install\\0' | holdfast permissions check -0
  holdfast permissions list
  holdfast permissions add deny 'Bash(git push:*)' --project
  holdfast permissions forget 'Bash(npm install:*) with network'"""


class CommandVerdict(Struct, frozen=True):
    """What would be done with a command. `access` is what it may touch if it runs; `rule` is the rule or the mode
    that decided, if one did."""

    command: str
    verdict: Verdict
    access: Access
    reason: str
    rule: str


class RuleOrigin(Struct, frozen=True):
    rule: str
    verdict: str
    origin: str


@click.group(epilog=EXAMPLES)
@common_options
def command() -> None:
    """Show what an agent may do here, and manage its rules."""


@command.command(epilog=EXAMPLES)
@click.option(
    "-0", "--null", "by_null", is_flag=True, help="Commands end with NUL, and may have several lines."
)
@click.option(
    "--access", type=click.Choice(LEVELS), help="Decide as if the agent asked for this access level."
)
@permission_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object a line (always on).")
@common_options
def check(
    by_null: bool,
    access: str | None,
    mode: PermissionMode | None,
    allow: tuple[str, ...],
    sandbox: str | None,
    trusts: bool,
    as_json: bool,  # noqa: ARG001 - there is no other form
) -> None:
    """Tell for each command on stdin whether it would run, be asked about or be refused, and why.

    One command a line. Prints one JSON object for each: command, verdict, access, reason, rule. Nothing is
    executed; that a sandbox works is taken for granted, except with `--sandbox off`.
    """
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError(
            "there are no commands on stdin", hint="echo 'git status' | holdfast permissions check"
        )
    root = Path.cwd()
    _, permissions, distrust = load_permissions(root, os.environ, allow=allow, trusts=trusts)
    if distrust:
        note(distrust)
    if trusts:
        note("what the configuration of this folder widens is trusted from now on")
    workspace, is_off = Workspace([root]), (sandbox or permissions.sandbox) == "off"
    for text in _commands(by_null=by_null):
        call = ToolCall("check", "Bash", {"command": text, "access": access or ""})
        context = call_context(
            call,
            workspace,
            str(root),
            is_read_only=False,
            sandbox="off" if is_off else "holds",
            folders=permissions.folders,
        )
        found = decide(call, mode or permissions.mode, permissions, context)
        shown = CommandVerdict(text, found.verdict, found.access, found.reason, found.rule)
        write(msgspec.json.encode(shown) + b"\n")


@command.command("list", epilog=EXAMPLES)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object a line.")
@common_options
def list_(as_json: bool) -> None:
    """List the rules that hold in this folder, and where each is from."""
    rules, distrust = list_rules(Path.cwd(), os.environ)
    if distrust:
        note(distrust)
    for one in rules:
        shown = RuleOrigin(one.rule, one.verdict, one.origin)
        text = f"{one.verdict:5}  {one.rule}  ({one.origin})"
        write((msgspec.json.encode(shown) if as_json else text.encode()) + b"\n")
    if not rules:
        note("no rules hold here besides those of the mode")


@command.command(epilog=EXAMPLES)
@click.argument("kind", type=click.Choice(LISTS), metavar="allow|ask|deny")
@click.argument("rule")
@click.option("--everywhere", "place", flag_value="everywhere", help="Keep it in your own configuration.")
@click.option("--project", "place", flag_value="project", help="Keep it in the project's configuration.")
@common_options
def add(kind: RuleKind, rule: str, place: PlaceName | None) -> None:
    """Add a rule to a list.

    Without an option, `allow` is kept for you in this folder, `ask` and `deny` for you everywhere.
    """
    place = place or ("folder" if kind == "allow" else "everywhere")
    file = keep_rule(KeptRules(Path.cwd(), os.environ), kind, rule, place)
    note(f"`{rule}` is in `{kind}` from now on: {file}")


@command.command(epilog=EXAMPLES)
@click.argument("rule", shell_complete=complete_with("listed_rules"))
@common_options
def forget(rule: str) -> None:
    """Take back a rule, from your approvals and from the configuration files."""
    found = forget_rule(Path.cwd(), os.environ, rule)
    note(f"`{rule}` no longer holds in this folder ({', '.join(one.origin for one in found)})")


def _commands(*, by_null: bool) -> Iterator[str]:
    text = sys.stdin.buffer.read().decode("utf-8", "replace")
    for one in text.split("\0" if by_null else "\n"):
        if one.strip():
            yield one.rstrip("\n")
