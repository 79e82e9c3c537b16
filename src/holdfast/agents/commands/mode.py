"""`/mode`: what the agent may do without asking.

Rule: a mode is a person's choice for this desk; nothing of it goes into the log.
"""

from typing import get_args

from holdfast.agents.coding.desk import Desk
from holdfast.agents.commands.command import Command, Shown
from holdfast.agents.commands.writing import bullets, code
from holdfast.errors import InputError
from holdfast.settings import nearest
from holdfast.tools.permissions import Mode

MODES: dict[Mode, str] = {
    "plan": "looks and plans; nothing is changed",
    "ask": "asks before each change and each command that does more than look",
    "edit": "edits files without asking; other commands are asked about",
    "auto": "asks only where a rule says so",
}


async def _run(desk: Desk, argument: str) -> Shown:
    if not argument:
        rows = (f"{code(name)}{' (now)' * (name == desk.mode)}: {about}" for name, about in MODES.items())
        return Shown(bullets(rows))
    chosen: Mode | None = next((mode for mode in get_args(Mode) if mode == argument.lower()), None)
    if chosen is None:
        raise InputError(
            f"there is no mode `{argument}`", hint=f"the nearest is `{nearest(argument.lower(), [*MODES])}`"
        )
    desk.mode = chosen
    return Shown(f"Mode {code(chosen)}: {MODES[chosen]}.")


MODE = Command("mode", "/mode [plan|ask|edit|auto]", "what may be done without asking", _run)
