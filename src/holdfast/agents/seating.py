"""Putting an agent together: a session on a log, a toolbox, a model, limits.

Rule: this is the one place where it is done, for the coding agent, its sub-agents, the reviewer and whoever comes.
"""

from holdfast.agents.agent import Agent
from holdfast.agents.notices import Watch
from holdfast.agents.opening import Opening
from holdfast.agents.results import USUAL, Remembered
from holdfast.recall import RECALL_TOOL
from holdfast.session import Session
from holdfast.tools.toolbox import Toolbox


def seated(
    opening: Opening, toolbox: Toolbox, system: str, watch: Watch, remembered: Remembered = USUAL
) -> Agent:
    """An agent at these tools, in the log that the opening names. The store is the opener's and stays open."""
    others = [tool for tool in toolbox.definitions if tool.name != RECALL_TOOL.name]
    own = [tool for tool in toolbox.definitions if tool.name == RECALL_TOOL.name]
    session = Session(
        profile=opening.profile,
        store=opening.store,
        log=opening.log,
        system=system,
        tools=others,
        recall=own[0] if own else RECALL_TOOL,
        model=opening.model.name,
    )
    return Agent(
        session,
        opening.model,
        toolbox,
        asking=opening.asking,
        summarizer=opening.summarizer,
        is_beside=opening.is_beside,
        limits=opening.limits,
        remembered=remembered,
        watch=watch,
    )
