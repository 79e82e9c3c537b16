"""`/undo`: undo the last edits, by the agent, its sub-agents and their commands.

Rule: all of them or none; a file that someone else changed since stays as it is, and that is said. What a command
did counts as one edit; what cannot be undone is named.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.coding.command_effects import CommandEdit, IrreversibleChange
from holdfast.agents.coding.tool_state import ToolState
from holdfast.agents.commands.command import CommandAnswer, SlashCommand, parse_number, require_idle
from holdfast.agents.commands.markdown import code, fenced, joined
from holdfast.errors import InputError
from holdfast.numbers import counted
from holdfast.tools.files.seen_files import AgentEdit

MOST_NAMED = 20


def group_edits(made: Iterable[AgentEdit]) -> list[list[AgentEdit]]:
    """The changes of each edit, oldest first."""

    def edit(one: AgentEdit) -> str | int:
        return one.command if isinstance(one, CommandEdit) else id(one)

    return [list(changes) for _, changes in groupby(made, key=edit)]


def describe_irreversible(state: ToolState, after: int, until: int | None = None) -> str:
    """What commands did after a step, up to another, that cannot be undone; empty if nothing."""
    left = [one for one in state.irreversible if after < one.step and (until is None or one.step <= until)]
    unseen = [step for step in state.unseen if after < step and (until is None or step <= until)]
    return joined(_named(left), _unseen(len(unseen)))


def _named(left: Sequence[IrreversibleChange]) -> str:
    if not left:
        return ""
    # The first change of a file matters most: its earlier content is not kept.
    ways = dict(reversed([(one.path, one.how) for one in left]))
    names = [f"{code(path)} ({how})" for path, how in sorted(ways.items())]
    more = f" and {counted(len(names) - MOST_NAMED, 'more file')}" if len(names) > MOST_NAMED else ""
    return f"Changed by commands, and cannot be undone: {', '.join(names[:MOST_NAMED])}{more}."


def _unseen(number: int) -> str:
    if not number:
        return ""
    return f"{counted(number, 'command')} may have changed files that are not known: look with `git status`."


async def _run(coding: CodingSession, argument: str) -> CommandAnswer:
    require_idle(coding, "an undo")
    edits = group_edits(coding.tool_state.files.made)
    if not edits:
        raise InputError("there is no edit to undo", hint="`/diff` shows what commands changed")
    taken = edits[-(parse_number(argument, len(edits), "edit") if argument else 1) :]
    diff = coding.undo(sum(map(len, taken)))
    by_command = [edit[0].step for edit in taken if isinstance(edit[0], CommandEdit)]
    stays = joined(
        *(describe_irreversible(coding.tool_state, step - 1, step) for step in dict.fromkeys(by_command))
    )
    told = f"{counted(len(taken), 'edit')} undone; the agent is told."
    return CommandAnswer(joined(told, fenced(diff, "diff"), stays))


UNDO = SlashCommand("undo", "/undo [N]", "undo the last edit, or the last N", _run)
