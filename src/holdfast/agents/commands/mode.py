"""`/mode`: what the agent may do without asking.

Rule: a mode is a person's choice for now and is not in the log.
"""

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import SlashCommand
from holdfast.agents.commands.markdown import bullets, code
from holdfast.agents.outcomes import CommandAnswer, Menu, MenuItem
from holdfast.errors import InputError, suggest
from holdfast.tools.permissions.tool_rules import PermissionMode

MODES: dict[PermissionMode, str] = {
    "plan": "reads and plans; changes nothing",
    "ask": "asks before each change, and before each command that does more than read",
    "edit": "edits files without asking; asks before other commands",
    "auto": "asks only if a rule says so",
}


async def _run(coding: CodingSession, argument: str) -> CommandAnswer:
    if not argument:
        rows = (
            f"{code(name)}{' (now)' * (name == coding.gate.mode)}: {about}" for name, about in MODES.items()
        )
        items = (
            MenuItem(name, about, f"/mode {name}", name == coding.gate.mode) for name, about in MODES.items()
        )
        return CommandAnswer(bullets(rows), menu=Menu("what may be done without asking", tuple(items)))
    for mode, about in MODES.items():
        if mode == argument.lower():
            coding.gate.mode = mode
            return CommandAnswer(f"Mode {code(mode)}: {about}.")
    raise InputError(f"there is no mode `{argument}`", hint=suggest(argument.lower(), MODES))


MODE = SlashCommand("mode", "/mode [plan|ask|edit|auto]", "what may be done without asking", _run)
