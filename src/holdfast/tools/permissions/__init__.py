"""What tools may do: rules as data, a pure decision, and a gate that asks.

Rule: the decision is pure; only the gate asks, and only through an approver that it was given.
"""

from holdfast.tools.permissions.deciding import Decision, Scene, decide
from holdfast.tools.permissions.gate import Answer, Approver, Gate, Passage, Question, Unattended, scene_of
from holdfast.tools.permissions.rules import Mode, Permissions, no_rules, parse_permissions

__all__ = [
    "Answer",
    "Approver",
    "Decision",
    "Gate",
    "Mode",
    "Passage",
    "Permissions",
    "Question",
    "Scene",
    "Unattended",
    "decide",
    "no_rules",
    "parse_permissions",
    "scene_of",
]
