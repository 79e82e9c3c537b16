"""`/undo`: the agent's last edits taken back.

Rule: all of them or none; a file that somebody else changed since stays as it is, and that is said.
"""

from holdfast.agents.coding.desk import Desk
from holdfast.agents.commands.command import Command, Shown, expect_rest, number_in
from holdfast.agents.commands.writing import counted, fenced, joined
from holdfast.errors import InputError


async def _run(desk: Desk, argument: str) -> Shown:
    expect_rest(desk, "an undo")
    made = len(desk.bench.files.made)
    if not made:
        raise InputError("there is no edit to take back", hint="what commands changed is not tracked")
    count = number_in(argument, made, "edit") if argument else 1
    diff = desk.undo(count)
    return Shown(joined(f"{counted(count, 'edit')} taken back; the agent is told.", fenced(diff, "diff")))


UNDO = Command("undo", "/undo [N]", "take back the last edit, or the last N", _run)
