"""What was done to files in a talk, as a person counts it: by the agent, its sub-agents, and their commands.

Rule: what a command did counts as one edit. What cannot be taken back is named, with the reason.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby

from holdfast.agents.coding.bench import Bench
from holdfast.agents.coding.footprints import ByCommand, Left
from holdfast.agents.commands.writing import code, counted, joined
from holdfast.tools.files.seen import Made

MOST_NAMED = 20


def edits_of(made: Iterable[Made]) -> list[list[Made]]:
    """The changes of each edit, oldest first."""

    def edit(one: Made) -> str | int:
        return one.command if isinstance(one, ByCommand) else id(one)

    return [list(changes) for _, changes in groupby(made, key=edit)]


def left_in(bench: Bench, after: int, until: int | None = None) -> str:
    """What commands did in the steps behind one, up to another, that cannot be taken back; empty if nothing."""
    left = [one for one in bench.left if after < one.step and (until is None or one.step <= until)]
    unseen = [step for step in bench.unseen if after < step and (until is None or step <= until)]
    return joined(_named(left), _unseen(len(unseen)))


def _named(left: Sequence[Left]) -> str:
    if not left:
        return ""
    # Of a file that was changed again and again the first says most: what it was before is not kept.
    ways = dict(reversed([(one.path, one.how) for one in left]))
    names = [f"{code(path)} ({how})" for path, how in sorted(ways.items())]
    more = f" and {counted(len(names) - MOST_NAMED, 'more file')}" if len(names) > MOST_NAMED else ""
    return f"By commands, and not to be taken back here: {', '.join(names[:MOST_NAMED])}{more}."


def _unseen(number: int) -> str:
    if not number:
        return ""
    return (
        f"{counted(number, 'command')} ran without anybody seeing all that changed: look with `git status`."
    )
