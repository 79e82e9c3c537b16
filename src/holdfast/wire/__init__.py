"""The providers' message shapes, in and out, for live requests and recordings alike.

Rule: pure and one to one. In come events that say what happened; out go messages as a provider takes them. Nothing
is repaired here, and what has no place in a shape is counted and said.
"""
