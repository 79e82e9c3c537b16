"""What tools may do: rules as data, a pure decision, and a gate that asks for approval.

Rule: the decision is pure; only the gate asks, and only through an approver that it was given.
"""

from holdfast.tools.permissions.decision import CallContext, PermissionDecision, decide
from holdfast.tools.permissions.gate import (
    ApprovalAnswer,
    ApprovalQuestion,
    Approver,
    GateResult,
    PermissionGate,
    UnattendedApprover,
    call_context,
)
from holdfast.tools.permissions.tool_rules import (
    PermissionMode,
    Permissions,
    default_permissions,
    parse_permissions,
)

__all__ = [
    "ApprovalAnswer",
    "ApprovalQuestion",
    "Approver",
    "CallContext",
    "GateResult",
    "PermissionDecision",
    "PermissionGate",
    "PermissionMode",
    "Permissions",
    "UnattendedApprover",
    "call_context",
    "decide",
    "default_permissions",
    "parse_permissions",
]
