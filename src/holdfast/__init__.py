"""Holdfast keeps a long-running LLM agent inside its context window.

Rule: importing this package loads no tokenizer, no secret scanner and no provider; names are fetched when used.
"""

from importlib import import_module
from typing import Any

from holdfast.version import __version__

_HOMES = {
    "ContextOverflow": "holdfast.errors",
    "HoldfastError": "holdfast.errors",
    "Packed": "holdfast.sender",
    "Profile": "holdfast.packing.profile",
    "ScriptedModel": "holdfast.models.scripted",
    "Session": "holdfast.session",
    "pack": "holdfast.list_packing",
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module `holdfast` has no attribute `{name}`")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
