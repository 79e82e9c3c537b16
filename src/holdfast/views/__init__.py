"""Folds of the log: what can be known from it, and nothing else is remembered."""

from holdfast.views.path import path
from holdfast.views.todos import Todo, Todos
from holdfast.views.transcript import FrozenTranscript, Repair, Step, Transcript, User

__all__ = ["FrozenTranscript", "Repair", "Step", "Todo", "Todos", "Transcript", "User", "path"]
