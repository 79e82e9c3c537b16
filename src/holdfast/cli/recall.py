"""`holdfast recall`: what a pack left out, exactly as it was.

Rule: with nothing but an id the output is the text, byte for byte; only a terminal gets a missing newline added.
"""

import sys

import click
import msgspec

from holdfast.cli.inputs import readable_store
from holdfast.cli.options import common_options, json_option
from holdfast.cli.streams import note, write, write_json
from holdfast.recall import recall
from holdfast.store.text_parts import parse_range

NOTHING_FOUND = 1

EXAMPLES = """\b
Examples:
  holdfast recall a0123456789ab
  holdfast recall a0123456789ab --lines 10-40
  holdfast recall a0123456789ab --grep 'def \\w+' --context 2
  holdfast recall --query "disk full"

\b
Exit code 1 if `--grep` or `--query` finds nothing, 3 if the id is unknown."""


@click.command(epilog=EXAMPLES)
@click.argument("id_", metavar="[ID]", required=False)
@click.option("--lines", metavar="A-B", help="Only these lines, counted from 1: 10-40, 10- or 10.")
@click.option("--chars", metavar="A-B", help="Only these characters, counted inside --lines.")
@click.option("--grep", metavar="RE", help="Only lines that match a regular expression.")
@click.option("--query", metavar="WORDS", help="Only lines about these words; without ID, in all texts.")
@click.option("--context", type=click.IntRange(min=0), default=0, help="Lines around each match.")
@json_option
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    id_: str | None,
    lines: str | None,
    chars: str | None,
    grep: str | None,
    query: str | None,
    context: int,
    as_json: bool,
) -> None:
    """Bring back what a pack left out.

    ID is that of a text, an entry or a log, or its first six or more characters. With ID alone the text comes
    exactly as it was. A log's id gives its table of contents.
    """
    found = recall(
        readable_store(ctx),
        id_,
        lines=parse_range(lines, "lines") if lines is not None else None,
        chars=parse_range(chars, "chars") if chars is not None else None,
        grep=grep,
        query=query,
        context=context,
    )
    searched = grep is not None or query is not None
    if found.note:
        note(found.note)
    if as_json:
        write_json(msgspec.to_builtins(found))
    else:
        missing_newline = bool(found.text) and not found.text.endswith("\n")
        write(found.text + "\n" * (missing_newline and (searched or sys.stdout.isatty())))
    if searched and not found.matches:
        note("nothing matches")
        ctx.exit(NOTHING_FOUND)
