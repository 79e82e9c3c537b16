"""What tools may do: rules as data, a pure decision, and a gate that asks for approval.

Rule: the decision is pure; only the gate asks, and only through an approver that it was given.
"""
