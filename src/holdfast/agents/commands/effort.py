"""`/effort`: how much the model thinks before it replies.

Rule: it counts from the next request on, for this session and those that are opened after it.
"""

from collections.abc import Iterator
from pathlib import Path

from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.commands.command import SlashCommand
from holdfast.agents.commands.markdown import bullets, code, joined
from holdfast.agents.outcomes import CommandAnswer, Menu, MenuItem
from holdfast.agents.saved_defaults import save_default, split_save
from holdfast.effort import Effort
from holdfast.errors import InputError, suggest
from holdfast.models.catalogue import ModelEntry

ABOUT: dict[Effort, str] = {
    "off": "does not think first",
    "low": "thinks little: for simple work and quick answers",
    "medium": "a balance of time, cost and care",
    "high": "thinks about most steps: for hard work",
    "xhigh": "for long work on hard problems",
    "max": "as much as it takes, whatever it costs",
}


def describe_effort(entry: ModelEntry, level: Effort) -> str:
    if level == "off" and entry.may_think_when_off:
        return "no level is sent; it may think all the same"
    return ABOUT[level]


async def _run(coding: CodingSession, argument: str) -> CommandAnswer:
    agent, entry = coding.agent, coding.agent.model_entry
    wanted, is_saved = split_save(argument)
    wanted = wanted or (agent.effort if is_saved else "")
    levels = entry.levels
    if not levels:
        raise InputError(
            f"{code(agent.model.name)} has no levels of thinking", hint="`/model` switches to another model"
        )
    if not wanted:
        rows = (f"{code(one)}{_marks(coding, one)}: {describe_effort(entry, one)}" for one in levels)
        listed = joined(
            bullets(rows),
            "`/effort LEVEL` changes it, and so does Ctrl+T. `--save` keeps it as your default.",
        )
        return CommandAnswer(listed, menu=Menu("how much the model thinks", tuple(_items(coding))))
    for level in levels:
        if level == wanted.lower():
            root = Path(coding.workspace.roots[0])
            saved = await save_default(root, "default_effort", level) if is_saved else ""
            agent.effort = level
            told = f"Effort {code(level)}: {describe_effort(entry, level)}."
            return CommandAnswer(joined(told, saved), effort=level)
    raise InputError(
        f"{code(agent.model.name)} has no level {code(wanted)}", hint=suggest(wanted.lower(), levels)
    )


def _items(coding: CodingSession) -> Iterator[MenuItem]:
    entry = coding.agent.model_entry
    for level in entry.levels:
        about = f"{describe_effort(entry, level)}{' (recommended)' * (level == entry.recommended_effort)}"
        yield MenuItem(level, about, f"/effort {level}", level == coding.agent.effort)


def _marks(coding: CodingSession, level: Effort) -> str:
    agent = coding.agent
    marks = ["now"] * (level == agent.effort) + ["recommended"] * (
        level == agent.model_entry.recommended_effort
    )
    return f" ({', '.join(marks)})" if marks else ""


EFFORT = SlashCommand(
    "effort", "/effort [LEVEL] [--save]", "how much the model thinks before it replies", _run
)
