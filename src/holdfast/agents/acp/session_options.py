"""What a person can choose for a session in the editor: its mode, its model, and how much the model thinks.

Rule: only what would work is offered, and looking asks no server: a model is listed if its key is set. A key that
is part of a model's address is never shown.
"""

from collections.abc import Mapping
from typing import Literal

from acp.schema import (
    AvailableCommand,
    AvailableCommandInput,
    AvailableCommandsUpdate,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
    UnstructuredCommandInput,
)

from holdfast.agents.acp.prompts import EditorPrompt
from holdfast.agents.coding.coding_session import CodingSession
from holdfast.agents.coding.own_commands import OwnCommands
from holdfast.agents.commands import COMMANDS, listed_commands
from holdfast.agents.commands.effort import describe_effort
from holdfast.agents.commands.mode import MODES
from holdfast.agents.commands.model import project_catalogue
from holdfast.models.selection import models_with_address

OptionCategory = Literal["mode", "model", "thought_level"]
"""What an option is about, in the protocol's words."""
MODE, MODEL, EFFORT = "mode", "model", "effort"
ELSEWHERE = frozenset({"resume", "fork", "clear", "exit", "quit"})
"""Commands that open or leave a session: in an editor its list of sessions does that."""


def mode_state(coding: CodingSession) -> SessionModeState:
    modes = [SessionMode(id=mode, name=mode.capitalize(), description=about) for mode, about in MODES.items()]
    return SessionModeState(current_mode_id=coding.gate.mode, available_modes=modes)


def config_options(coding: CodingSession, env: Mapping[str, str]) -> list[SessionConfigOptionSelect]:
    agent = coding.agent
    modes = [_choice(mode, mode.capitalize(), about) for mode, about in MODES.items()]
    models = [_choice(name, name) for name in offered_models(coding, env)]
    options = [
        _select(MODE, "mode", "Mode", "What the agent may do without asking", coding.gate.mode, modes),
        _select(MODEL, "model", "Model", "The model that is asked", agent.model.name, models),
    ]
    if levels := agent.model_entry.levels:
        choices = [
            _choice(level, level.capitalize(), describe_effort(agent.model_entry, level)) for level in levels
        ]
        about = "How much the model thinks before it replies"
        options.append(_select(EFFORT, "thought_level", "Effort", about, agent.effort, choices))
    return options


def offered_models(coding: CodingSession, env: Mapping[str, str]) -> list[str]:
    """The models of the catalogue whose key is set, and the one in use."""
    catalogue = project_catalogue(coding)
    known = models_with_address(catalogue.models, catalogue, env)
    return sorted({one.name for one in known if not one.missing(env)} | {coding.agent.model.name})


def offered_commands(coding: CodingSession) -> AvailableCommandsUpdate:
    commands = [
        AvailableCommand(name=name, description=about, input=_input(usage))
        for usage, about in listed_commands(coding)
        if (name := usage.partition(" ")[0].removeprefix("/")) not in ELSEWHERE
    ]
    return AvailableCommandsUpdate(session_update="available_commands_update", available_commands=commands)


def command_line(given: EditorPrompt, own: OwnCommands) -> str:
    """The command that a prompt is; empty if it is none. A path that begins with `/` is no command, and only own
    commands are sent with attachments."""
    text = given.text.strip()
    if not text.startswith("/"):
        return ""
    name = command_name(text)
    is_built_in = (name in COMMANDS or name in ELSEWHERE) and not (given.attached or given.images)
    return text if is_built_in or own.parse(text) else ""


def command_name(line: str) -> str:
    return line.partition(" ")[0].removeprefix("/").lower()


def _input(usage: str) -> AvailableCommandInput | None:
    hint = usage.partition(" ")[2]
    return AvailableCommandInput(root=UnstructuredCommandInput(hint=hint)) if hint else None


def _select(
    id_: str,
    category: OptionCategory,
    name: str,
    about: str,
    current: str,
    options: list[SessionConfigSelectOption],
) -> SessionConfigOptionSelect:
    return SessionConfigOptionSelect(
        type="select",
        id=id_,
        name=name,
        description=about,
        category=category,
        current_value=current,
        options=options,
    )


def _choice(value: str, name: str, about: str = "") -> SessionConfigSelectOption:
    return SessionConfigSelectOption(value=value, name=name, description=about or None)
