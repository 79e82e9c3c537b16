"""`holdfast completion`: the script that lets a shell complete our commands.

Rule: only the script is on stdout, so that it can be sourced as it is.
"""

import click
from click.shell_completion import get_completion_class

from holdfast.cli.streams import hint, write

PLACES = {
    "bash": 'add `eval "$(holdfast completion bash 2>/dev/null)"` to ~/.bashrc',
    "zsh": 'add `eval "$(holdfast completion zsh 2>/dev/null)"` to ~/.zshrc, after compinit',
    "fish": "write it to ~/.config/fish/completions/holdfast.fish",
}

EXAMPLES = """\b
Examples:
  eval "$(holdfast completion bash 2>/dev/null)"
  holdfast completion fish > ~/.config/fish/completions/holdfast.fish"""


@click.command(epilog=EXAMPLES)
@click.argument("shell", type=click.Choice(list(PLACES)))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script for a shell.

    It completes commands, options, profiles, formats, files and the ids of logs.
    """
    kind = get_completion_class(shell)
    assert kind is not None, "click knows these three shells"
    write(kind(ctx.find_root().command, {}, "holdfast", "_HOLDFAST_COMPLETE").source())
    hint(PLACES[shell])
