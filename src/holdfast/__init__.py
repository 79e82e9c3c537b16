"""Holdfast keeps a long-running LLM agent inside its context window.

Rule: importing this package loads no tokenizer, no secret scanner and no provider; names are fetched when used.
"""

from importlib import import_module
from typing import Any

from holdfast.version import __version__

_HOMES = {
    "Agent": "holdfast.agents.agent",
    "Ask": "holdfast.agents.outcomes",
    "CallFinished": "holdfast.tools.call",
    "CallStarted": "holdfast.tools.call",
    "ContextOverflow": "holdfast.errors",
    "Done": "holdfast.agents.outcomes",
    "FoldMade": "holdfast.agents.notices",
    "HoldfastError": "holdfast.errors",
    "Image": "holdfast.messages",
    "Notice": "holdfast.agents.notices",
    "Packed": "holdfast.sender",
    "Profile": "holdfast.packing.profile",
    "Replied": "holdfast.agents.notices",
    "RunLimits": "holdfast.agents.limits",
    "ScriptedModel": "holdfast.models.scripted",
    "Session": "holdfast.session",
    "Stop": "holdfast.agents.outcomes",
    "TextDelta": "holdfast.models.model",
    "ToolCall": "holdfast.messages",
    "pack": "holdfast.list_packing",
    "run": "holdfast.agents.loop",
    "run_sync": "holdfast.agents.loop",
    "tool": "holdfast.tools.function_tool",
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module `holdfast` has no attribute `{name}`")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
