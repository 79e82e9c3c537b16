"""When to fold, what to fold, and how deep.

Rule: pure. A plan reads a view and returns an event, or nothing.
"""
