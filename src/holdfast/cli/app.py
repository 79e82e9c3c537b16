"""The root command, which finds the others.

Rule: the module of a command is imported when that command is used; the list of commands needs none of them.
"""

import os
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem, shell_complete

from holdfast.cli.exits import run_guarded
from holdfast.cli.options import agent_options, common_options, continue_option
from holdfast.errors import InputError
from holdfast.version import __version__

NAME = "holdfast"
COMPLETION = "_HOLDFAST_COMPLETE"
"""The variable that the scripts of `holdfast completion` set."""

COMMANDS = {
    "run": "Run the coding agent without a screen, for scripts and pipes.",
    "resume": "Resume a session: the newest of this folder, or one by its id.",
    "tour": "Show the agent at work, without a model, a key or the network.",
    "review": "Review a change: its parts by risk, and what is wrong in it.",
    "pair": "Let two agents work: one designs, the other builds and evaluates.",
    "pack": "Pack a recording into a budget, as messages to send.",
    "recall": "Recall what a pack left out.",
    "show": "Show rounds, steps, tools and tokens at a glance.",
    "check": "Check messages against the rules of providers.",
    "compact": "Summarize the steps that leave the window, and check the summary.",
    "replay": "Measure what context policies keep, and what they cost.",
    "fit": "Learn from recordings which lines are worth keeping.",
    "acp": "Let an editor use the coding agent, by the Agent Client Protocol.",
    "permissions": "Show what an agent may do here, and manage its rules.",
    "logs": "List, export, import, delete, prune and verify logs.",
    "gateway": "Pass requests of agents to their providers, and record them.",
    "view": "Show, in a browser, what an agent had in front of it at any moment.",
    "wrap": "Start an agent with a gateway of its own, which records what it sends.",
    "mcp": "Serve logs and recordings to an MCP client, to search and read them.",
    "profiles": "List profiles, or the settings of one.",
    "models": "List models with their prices and what they still need.",
    "completion": "Print the completion script for a shell.",
}

NEAR = 0.6
"""How like a command a word must be to be taken for a typo."""

EXAMPLES = """\b
Examples:
  holdfast
  holdfast --continue
  holdfast run -p "why does the build fail?"
  holdfast show recording.jsonl
  holdfast pack recording.jsonl --budget 32k --explain > messages.json
  holdfast recall a0123456789ab --lines 10-40

\b
`holdfast COMMAND --help` says more, with examples."""


class CommandGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"holdfast.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            near = get_close_matches(args[0], COMMANDS, n=1, cutoff=NEAR)
            meant = f"did you mean `{near[0]}`? " if near else ""
            raise InputError(
                f"there is no command `{args[0]}`", hint=f"{meant}`holdfast --help` lists all commands"
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = [CompletionItem(n, help=about) for n, about in COMMANDS.items() if n.startswith(incomplete)]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]


@click.group(
    NAME,
    cls=CommandGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EXAMPLES,
)
@continue_option("Resume the newest session of this folder.")
@agent_options
@common_options
@click.version_option(__version__, prog_name=NAME, message="%(prog)s %(version)s")
@click.pass_context
def root(ctx: click.Context, /, **given: Any) -> None:
    """Keep a long-running LLM agent inside its context window.

    Without a command, opens the coding agent on the screen, or runs what is piped in, as `holdfast run` does.
    The other commands work on recordings: they pack them into messages, and every cut can be recalled by its id.
    """
    if ctx.invoked_subcommand is not None:
        if any(given.values()):
            raise click.UsageError("options of the agent go after the command, not before it", ctx)
        return
    # Imported late: commands do not need it.
    from holdfast.cli.resume import open_agent  # noqa: PLC0415

    code = open_agent(ctx, given)
    if code is None:
        click.echo(ctx.get_help())
    else:
        ctx.exit(code)


def run(args: Sequence[str]) -> int:
    """Run one command; its exit code."""

    def invoke() -> int:
        if instruction := os.environ.get(COMPLETION):
            return shell_complete(root, {}, NAME, COMPLETION, instruction)
        try:
            with root.make_context(NAME, list(args)) as ctx:
                root.invoke(ctx)
        except click.exceptions.Exit as done:
            return done.exit_code
        return 0

    return run_guarded(invoke)
