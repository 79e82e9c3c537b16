"""`holdfast recall`: what a pack left out, exactly as it was.

Rule: with only an id the output is the text, byte for byte; a missing last newline is added on a terminal only.
"""

import sys

import click

from holdfast.cli.inputs import readable_store
from holdfast.cli.options import common_options, json_option
from holdfast.cli.streams import note, say_error, write, write_json
from holdfast.errors import InputError, NotFound
from holdfast.recall import recall
from holdfast.store.text_parts import Range, parse_range

NOTHING_FOUND = 1
WHERE = "`holdfast logs` lists the logs of this store; `--store PATH` names another store"

EXAMPLES = """\b
Examples:
  holdfast recall a0123456789ab
  holdfast recall a0123456789ab --lines 10-40
  holdfast recall a0123456789ab --grep 'def \\w+' --context 2
  holdfast recall --query "disk full"

\b
Exit code 1 if nothing matches or there are no such lines, 3 if the id is
unknown."""


@click.command(epilog=EXAMPLES)
@click.argument("id_", metavar="[ID]", required=False)
@click.option("--lines", metavar="A-B", help="Print only these lines, counted from 1: 10-40, 10- or 10.")
@click.option("--chars", metavar="A-B", help="Print only these characters, counted within --lines.")
@click.option("--grep", metavar="RE", help="Print only lines that match this regular expression.")
@click.option(
    "--query", metavar="WORDS", help="Print only lines with any of these words; without ID, search all texts."
)
@click.option(
    "--context", type=click.IntRange(min=0), default=0, help="Print this many lines around each match."
)
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
    """Recall what a pack left out.

    ID names a text, an entry or a log; its first six characters are enough. With ID alone the text is printed
    exactly as it was. For a log, its table of contents is printed.
    """
    span, part = _parse_range(lines, "lines"), _parse_range(chars, "chars")
    store = readable_store(ctx)
    try:
        found = recall(store, id_, lines=span, chars=part, grep=grep, query=query, context=context)
    except NotFound as error:
        raise NotFound(error.message, hint=error.hint or WHERE) from None
    searched = grep is not None or query is not None
    is_beyond = bool(found.note) and not found.text and not searched
    if is_beyond:
        say_error(found.note)
    elif found.note:
        note(found.note)
    if as_json:
        write_json(found)
    else:
        missing_newline = bool(found.text) and not found.text.endswith("\n")
        write(found.text + "\n" * (missing_newline and (searched or sys.stdout.isatty())))
    if searched and not found.matches:
        note("nothing matches")
    if is_beyond or (searched and not found.matches):
        ctx.exit(NOTHING_FOUND)


def _parse_range(given: str | None, option: str) -> Range | None:
    if given is None:
        return None
    try:
        return parse_range(given, option)
    except InputError as error:
        hint = f"write it like `--{option} 10-40`; {option} count from 1, the first before the last"
        raise InputError(error.message, hint=hint) from None
