"""`/effort`: how much the model thinks before it replies.

Rule: it counts from the next request on, for this session and those that are opened after it.
"""

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import SlashCommand
from holdfast.agents.commands.markdown import bullets, code, joined
from holdfast.agents.outcomes import CommandAnswer
from holdfast.effort import Effort
from holdfast.errors import InputError, suggest

ABOUT: dict[Effort, str] = {
    "off": "does not think first",
    "low": "thinks little: for simple work and quick answers",
    "medium": "a balance of time, cost and care",
    "high": "thinks about most steps: for hard work",
    "xhigh": "for long work on hard problems",
    "max": "as much as it takes, whatever it costs",
}


async def _run(coding: CodingSession, argument: str) -> CommandAnswer:
    agent = coding.agent
    levels = agent.model_entry.levels
    if not levels:
        raise InputError(
            f"{code(agent.model.name)} has no levels of thinking", hint="`/model` switches to another model"
        )
    if not argument:
        rows = (f"{code(one)}{_marks(coding, one)}: {ABOUT[one]}" for one in levels)
        return CommandAnswer(joined(bullets(rows), "`/effort LEVEL` changes it, and so does Ctrl+T."))
    for level in levels:
        if level == argument.lower():
            agent.effort = level
            return CommandAnswer(f"Effort {code(level)}: {ABOUT[level]}.", effort=level)
    raise InputError(
        f"{code(agent.model.name)} has no level {code(argument)}", hint=suggest(argument.lower(), levels)
    )


def _marks(coding: CodingSession, level: Effort) -> str:
    agent = coding.agent
    marks = ["now"] * (level == agent.effort) + ["recommended"] * (level == agent.model_entry.effort)
    return f" ({', '.join(marks)})" if marks else ""


EFFORT = SlashCommand("effort", "/effort [LEVEL]", "how much the model thinks before it replies", _run)
