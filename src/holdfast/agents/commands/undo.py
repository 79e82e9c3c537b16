"""`/undo`: the last edits taken back, the agent's own, its sub-agents' and those of commands.

Rule: all of them or none; a file that somebody else changed since stays as it is, and that is said.
"""

from holdfast.agents.coding.desk import Desk
from holdfast.agents.coding.footprints import ByCommand
from holdfast.agents.commands.command import Command, Shown, expect_rest, number_in
from holdfast.agents.commands.edits import edits_of, left_in
from holdfast.agents.commands.writing import counted, fenced, joined
from holdfast.errors import InputError


async def _run(desk: Desk, argument: str) -> Shown:
    expect_rest(desk, "an undo")
    edits = edits_of(desk.bench.files.made)
    if not edits:
        raise InputError("there is no edit to take back", hint="`/diff` shows what commands changed")
    taken = edits[-(number_in(argument, len(edits), "edit") if argument else 1) :]
    diff = desk.undo(sum(map(len, taken)))
    by_command = [edit[0].step for edit in taken if isinstance(edit[0], ByCommand)]
    stays = joined(*(left_in(desk.bench, step - 1, step) for step in dict.fromkeys(by_command)))
    told = f"{counted(len(taken), 'edit')} taken back; the agent is told."
    return Shown(joined(told, fenced(diff, "diff"), stays))


UNDO = Command("undo", "/undo [N]", "take back the last edit, or the last N", _run)
